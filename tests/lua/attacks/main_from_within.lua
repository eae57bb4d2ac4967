-- result
-- The script's own coroutine can be seen, and neither resumed nor closed.
local main = coroutine.running()
local said = {}
said[1] = pcall(coroutine.close, main)
said[2] = coroutine.resume(main)
coroutine.wrap(function() said[3] = pcall(coroutine.close, main); said[4] = coroutine.resume(main) end)()
result(said)
