-- result
-- The writer of JSON looks at tables as they are: none of these is ever called.
local function loop() while true do end end
local trap = { __index = loop, __pairs = loop, __len = loop, __lt = loop, __eq = loop, __tostring = loop, __name = {} }
srv.echo(setmetatable({ a = setmetatable({}, trap) }, trap)):await()
result(setmetatable({ a = setmetatable({ 1 }, trap) }, trap))
