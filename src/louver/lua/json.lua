-- JSON encoder and decoder, with values for the JSON types that Lua lacks.
--
--     null                       a value of its own
--     {}  array {}               an object, an array; a decoded array stays marked as an array
--     9223372036854775808        an integer too large for Lua is stored by its digits
--
-- Tables are read with raw access: no metamethod of a script is ever called.

local louver = ...
local ipairs, next, rawequal, rawget, setmetatable = ipairs, next, rawequal, rawget, setmetatable
local tonumber, tostring, type = tonumber, tostring, type
local getmetatable, huge, kind_of_number = debug.getmetatable, math.huge, math.type
local byte, find, format = string.byte, string.find, string.format
local gsub, match, sub = string.gsub, string.match, string.sub
local concat, sort, codes, length = table.concat, table.sort, utf8.char, utf8.len
local raise, stop = louver.raise, louver.stop

local READ_DEPTH = 200

louver.unwritable = setmetatable({}, { __mode = "k" }) -- a metatable -> the name of its values in error messages

-- JSON values that Lua lacks

local function refused(what)
  return function() raise(what) end
end

local null = setmetatable({}, {
  __metatable = false,
  __name = "null",
  __tostring = function() return "null" end,
  __len = refused("null has no length"),
  __pairs = refused("null has no fields"),
  __newindex = refused("null has no fields"),
  __index = function(_, key)
    raise("null has no fields" .. (type(key) == "string" and ", and so no '" .. key .. "'" or ""))
  end,
})

local ARRAY = { __name = "array" }

local digits_of = setmetatable({}, { __mode = "k" })
local BIG = { __metatable = false, __name = "large integer" }
BIG.__tostring = function(big) return digits_of[big] end
BIG.__eq = function(one, other) return digits_of[one] ~= nil and digits_of[one] == digits_of[other] end

local function large_integer(digits)
  local big = setmetatable({}, BIG)
  digits_of[big] = digits
  return big
end

-- Encoder

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escaped(sign)
  return ESCAPES[sign] or format("\\u%04x", byte(sign))
end

--- Quote a string as JSON; nil if it is not UTF-8.
local function quoted(text)
  if not length(text) then return nil end
  if find(text, '[%z\1-\31"\\]') then text = gsub(text, '[%z\1-\31"\\]', escaped) end
  return '"' .. text .. '"'
end

local function written_float(number)
  local text = format("%.15g", number)
  if tonumber(text) ~= number then text = format("%.16g", number) end
  if tonumber(text) ~= number then text = format("%.17g", number) end
  return find(text, "[.e]") and text or text .. ".0"
end

