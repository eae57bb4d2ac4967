-- result
local deep = ("["):rep(100000)
local ok, why = pcall(json.decode, deep)
local ok2 = pcall(json.decode, ('{"a":'):rep(100000))
result({ ok, ok2 })
