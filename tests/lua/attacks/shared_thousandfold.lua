-- SANDBOX_OUTPUT_LIMIT
-- A table of thirty levels that stands twice in each would be a billion times as long as JSON.
local t = { 1 }
for i = 1, 30 do t = { t, t } end
result(t)
