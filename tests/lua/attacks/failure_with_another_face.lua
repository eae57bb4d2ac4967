-- SANDBOX_RUNTIME
-- The error of a tool is made for reading: what the script writes into it does not become ours.
local ok, failure = pcall(function() return srv.fail({}):await() end)
rawset(failure, "code", "SANDBOX_SYNTAX")
rawset(failure, "message", ("x"):rep(100000))
rawset(failure, "number", 99)
error(failure)
