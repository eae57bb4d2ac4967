-- Implements `project(value, fields)`. The gateway parses the field paths; the script's own process applies them.
--
--     {"items.id", "*.name"}                as the script writes them
--     {{"items", "id"}, {null, "name"}}     as the gateway returns them: null is the wildcard
--
-- The rules are those of an include projection (`core/paths/mask.py`). The paths form a nondeterministic automaton. Its
-- states are created as the value is traversed, so that many wildcards cost only as much as the value has matches.

local louver = ...
local ipairs, next, rawequal, type = ipairs, next, rawequal, type
local getmetatable = debug.getmetatable
local null, array = louver.null, louver.array

local ARRAY = getmetatable(array({}))

-- A state is `true` (keep the whole value), `false` (keep nothing), or the sets of positions in the paths at which a
-- name or a wildcard comes next.

local function plant(root, path)
  local at = root
  for _, step in ipairs(path) do
    local below
    if rawequal(step, null) then
      at.wild = at.wild or { names = {} }
      below = at.wild
    else
      below = at.names[step] or { names = {} }
      at.names[step] = below
    end
    at = below
  end
  at.ends = true
end

--- Return the state for these positions; `named` holds further positions at which a name comes next.
local function entered(positions, named)
  local state = { named = named or {}, wild = {}, members = {} }
  for position in next, positions do
    if position.ends then return true end
    if next(position.names) then state.named[position] = true end
    if position.wild then state.wild[position] = true end
  end
  return (next(state.named) or next(state.wild)) and state or false
end

local function below_wildcards(state)
  local positions = {}
  for position in next, state.wild do positions[position.wild] = true end
  return positions
end

--- Return the state of an object member.
local function member(state, name)
  local known = state.members[name]
  if known ~= nil then return known end
  local positions, is_named = below_wildcards(state), false
  for position in next, state.named do
    if position.names[name] then positions[position.names[name]], is_named = true, true end
  end
  if is_named then
    state.members[name] = entered(positions)
    return state.members[name]
  end
  if state.other == nil then state.other = entered(positions) end
  return state.other
end

--- Return the state of an array's elements: a name passes through the array, a wildcard consumes one level.
local function element(state)
  if state.element == nil then
    local named = {}
    for position in next, state.named do named[position] = true end
    state.element = entered(below_wildcards(state), named)
  end
  return state.element
end

local kept

local function keep_elements(list, state)
  local below = element(state)
  if below == false then return array({}) end
  for index, value in ipairs(list) do
    local left = kept(value, below)
    if left == nil then left = null end
    list[index] = left
  end
  return list
end

--- Project a value in place and return it; nil if a path selects a field of a scalar.
function kept(value, state)
  if state == true or rawequal(value, null) then return value end
  if type(value) ~= "table" or louver.is_large(value) then return nil end
  if getmetatable(value) == ARRAY then return keep_elements(value, state) end
  for name, part in next, value do
    local below = member(state, name)
    local left
    if below then left = kept(part, below) end
    value[name] = left
  end
  return value
end

--- Build the state at the root from the parsed paths.
function louver.root_of(paths)
  local root = { names = {} }
  for _, path in ipairs(paths) do plant(root, path) end
  return entered({ [root] = true })
end

--- Project a value that this process has decoded itself: it has no tables of the script's.
function louver.kept(value, root)
  local left = kept(value, root)
  if left == nil then return null end
  return left
end
