-- Where the script is, and how it is stopped: by an instruction hook in each of its coroutines, which nothing that it
-- catches can outlive.
--
--     watch(co)                  from now on the hook looks after this coroutine
--     raise(message, hint)       an error at the script's own line, which it may catch
--     stop(code, message)        the end of the script, whatever it catches

local louver = ...
local error, setmetatable = error, setmetatable
local getinfo, sethook, clock = debug.getinfo, debug.sethook, os.clock

local CHUNK = "=line" -- so that Lua's own messages begin with "line:3:"
local TICK = 1000 -- instructions between two looks at the clock

louver.chunk = CHUNK
louver.deadline = math.huge

local STOP = setmetatable({}, { __metatable = false, __tostring = function() return "the script is stopped" end })

local function halt()
  error(STOP, 0)
end

--- The line of the script that runs, or that ran last in a coroutine which has failed.
local function line_of(co)
  for level = 0, 250 do
    local info
    if co then info = getinfo(co, level, "Sl") else info = getinfo(level + 1, "Sl") end
    if not info then return nil end
    if info.source == CHUNK then return info.currentline end
  end
end

--- End the script whatever it catches: from now on each of its instructions raises.
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

--- Raise an error about what the script does, at its own line.
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
