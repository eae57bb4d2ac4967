// A small implementation of field projection, for the runner. It lacks strict requests, unknown names, views, rows,
// wrappers, text without structured content, and the argument. Its schemas tell the shape of what is left, and no more.
import { isDeepStrictEqual } from "node:util"
import type { CallTool, Json, Members } from "./run.mts"

/** Names from the root; null is a wildcard. `deep`: one name, at any depth. */
type Path = { steps: (string | null)[]; deep?: boolean }
type Value = Json | undefined
class Refused extends Error {}

const isObject = (value: Value): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const own = (members: any, name: string) => (members && Object.hasOwn(members, name) ? members[name] : undefined)
const inOrder = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

const BRACKET = /\[(?:\*?|'(?<one>[^']*)'|"(?<two>[^"]*)")\]/
const STEP = new RegExp(`(?:^|\\.)(?:\\*|\`(?<ticked>(?:[^\`]|\`\`)*)\`|(?<name>[^.[\\]*\`]+))|${BRACKET.source}`, "y")

function parsed(text: Json, mode: string): Path {
  if (typeof text !== "string" || !text || text.length > 512 || !text.isWellFormed() || text.includes("\0")) refuse()
  if (text.startsWith("/")) {
    if (/~(?![01])/.test(text)) refuse()
    return { steps: text.slice(1).split("/").map(name => name.replaceAll("~1", "/").replaceAll("~0", "~")) }
  }
  const deep = mode === "exclude" && text.startsWith("**.")
  const rest = deep ? text.slice(3) : text.replace(/^\$\.?(?=$|[.[]|(?<=^\$\.))/, "") || "*"
  const steps: Path["steps"] = []
  STEP.lastIndex = 0
  while (STEP.lastIndex < rest.length) {
    const { ticked, name, one, two } = STEP.exec(rest)?.groups ?? refuse()
    steps.push(ticked?.replaceAll("``", "`") ?? name ?? one ?? two ?? null)
  }
  if (steps.length > 32 || (deep && (steps.length > 1 || steps[0] === null))) refuse()
  return { steps: steps.length === 1 && steps[0] === null ? [] : steps, deep }
}

function refuse(): never {
  throw new Refused()
}

function written({ steps, deep }: Path): string {
  const quoted = (name: string) => (/^$|[.[\]*`]/.test(name) ? `\`${name.replaceAll("`", "``")}\`` : name)
  const text = steps.map(each => (each === null ? "*" : quoted(each))).join(".") || "*"
  return (deep ? "**." : "") + text.replace(/^(?:\$(?=$|\.)|\/[^.]*)/, "`$&`")
}

/** Each path once, and none below another, in the order of their steps. */
function folded(paths: Path[]): Path[] {
  const key = ({ steps, deep }: Path) =>
    (deep ? "\x01" : "\0") + steps.map(each => (each === null ? "\0" : `\x01${each}`)).join("\0")
  const sorted = paths.toSorted((one, other) => inOrder(key(one), key(other)))
  const covers = (one: Path, other: Path) =>
    !one.deep === !other.deep && isDeepStrictEqual(one.steps, other.steps.slice(0, one.steps.length))
  return sorted.filter((path, at) => !sorted.slice(0, at).some(each => covers(each, path)))
}

/** The part of a schema at a step: of a member by its name, of elements by null. */
function schemaAt(schema: any, name: string | null, root: any): any {
  const branches = [schema, ...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])].map(each => referred(each, root))
  const parts = branches.map(each => (name === null ? each?.items : own(each?.properties, name)))
  return parts.find(each => each !== undefined)
}

function referred(schema: any, root: any): any {
  const names: string[] = schema?.$ref?.split("/").slice(1) ?? []
  return schema?.$ref ? names.reduce((part, name) => part[name], root) : schema
}

function kept(value: Json, paths: Path["steps"][], schema: any, root: any, arrays = 0): Value {
  if (paths.some(path => !path.length) || value === null) return value
  if (Array.isArray(value)) {
    if (arrays === 64) return undefined
    const within = paths.map(path => (path[0] === null ? path.slice(1) : path))
    const known = schemaAt(schema, null, root)
    return value.map(each => kept(each, within, known, root, arrays + 1) ?? null)
  }
  if (!isObject(value)) return undefined
  const below = (name: string) => paths.filter(path => path[0] === null || path[0] === name).map(path => path.slice(1))
  const members = Object.entries(value).flatMap(([name, part]): [string, Json][] => {
    const left = below(name).length ? kept(part, below(name), schemaAt(schema, name, root), root) : undefined
    return left === undefined ? [] : [[name, left]]
  })
  if (!paths.some(path => path[0] === null)) {
    const names = Object.keys(referred(schema, root)?.properties ?? {})
    const rank = (name: string) => (names.includes(name) ? names.indexOf(name) : names.length)
    members.sort(([one], [other]) => rank(one) - rank(other) || inOrder(one, other))
  }
  return Object.fromEntries(members)
}

/** A wildcard that is not last also matches no level, and a deep name every one. */
function widened(paths: Path[]): Path[] {
  const below = paths.filter(({ steps, deep }) => !deep && steps[0] === null && steps.length > 1)
  return below.length ? folded([...paths, ...widened(below.map(({ steps }) => ({ steps: steps.slice(1) })))]) : paths
}

function left(value: Json, paths: Path[]): Json {
  if (Array.isArray(value)) {
    const takesAll = paths.some(({ steps }) => !steps.length || (steps.length === 1 && steps[0] === null))
    return takesAll ? [] : value.map(each => left(each, widened(paths)))
  }
  if (!isObject(value)) return value
  if (paths.some(({ steps }) => !steps.length)) return {}
  const here = widened(paths)
  const below = (name: string) => here.filter(({ steps }) => steps[0] === null || steps[0] === name)
  const members = Object.entries(value).flatMap(([name, part]): [string, Json][] => {
    if (below(name).some(({ steps }) => steps.length === 1)) return []
    const within = below(name).map(({ steps }) => ({ steps: steps.slice(1) }))
    return [[name, left(part, [...within, ...paths.filter(each => each.deep)])]]
  })
  return Object.fromEntries(members)
}

/** A schema of the shape that is left, with a definition for each set of paths. */
function derived(paths: Path[], mode: string, root: any): Members {
  const definitions: Members = {}
  const ids = new Map<string, string>()
  const of = (here: Path[], schema: any): Members => {
    const key = JSON.stringify([here, schema])
    if (!ids.has(key)) {
      ids.set(key, `part${ids.size}`)
      definitions[ids.get(key)!] = mode === "include" ? included(here, schema) : excluded(here)
    }
    return { $ref: `#/$defs/${ids.get(key)}` }
  }
  const next = (here: Path[], name: string | null) =>
    here.filter(({ steps }) => steps[0] === null || steps[0] === name).map(({ steps }) => ({ steps: steps.slice(1) }))
  const named = (here: Path[], part: (name: string) => Json) =>
    Object.fromEntries(here.flatMap(({ steps }) => (steps[0] == null ? [] : [[steps[0], part(steps[0])]])))
  const included = (here: Path[], schema: any): Members => {
    if (here.some(({ steps }) => !steps.length)) return {}
    const any = next(here, null)
    const properties = named(here, name => of(next(here, name), schemaAt(schema, name, root)))
    const stays = (name: string) =>
      schemaAt(schema, name, root)?.type === "object" || next(here, name).some(({ steps }) => !steps.length)
    return {
      type: ["object", "array", "null"],
      properties,
      required: (referred(schema, root)?.required ?? []).filter((name: string) => name in properties && stays(name)),
      additionalProperties: any.length ? of(any, undefined) : false,
      items: of(
        here.map(path => (path.steps[0] === null ? { steps: path.steps.slice(1) } : path)),
        schemaAt(schema, null, root),
      ),
    }
  }
  const excluded = (here: Path[]): Members => {
    if (here.some(({ steps }) => !steps.length)) return { maxProperties: 0, maxItems: 0 }
    const wide = widened(here)
    const deep = here.filter(each => each.deep)
    const part = (name: string | null) => {
      const below = next(wide, name)
      return below.some(({ steps }) => !steps.length) ? false : of([...below, ...deep], undefined)
    }
    const all = wide.some(({ steps }) => steps.length === 1 && steps[0] === null)
    return {
      properties: named(wide, part),
      additionalProperties: part(null),
      ...(all ? { maxItems: 0 } : { items: of(wide, undefined) }),
    }
  }
  return { ...of(paths, root), $defs: definitions }
}

/** Whether a path names something that the schema knows. */
function isKnown(schema: any, steps: Path["steps"], root: any): boolean {
  const here = referred(schema, root)
  if (!steps.length || !isObject(here) || !Object.keys(here).length) return true
  const branches = [...((here.anyOf ?? here.oneOf ?? []) as any[])]
  if (branches.length) return branches.some(each => isKnown(each, steps, root))
  const [name, ...rest] = steps
  if (here.items !== undefined) return isKnown(here.items, name === null ? rest : steps, root)
  if (name === null) return true
  const properties = here.properties as Members | undefined
  if (properties && Object.hasOwn(properties, name)) return isKnown(properties[name], rest, root)
  if (Object.keys(here.patternProperties ?? {}).some(each => new RegExp(each, "u").test(name))) return true
  return (here.additionalProperties ?? false) !== false || (!properties && (here.type ?? "object") === "object")
}

export const callTool: CallTool = (tool, params, run): Members | undefined => {
  const { projection, ...meta } = (params._meta ?? {}) as any
  const { mode, fields, ...others } = projection ?? {}
  const schema = tool.outputSchema as any
  const isPlain = Array.isArray(fields) && !Object.keys({ ...meta, ...others }).length
  if (!isPlain || tool.views || schema?.properties?.result) return undefined
  let paths: Path[]
  try {
    paths = folded(fields.map((each: Json) => parsed(each, mode)))
  } catch (error) {
    if (error instanceof Refused) return { error: { code: -32602, data: { error: { code: "INVALID_PROJECTION" } } } }
    throw error
  }
  if (paths.some(({ steps, deep }) => !deep && !isKnown(schema, steps, schema))) return undefined
  if (paths.some(({ steps }) => steps.includes("__proto__"))) return undefined // Ajv reads no property of this name.
  const isAdded = mode === "include" && paths.every(({ steps }) => steps.length)
  const always = (isAdded ? tool.always ?? [] : []).map(each => parsed(each, mode))
  const all = folded([...paths, ...always])
  const steps = all.map(path => path.steps)
  const value = run().structuredContent
  const rest = mode === "include" ? kept(value, steps, schema, schema) ?? null : left(value, paths)
  const receipt = {
    applied: true,
    mode,
    fields: paths.map(written),
    ...(always.length && { always: always.map(written) }),
    partial: !isDeepStrictEqual(rest, value),
    projectedSchema: derived(all, mode, schema),
  }
  const content = [{ type: "text", text: JSON.stringify(rest) }]
  return { content, structuredContent: rest, _meta: { projection: receipt } }
}
