-- SANDBOX_TIMEOUT
-- A call that never ends does not end the script's own time, and the script that has no call has none to wait for.
local promise = srv.never({})
while true do end
