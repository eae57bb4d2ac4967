-- SANDBOX_CALL_LIMIT
-- Calls that nobody waits for count too.
for i = 1, 1000 do pcall(srv.echo, { i = i }) end
while true do end
