-- SANDBOX_RUNTIME
-- `await` takes no promise that no call has given.
local await = srv.echo({}).await
await({ number = 1 })
