-- SANDBOX_RUNTIME
-- Of an error nobody caught, nothing is called to tell what it says.
error(setmetatable({}, { __tostring = function() error("ESCAPED") end, __name = "ESCAPED" }))
