-- What `project(value, fields)` keeps of a value, by paths that the gateway has read.
--
--     {"items.id", "*.name"}     as the script writes them
--     {{"items", "id"}, {null, "name"}}     as they come back: null is the wildcard
--
-- The rules are those of an include in `core/paths/mask.py`; the work is the script's own, in its own process. The states are
-- made as the value is walked, so that paths with many wildcards cost what they meet.

local louver = ...
local ipairs, next, rawequal, type = ipairs, next, rawequal, type
local getmetatable = debug.getmetatable
local null, array = louver.null, louver.array

local ARRAY = getmetatable(array({}))

-- A state is `true`, all is kept; `false`, nothing is; or the positions of the paths whose names, and whose wildcards,
-- come next.

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

--- The state of having reached these positions, beside those whose names come next still.
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

--- The state of a member.
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

--- The state of the elements: a name looks through an array, a wildcard takes it.
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

--- What is left of a value, which is changed; nil if a field of a scalar was asked for.
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

--- The state at the root, of paths as the gateway has read them.
function louver.root_of(paths)
  local root = { names = {} }
  for _, path in ipairs(paths) do plant(root, path) end
  return entered({ [root] = true })
end

--- What they keep of a value of our own making.
function louver.kept(value, root)
  local left = kept(value, root)
  if left == nil then return null end
  return left
end
