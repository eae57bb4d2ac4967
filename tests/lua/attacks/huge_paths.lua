-- SANDBOX_CALL_LIMIT
local fields = {}
for i = 1, 5000 do fields[i] = ("a."):rep(200) .. i end
result(project({ a = 1 }, fields))
