-- SANDBOX_RUNTIME
local promise = srv.echo({})
rawset(promise, "value", "ESCAPED")
rawset(promise, "done", true)
if promise:await() == "ESCAPED" then result("ESCAPED") end
setmetatable(promise, { __index = function() return "ESCAPED" end })
result(promise.x)
