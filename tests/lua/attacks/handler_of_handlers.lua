-- result
local function handler(e) return xpcall(error, handler, e) end
local ok, why = xpcall(error, handler, "x")
result(tostring(ok))
