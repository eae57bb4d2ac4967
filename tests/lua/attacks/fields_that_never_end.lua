-- result
-- A list whose `__index` has no end must not be walked to its end.
local list = setmetatable({ "a" }, { __index = function() return "a" end })
result(project({ a = 1, b = 2 }, list))
