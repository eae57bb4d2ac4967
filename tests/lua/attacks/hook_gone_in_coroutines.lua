-- SANDBOX_TIMEOUT
-- Each of these has to be watched, however deep, and after each error.
local function spin(n)
  local co = coroutine.wrap(function() if n > 0 then spin(n - 1) end while true do pcall(error) end end)
  while true do pcall(co) end
end
spin(50)
