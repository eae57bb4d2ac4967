-- result
-- What is yielded is compared with the sandbox's own mark: a metamethod must not say that it is the same.
local same = setmetatable({}, { __eq = function() return true end })
local co = coroutine.wrap(function() while true do coroutine.yield(same) end end)
for i = 1, 100 do co() end
result(co() == same)
