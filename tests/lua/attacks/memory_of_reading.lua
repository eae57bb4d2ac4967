-- SANDBOX_MEMORY
-- A text of a megabyte of brackets is tens of megabytes of tables.
local text = "[" .. ("[],"):rep(2000000) .. "1]"
json.decode(text)
