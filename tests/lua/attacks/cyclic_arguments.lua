-- SANDBOX_RUNTIME
local a, b = {}, {}
a.b, b.a = b, { a }
srv.echo(a)
