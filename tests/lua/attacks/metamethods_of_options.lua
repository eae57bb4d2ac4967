-- result
local function loop() while true do end end
local trap = { __index = loop, __pairs = loop, __len = loop, __ipairs = loop }
local ok = pcall(srv.echo, {}, setmetatable({ fields = setmetatable({}, trap) }, trap))
result(ok)
