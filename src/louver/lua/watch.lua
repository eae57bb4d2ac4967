-- Watches a script and stops it: an instruction hook in each of its coroutines, which pcall cannot disable.
--
--     watch(co)                  install the hook in a coroutine
--     raise(message, hint)       raise an error at the script's current line; the script may catch it
--     stop(code, message)        end the script, even if it catches errors

local louver = ...
local error, setmetatable = error, setmetatable
local getinfo, sethook, clock = debug.getinfo, debug.sethook, os.clock

local CHUNK = "=line" -- so that Lua's own messages begin with "line:3:"
local TICK = 1000 -- instructions between two checks of the clock

louver.chunk = CHUNK
louver.deadline = math.huge

local STOP = setmetatable({}, { __metatable = false, __tostring = function() return "the script is stopped" end })

local function halt()
  error(STOP, 0)
end

--- Return the script's current line, or the last line of a coroutine that has failed.
local function line_of(co)
  for level = 0, 250 do
    local info
    if co then info = getinfo(co, level, "Sl") else info = getinfo(level + 1, "Sl") end
    if not info then return nil end
    if info.source == CHUNK then return info.currentline end
  end
end

--- End the script, even if it catches errors: from now on, each of its instructions raises.
local function stop(code, message, limit)
  if not louver.stopped then
    louver.stopped = { code = code, message = message, limit = limit }
    louver.stopped.line = line_of()
  end
  sethook(halt, "", 1)
  error(STOP, 0)
end

local function tick()
  if louver.stopped or clock() > louver.deadline then
    stop("SANDBOX_TIMEOUT", "the script has used up its CPU time", louver.limits.cpu)
  end
end

--- Raise an error at the script's current line.
local function raise(message, hint)
  local line = line_of()
  if line then message = "line:" .. line .. ": " .. message end
  louver.warned, louver.hint = message, hint
  error(message, 0)
end

louver.line_of, louver.stop, louver.raise = line_of, stop, raise

function louver.watch(co)
  sethook(co, tick, "", TICK)
  return co
end
