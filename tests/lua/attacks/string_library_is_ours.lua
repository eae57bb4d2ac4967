-- result
-- What the script does to its globals changes nothing of how it is read.
string.find, string.format, string.gsub, table.concat, table.sort, utf8.len = nil
tostring, next, type, error, setmetatable = nil
local own = string
for name in pairs(own) do own[name] = function() return "ESCAPED" end end
result({ a = { 1.5, "x\n" }, b = json.array({}) })
