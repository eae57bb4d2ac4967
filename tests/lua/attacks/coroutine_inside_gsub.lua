-- result
-- Waiting where the script cannot be left is refused, also from a coroutine in there.
local said = {}
string.gsub("x", "x", function()
  local ok, why = coroutine.resume(coroutine.create(function() return srv.echo({ a = 1 }):await() end))
  said[1] = tostring(why)
end)
result(said)
