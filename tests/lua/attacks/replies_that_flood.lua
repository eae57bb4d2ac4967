-- SANDBOX_CALL_LIMIT
local n = 0
for i = 1, 20 do n = n + #srv.large({ bytes = 1000000 }):await().text end
result(n)
