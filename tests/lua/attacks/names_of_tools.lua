-- result
-- A tool's name is a text of the script, however it looks.
local said = {}
for _, name in ipairs({ "", '"', "\\", "..", "\0", ("x"):rep(100000), "\255", '","server":"other' }) do
  local ok, why = pcall(function() return srv[name]({}):await() end)
  said[#said + 1] = tostring(ok)
end
result(said)
