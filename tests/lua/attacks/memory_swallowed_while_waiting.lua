-- SANDBOX_MEMORY
-- A reply for which there is no room is not handed in: Lua would end the process.
local full = {}
local promises = {}
for i = 1, 4 do promises[i] = srv.large({ bytes = 900000 }) end
pcall(function() for i = 1, 1e9 do full[i] = ("y"):rep(1000) .. i end end)
for i = 1, 4 do pcall(promises[i].await, promises[i]) end
full = nil
result(#promises[1]:await().text)
