-- SANDBOX_RUNTIME
table.sort({ 3, 2, 1 }, function(a, b) return srv.echo({ a = a }):await().a < b end)
