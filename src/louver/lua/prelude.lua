-- The script's environment, and its exchange of frames with the gateway.
--
--     step(text) -> "+" .. json    send this frame, then call step("") again
--                   "?" .. json    send this frame, wait for a reply, then call step(reply)
--                   "." .. json    send this frame; it is the last
--
-- The first text is {"script": ..., "servers": [...], "limits": {...}}. The script runs in a coroutine, which yields
-- when the script calls a tool or waits. A yield from within the script's own coroutines is relayed outwards. Only
-- strings are exchanged with Python. All functions used here are locals, so that a script cannot replace them through
-- its globals. Limits are in `watch.lua`, JSON in `json.lua`, `project` in `project.lua`.

local louver = ...
local assert, error, ipairs, next, pairs, pcall, xpcall = assert, error, ipairs, next, pairs, pcall, xpcall
local rawequal, rawget, rawlen, rawset, select = rawequal, rawget, rawlen, rawset, select
local setmetatable, tonumber, tostring, type, load = setmetatable, tonumber, tostring, type, load
local getmetatable, collectgarbage, clock = debug.getmetatable, collectgarbage, os.clock
local byte, find, format, gsub = string.byte, string.find, string.format, string.gsub
local match, repeated, sub = string.match, string.rep, string.sub
local concat, insert, remove, length = table.concat, table.insert, table.remove, utf8.len
local pack, unpack, seed, random = table.pack, table.unpack, math.randomseed, math.random
local create, resume, yield, status = coroutine.create, coroutine.resume, coroutine.yield, coroutine.status
local running, isyieldable, close = coroutine.running, coroutine.isyieldable, coroutine.close
local raise, stop, watch, line_of = louver.raise, louver.stop, louver.watch, louver.line_of
local null, array, quoted, encode, decode = louver.null, louver.array, louver.quoted, louver.encode, louver.decode

local NO_MEMORY = "not enough memory" -- Lua's own message

local limits, main
local outbox, inbox = {}, {}
local wanting = false -- whether the script waits for a reply
local resulted, result_line
local forgotten_line -- the line of a failed call that the script did not await

local PROMISE = { __metatable = false, __name = "promise" }
local FAILURE = { __metatable = false, __name = "error" }
louver.unwritable[PROMISE] = "a promise"

local function refused(what)
  return function() raise(what) end
end

-- Frames

local WAIT = {} -- yielded by a coroutine to reach the gateway; no script can get this table

--- Yield, so that the outbox is sent or a reply is received; return whether that was possible.
local function pause()
  return isyieldable() and yield(WAIT)
end

--- Return what a coroutine of the script has yielded or returned; relay its yields to the gateway.
local function relay(co, ok, mark, ...)
  if louver.stopped then stop() end
  if ok and rawequal(mark, WAIT) then
    return relay(co, resume(co, pause()))
  end
  return ok, mark, ...
end

local states = setmetatable({}, { __mode = "k" }) -- promise or error -> its state
local by_number = {} -- request number -> state, until the reply
local begun = {} -- the states of all calls, in order
local roots = {} -- the JSON of a list of field paths -> its projection state
local numbers, calls, lists = 0, 0, 0

local function send(text)
  insert(outbox, text)
  pause()
end

local function failed(number, said)
  local failure = setmetatable(said, FAILURE)
  states[failure] = { number = number, code = said.code, message = said.message }
  return failure
end

FAILURE.__tostring = function(failure)
  local state = states[failure]
  return state.code .. ": " .. state.message
end

--- Take one reply from the inbox; wait for it if necessary.
local function receive()
  if not inbox[1] then
    wanting = true
    if not pause() then
      wanting = false
      raise("waiting is not possible inside a function that table.sort, string.gsub or a metamethod of theirs calls")
    end
  end
  -- Removed only after decoding: a script can catch the error if memory runs out here.
  local reply = decode(inbox[1])
  remove(inbox, 1)
  local state = by_number[reply.reply]
  by_number[reply.reply] = nil
  if reply.error then state.failure = failed(reply.reply, reply.error) else state.value = reply.value end
  state.done = true
end

local function settled(state)
  state.taken = true
  while not state.done do receive() end
  return state
end

local function await(promise)
  local state = states[promise]
  if not state or getmetatable(promise) ~= PROMISE then raise("expected a promise, as a call of a tool gives it") end
  if settled(state).failure then error(state.failure, 0) end
  return state.value
