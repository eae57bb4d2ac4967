-- SANDBOX_CALL_LIMIT
-- Where the script cannot be left, calls are kept for later, and counted.
string.gsub(("x"):rep(1000), "x", function() pcall(srv.echo, {}) end)
