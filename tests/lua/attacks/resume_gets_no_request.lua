-- result
-- The yields with which the sandbox asks for something never reach the script's own resume.
local seen = 0
local co = coroutine.create(function()
  local value = srv.echo({ a = 1 }):await()
  coroutine.yield(value.a)
end)
local ok, first = coroutine.resume(co)
if type(first) == "table" then seen = "ESCAPED" end
result(tostring(seen) .. tostring(first))
