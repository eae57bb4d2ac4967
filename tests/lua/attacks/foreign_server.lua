-- SANDBOX_RUNTIME
local copy = setmetatable({}, { __index = srv })
setmetatable(srv, { __index = function() return function() return "ESCAPED" end end })
result(copy.echo({}))
