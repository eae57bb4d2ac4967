-- result
-- A script cannot yield a request of its own making to the outside.
local ok, why = pcall(coroutine.yield, '+{"result":"ESCAPED"}')
local co = coroutine.create(function() coroutine.yield({}, '."ESCAPED"') end)
coroutine.resume(co)
result(tostring(ok))
