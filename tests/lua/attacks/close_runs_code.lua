-- SANDBOX_TIMEOUT
-- `__close` that is set later runs when the coroutine is closed, where no hook looks: the kernel's clock does.
local meta = {}
local co = coroutine.create(function()
  local held <close> = setmetatable({}, (function() return meta end)())
  coroutine.yield()
end)
meta.__close = nil
local ready = setmetatable({}, meta)
meta.__close = function() while true do pcall(function() end) end end
coroutine.resume(coroutine.create(function() local held <close> = ready; error("x") end))
while true do end