end

PROMISE.__tostring = function() return "promise" end
PROMISE.__index = function(_, key)
  if key == "await" then return await end
  raise("a promise has no field " .. (type(key) == "string" and "'" .. key .. "'" or "of type " .. type(key)), "await")
end
for _, event in ipairs({ "__newindex", "__len", "__pairs", "__call", "__concat" }) do
  PROMISE[event] = function() raise("a promise is no value yet", "await") end
end

local function asked(state)
  numbers = numbers + 1
  state.line = line_of()
  by_number[numbers] = state
  return numbers
end

-- Functions for scripts

local function fields_of(fields, name)
  if type(fields) ~= "table" or rawlen(fields) == 0 then
    raise("the fields of " .. name .. ' are a list of field paths, for example {"items.id"}')
  end
  for index = 1, rawlen(fields) do
    if type(rawget(fields, index)) ~= "string" then
      raise("the fields of " .. name .. " are a list of field paths, each of them a text")
    end
  end
  return encode(fields, name .. ": fields", limits.arguments, "SANDBOX_CALL_LIMIT")
end

local function options_of(options, name)
  if options == nil then return "" end
  if type(options) ~= "table" then raise("the options of " .. name .. ' are a table, for example {fields = {"id"}}') end
  if rawget(options, "fields") ~= nil and rawget(options, "view") ~= nil then
    raise("the options of " .. name .. " have 'fields' or 'view', not both")
  end
  local out = ""
  for key, value in next, options do
    if key == "fields" then
      out = out .. ',"fields":' .. fields_of(value, name)
    elseif key == "view" and type(value) == "string" then
      out = out .. ',"view":' .. encode(value, name .. ": view", limits.arguments, "SANDBOX_CALL_LIMIT")
    elseif key == "view" then
      raise("the view of " .. name .. " is the name of a view")
    else
      raise("unknown option of " .. name .. ": expected 'fields' or 'view'")
    end
  end
  return out
end

local function call(server, tool, arguments, options)
  local name = server .. "." .. tool
  if arguments == nil then arguments = {} end
  if type(arguments) ~= "table" or rawequal(arguments, null) then
    raise("the arguments of " .. name .. " are one table of names, for example {id = 7}")
  end
  local given = encode(arguments, name .. ": arguments", limits.arguments, "SANDBOX_CALL_LIMIT")
  if given == "[]" then given = "{}" end
  if byte(given) ~= 123 then raise("the arguments of " .. name .. " are a table of names, not a list") end
  local chosen = options_of(options, name)
  if calls >= limits.calls then
    stop("SANDBOX_CALL_LIMIT", "a script calls at most " .. limits.calls .. " tools", limits.calls)
  end
  calls = calls + 1
  local state = { taken = false, done = false }
  local promise = setmetatable({}, PROMISE)
  states[promise] = state
  local number = asked(state)
  insert(begun, state)
  send('{"call":' .. number .. ',"server":' .. quoted(server) .. ',"tool":' .. quoted(tool) ..
    ',"arguments":' .. given .. chosen .. "}")
  return promise
end

local function server_of(name)
  local meta = { __metatable = false, __name = "server" }
  local server = setmetatable({}, meta)
  louver.unwritable[meta] = "a server"
  meta.__tostring = function() return "server " .. name end
  meta.__newindex = refused("the tools of " .. name .. " cannot be changed")
  meta.__index = function(_, tool)
    if type(tool) ~= "string" or not length(tool) then raise("a tool of " .. name .. " has a name") end
    return function(arguments, options)
      if rawequal(arguments, server) then
        raise("write " .. name .. "." .. tool .. "{...}, with a dot and not a colon")
      end
      return call(name, tool, arguments, options)
    end
  end
  return server
end

local function await_all(promises)
  if type(promises) ~= "table" or louver.unwritable[getmetatable(promises)] then
    raise("await_all takes a list of promises: await_all{one, other}")
  end
  for index = 1, rawlen(promises) do
    local promise = rawget(promises, index)
    if getmetatable(promise) ~= PROMISE then raise("await_all: element " .. index .. " is no promise") end
  end
  local values, failure = array({}), nil
  for index = 1, rawlen(promises) do
    local state = settled(states[rawget(promises, index)])
    failure = failure or state.failure
    values[index] = state.value
  end
  if failure then error(failure, 0) end
  return values
end

