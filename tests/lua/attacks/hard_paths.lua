-- SANDBOX_CALL_LIMIT or SANDBOX_TIMEOUT
-- Paths that are much work, again and again.
local fields = {}
for i = 1, 24 do fields[i] = "*." .. ("*."):rep(i % 12) .. ("abcdefgh"):sub(i % 8 + 1, i % 8 + 1) .. i .. ".*.x" end
for i = 1, 100000 do
  fields[1] = "a" .. i
  pcall(project, { a = i }, fields)
end
