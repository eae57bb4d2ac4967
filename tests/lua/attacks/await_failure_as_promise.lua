-- SANDBOX_RUNTIME
-- An error object is known to the sandbox too, and is no promise.
local promise = srv.fail({})
local ok, failure = pcall(promise.await, promise)
promise.await(failure)