--- Return the projection state of a list of field paths; the gateway parses each list once.
local function root_of(chosen)
  if roots[chosen] == nil then
    if lists >= limits.lists then
      stop("SANDBOX_CALL_LIMIT", "a script projects by at most " .. limits.lists .. " lists of field paths", limits.lists)
    end
    lists = lists + 1
    local state = { taken = true, done = false }
    send('{"paths":' .. asked(state) .. ',"fields":' .. chosen .. "}")
    if settled(state).failure then error(state.failure, 0) end
    roots[chosen] = louver.root_of(state.value)
  end
  return roots[chosen]
end

local function project(value, fields)
  local root = root_of(fields_of(fields, "project"))
  -- Encoding and decoding makes a copy that contains nothing but JSON values.
  return louver.kept(decode(encode(value, "project: value", limits.reply, "SANDBOX_CALL_LIMIT")), root)
end

local function result(value)
  if resulted then raise("result(...) was called already" .. (result_line and ", on line " .. result_line or "")) end
  resulted = encode(value, "result", limits.result, "SANDBOX_OUTPUT_LIMIT")
  result_line = line_of()
end

local function json_array(list)
  if list == nil then list = {} end
  local is_ours = rawequal(list, null) or louver.is_large(list) or louver.unwritable[getmetatable(list)]
  if type(list) ~= "table" or is_ours then
    raise("json.array takes a list: json.array{1, 2}")
  end
  return array(list)
end

local function json_encode(value)
  return encode(value, "json.encode: value")
end

local function json_decode(text)
  if type(text) ~= "string" then raise("json.decode takes a text") end
  return decode(text)
end

-- Safe versions of Lua's own functions

local function safe_setmetatable(object, meta)
  if type(meta) == "table" then
    for _, event in ipairs({ "__gc", "__close", "__metatable" }) do
      if rawget(meta, event) ~= nil then raise("a metatable here has no " .. event) end
    end
  end
  return setmetatable(object, meta)
end

--- string.rep would otherwise try to allocate gigabytes before it fails.
local function safe_rep(text, times, between)
  local each = #tostring(text) + #tostring(between or "")
  if (tonumber(times) or 0.0) * each > limits.heap then error(NO_MEMORY, 0) end
  return repeated(text, times, between)
end

--- Whether tostring would reveal the memory address of a value.
local function has_address(value)
  local kind, meta = type(value), getmetatable(value)
  return (kind == "table" or kind == "function" or kind == "thread") and not (meta and rawget(meta, "__tostring"))
end

--- tostring without memory addresses, which would help an attacker of the Lua interpreter.
local function safe_tostring(...)
  local text = tostring(...)
  return has_address((...)) and match(text, "^(.*): [^:]*$") or text
end

local function safe_format(pattern, ...)
  if type(pattern) == "string" and find(gsub(pattern, "%%%%", ""), "%%[-+ #0%d.]*p") then
    raise("string.format has no %p here")
  end
  local given = pack(...)
  for index = 1, given.n do
    if has_address(given[index]) then given[index] = safe_tostring(given[index]) end
  end
  return format(pattern, unpack(given, 1, given.n))
end

--- math.randomseed would otherwise return its seeds, and without arguments make them from an address and the time.
local function safe_randomseed(...)
  if select("#", ...) == 0 then return safe_randomseed(random(0), random(0)) end
  seed(...)
end

local function safe_create(body)
  if type(body) ~= "function" then raise("coroutine.create takes a function") end
  return watch(create(body))
end

local function safe_resume(co, ...)
  if type(co) ~= "thread" then raise("coroutine.resume takes a coroutine") end
  return relay(co, resume(co, ...))
end

local function unwrapped(ok, ...)
  if not ok then error((...), 0) end
  return ...
end

local function safe_wrap(body)
  local co = safe_create(body)
  return function(...) return unwrapped(relay(co, resume(co, ...))) end
end

local function in_coroutine()
  return running() ~= main and isyieldable()
end

local function safe_yield(...)
  if running() == main then raise("coroutine.yield is called outside a coroutine") end
  return yield(...)
end

local function copied(library, without)
  local copy = {}
  for name, value in next, library do
    if name ~= without then copy[name] = value end
  end
  return copy
end