--- Encode a value as JSON.
-- what: the value's name in error messages.
-- most, code: the limit in bytes, and the error code that ends the script if the JSON is too long or too deep.
local function encode(value, what, most, code)
  local deepest = louver.limits.depth
  local out, n, size = {}, 0, 0
  local open, place = {}, {}

  local function here(depth)
    local named = { what }
    for level = 1, depth do
      local key = place[level]
      if type(key) ~= "string" then
        named[level + 1] = "[" .. tostring(key) .. "]"
      elseif find(key, "^[%a_][%w_]*$") and #key <= 60 then
        named[level + 1] = "." .. key
      else
        named[level + 1] = "[" .. (quoted(sub(key, 1, 60)) or '"?"') .. "]"
      end
    end
    return concat(named)
  end

  local function add(text)
    size = size + #text
    if most and size > most then
      stop(code, what .. " is over " .. most .. " bytes of JSON", most)
    end
    n = n + 1
    out[n] = text
  end

  local write

  local function write_array(array, count, depth)
    add("[")
    for index = 1, count do
      if index > 1 then add(",") end
      place[depth] = index
      write(rawget(array, index), depth)
    end
    add("]")
  end

  local function write_object(object, keys, depth)
    sort(keys)
    add("{")
    for index, key in ipairs(keys) do
      local name = quoted(key)
      if not name then raise(here(depth - 1) .. " has a name that is not UTF-8") end
      add((index > 1 and "," or "") .. name .. ":")
      place[depth] = key
      write(rawget(object, key), depth)
    end
    add("}")
  end

  local function write_table(value, depth)
    local named = louver.unwritable[getmetatable(value)]
    if named == "a promise" then raise(here(depth) .. " is a promise", "await") end
    if named then raise(here(depth) .. " is " .. named .. ", which JSON has not") end
    if open[value] then raise(here(depth) .. " is part of itself") end
    if depth >= deepest then
      local message = what .. " is nested deeper than " .. deepest .. " levels"
      if code then stop(code, message, deepest) end
      raise(message)
    end
    open[value] = true
    local keys, positions, highest = {}, 0, 0
    for key in next, value do
      if type(key) == "string" then
        keys[#keys + 1] = key
      elseif kind_of_number(key) == "integer" and key >= 1 then
        positions = positions + 1
        if key > highest then highest = key end
      else
        raise(here(depth) .. " has a key that is neither a name nor a position from 1, but " ..
          (type(key) == "number" and tostring(key) or "a " .. type(key)))
      end
    end
    local is_array = positions > 0 or getmetatable(value) == ARRAY
    if is_array and #keys > 0 then raise(here(depth) .. " is an array and has names; JSON has one or the other") end
    if highest > positions then
      raise(here(depth) .. " has gaps: position " .. highest .. " of " .. positions .. "; null can fill them")
    end
    if is_array then
      write_array(value, positions, depth + 1)
    else
      write_object(value, keys, depth + 1)
    end
    open[value] = nil
  end

  function write(value, depth)
    local kind = type(value)
    if kind == "string" then
      add(quoted(value) or raise(here(depth) .. " is a text that is not UTF-8"))
    elseif kind == "number" then
      if kind_of_number(value) == "integer" then
        add(format("%d", value))
      elseif value ~= value or value == huge or value == -huge then
        raise(here(depth) .. " is " .. (value ~= value and "not a number" or "infinite") .. ", which JSON has not")
      else
        add(written_float(value))
      end
    elseif kind == "boolean" then
      add(value and "true" or "false")
    elseif kind == "nil" or rawequal(value, null) then
      add("null")
    elseif kind ~= "table" then
      raise(here(depth) .. " is a " .. kind .. ", which JSON has not")
    elseif digits_of[value] then
      add(digits_of[value])
    else
      write_table(value, depth)
    end
  end

  write(value, 0)
  return concat(out)
end

-- Decoder

local UNESCAPED = {
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

local function bad(at, what)
  raise("not JSON at byte " .. at .. ": " .. what)
end

local function read_escaped(text, at)
  local sign = sub(text, at, at)
  if UNESCAPED[sign] then return UNESCAPED[sign], at + 1 end
  local code = match(text, "^u(%x%x%x%x)", at)
  if not code then bad(at - 1, "an escape that JSON has not") end
  code = tonumber(code, 16)
  if code < 0xD800 or code > 0xDFFF then return codes(code), at + 5 end
  local low = match(text, "^\\u([dD][c-fC-F]%x%x)", at + 5)
  if code > 0xDBFF or not low then bad(at - 1, "half a surrogate pair") end
  return codes(0x10000 + (code - 0xD800) * 0x400 + tonumber(low, 16) - 0xDC00), at + 11
end

--- Read a string whose first character is at `at`; return it and the position after the closing quote.
local function read_text(text, at)
  local stop_at = find(text, '[%z\1-\31"\\]', at)
  if stop_at and byte(text, stop_at) == 34 then return sub(text, at, stop_at - 1), stop_at + 1 end
  local parts, n = {}, 0
  while stop_at do
    n = n + 1
    parts[n] = sub(text, at, stop_at - 1)
    local sign = byte(text, stop_at)
    if sign == 34 then return concat(parts), stop_at + 1 end
    if sign ~= 92 then bad(stop_at, "a control character in a text") end
    n = n + 1
    parts[n], at = read_escaped(text, stop_at + 1)
    stop_at = find(text, '[%z\1-\31"\\]', at)
  end
  bad(#text + 1, "a text without its end")
end

local function read_number(text, at)
  local _, last = find(text, "^-?%d+", at)
  if not last or find(text, "^-?0%d", at) then bad(at, "no number of JSON") end
  local _, fraction = find(text, "^%.%d+", last + 1)
  local _, exponent = find(text, "^[eE][+-]?%d+", (fraction or last) + 1)
  local stop_at = exponent or fraction or last
  local digits = sub(text, at, stop_at)
  local number = tonumber(digits)
  if stop_at == last then
    if kind_of_number(number) == "float" then
      if #match(digits, "%d+") > louver.limits.digits then
        bad(at, "an integer of over " .. louver.limits.digits .. " digits")
      end
      number = large_integer(digits)
    end
  elseif number == huge or number == -huge then
    bad(at, "a number that is too large")
  end
  return number, stop_at + 1
end

local function past_space(text, at)
  return find(text, "[^ \t\r\n]", at) or #text + 1
end

local read_value

local function read_array(text, at, depth)
  local array = setmetatable({}, ARRAY)
  at = past_space(text, at)
  if byte(text, at) == 93 then return array, at + 1 end
  local n = 0
  while true do
    n = n + 1
    array[n], at = read_value(text, at, depth)
    at = past_space(text, at)
    local sign = byte(text, at)
    if sign == 93 then return array, at + 1 end
    if sign ~= 44 then bad(at, "expected ',' or ']'") end
    at = at + 1
  end
end

local function read_object(text, at, depth)
  local object = {}
  at = past_space(text, at)
  if byte(text, at) == 125 then return object, at + 1 end
  while true do
    at = past_space(text, at)
    if byte(text, at) ~= 34 then bad(at, "expected a name") end
    local name
    name, at = read_text(text, at + 1)
    at = past_space(text, at)
    if byte(text, at) ~= 58 then bad(at, "expected ':'") end
    if object[name] ~= nil then bad(at, "a name that stands twice") end
    object[name], at = read_value(text, at + 1, depth)
    at = past_space(text, at)
    local sign = byte(text, at)
    if sign == 125 then return object, at + 1 end
    if sign ~= 44 then bad(at, "expected ',' or '}'") end
    at = at + 1
  end
end

function read_value(text, at, depth)
  at = past_space(text, at)
  local sign = byte(text, at)
  if sign == 34 then return read_text(text, at + 1) end
  if sign == 123 or sign == 91 then
    if depth >= READ_DEPTH then bad(at, "it is nested deeper than " .. READ_DEPTH .. " levels") end
    if sign == 123 then return read_object(text, at + 1, depth + 1) end
    return read_array(text, at + 1, depth + 1)
  end
  if sign == 116 and sub(text, at, at + 3) == "true" then return true, at + 4 end
  if sign == 102 and sub(text, at, at + 4) == "false" then return false, at + 5 end
  if sign == 110 and sub(text, at, at + 3) == "null" then return null, at + 4 end
  return read_number(text, at)
end

local function decode(text)
  if not length(text) then raise("not JSON: it is not UTF-8") end
  local value, at = read_value(text, 1, 0)
  at = past_space(text, at)
  if at <= #text then bad(at, "expected the end") end
  return value
end

louver.null, louver.quoted, louver.encode, louver.decode = null, quoted, encode, decode

--- Mark a table as an array, even if it is empty.
function louver.array(list)
  return setmetatable(list, ARRAY)
end

function louver.is_large(value)
  return digits_of[value] ~= nil
end