local function environment(servers)
  local env = {
    _VERSION = _VERSION,
    assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, pcall = pcall, xpcall = xpcall,
    rawequal = rawequal, rawget = rawget, rawlen = rawlen, rawset = rawset, select = select,
    setmetatable = safe_setmetatable, tonumber = tonumber, tostring = safe_tostring, type = type,
    math = copied(math), string = copied(string, "dump"), table = copied(table), utf8 = copied(utf8),
    coroutine = {
      create = safe_create, resume = safe_resume, wrap = safe_wrap, yield = safe_yield, status = status,
      running = running, isyieldable = in_coroutine, close = close,
    },
    null = null, result = result, project = project, await_all = await_all,
    json = { array = json_array, encode = json_encode, decode = json_decode },
  }
  env.string.rep, env.string.format, env.math.randomseed = safe_rep, safe_format, safe_randomseed
  env._G = env
  for _, name in ipairs(servers) do
    if env[name] == nil then env[name] = server_of(name) end
  end
  local of_texts = getmetatable("")
  of_texts.__index, of_texts.__metatable = env.string, false
  return env
end

-- The end of a script

--- Make a message fit to send: bounded, in UTF-8, with lines as "line 3".
local function clean(message)
  message = gsub(sub(message, 1, 2000), "line:(%d+):", "line %1:")
  return length(message) and message or (gsub(message, "[\128-\255]+", "?"))
end

local function ending(said)
  local parts = { '"code":' .. quoted(said.code), '"message":' .. quoted(clean(said.message)) }
  for _, key in ipairs({ "line", "number", "limit" }) do
    if said[key] then insert(parts, '"' .. key .. '":' .. format("%d", said[key])) end
  end
  if said.hint then insert(parts, '"hint":' .. quoted(said.hint)) end
  return '.{"error":{' .. concat(parts, ",") .. "}}"
end

--- Describe an uncaught error, without calling any function of the script.
local function uncaught(value, line)
  if getmetatable(value) == FAILURE then
    local state = states[value]
    return { code = state.code, message = state.message, number = state.number, line = line }
  end
  if value == nil then
    return { code = "SANDBOX_RUNTIME", message = "an error was raised without a message", line = line }
  end
  if type(value) ~= "string" and type(value) ~= "number" then
    return { code = "SANDBOX_RUNTIME", message = "an error was raised that is a " .. type(value), line = line }
  end
  if value == NO_MEMORY then
    return { code = "SANDBOX_MEMORY", message = "the script has used up its memory", line = line, limit = limits.heap }
  end
  local hint = value == louver.warned and louver.hint or nil
  local message = gsub(tostring(value), "^prelude:%d+: ", "")
  local at, rest = match(message, "^line:(%d+): (.*)$")
  return { code = "SANDBOX_RUNTIME", message = rest or message, line = tonumber(at) or line, hint = hint }
end

local function finished()
  if resulted then return '.{"result":' .. resulted .. "}" end
  return ending({ code = "SANDBOX_RUNTIME", message = "the script ended without a result", hint = "result" })
end

--- Run the script, then wait for the calls that it did not await: a failure of one of them also fails the script.
local function body(script)
  script()
  for _, state in ipairs(begun) do
    if not state.taken and settled(state).failure then
      forgotten_line = state.line
      error(state.failure, 0)
    end
  end
end

local function start(text)
  local given = decode(text)
  limits, louver.limits = given.limits, given.limits
  local script, problem = load(given.script, louver.chunk, "t", environment(given.servers))
  if not script then
    local at, message = match(problem, "^line:(%d+): (.*)$")
    return ending({ code = "SANDBOX_SYNTAX", message = message or problem, line = tonumber(at) })
  end
  louver.deadline = clock() + limits.cpu
  main = watch(create(function() body(script) end))
end

local function go_on()
  local ok, problem = resume(main, true)
  if ok and not louver.stopped then
    if status(main) == "dead" then return finished() end
    return nil
  end
  local line = line_of(main) or forgotten_line
  -- Release the script's objects, so that there is memory for the error message.
  main, outbox, inbox = nil, {}, {}
  collectgarbage()
  return ending(louver.stopped or uncaught(problem, line))
end

return function(text)
  if not limits then
    local ended = start(text)
    if ended then return ended end
  elseif text ~= "" then
    insert(inbox, text)
  end
  while true do
    if outbox[1] then return "+" .. remove(outbox, 1) end
    if wanting then
      wanting = false
      return '?{"wait":true}'
    end
    local ended = go_on()
    if ended then return ended end
  end
end
