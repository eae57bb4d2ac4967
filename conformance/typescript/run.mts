// Tries an implementation of field projection on the vectors, and ends with 1 if it fails one.
//
//     npm install ajv && node run.mts mine.mts ../vectors projection paths
//
// mine.mts exports `callTool`, as typed below. The last words are files of the folder; without them all are tried.
// Node.js 22.18 or newer runs it as is.
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { isDeepStrictEqual } from "node:util"
import { Ajv2020 } from "ajv/dist/2020.js"

export type Json = null | boolean | number | string | Json[] | Members
export type Members = { [name: string]: Json }
/** What the tool's author writes; the members mean what they mean in a vector. */
export type Tool = { outputSchema?: Json; views?: Members; always?: string[]; content?: string; defaultView?: string }
/** Answers `tools/call`: with a result, `{error}` as in JSON-RPC, or nothing where it lacks what that takes. */
export type CallTool = (tool: Tool, params: Members, run: () => Members) => Members | undefined

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
const parsed = (text: string) => { try { return JSON.parse(text) } catch { return undefined } }
const has = (whole: any, members: Members = {}) =>
  Object.entries(members).every(([name, value]) => same(whole?.[name] ?? null, value))

/** What of the answer differs from the vector. */
function faults(vector: any, answer: any, runs: number): string[] {
  const { error, _meta, ...result } = answer
  const text: string = result.content?.[0]?.text ?? "null"
  const key = vector.receiptKey ?? (vector.meta?.["dev.louver/projection"] ? "dev.louver/projection" : "projection")
  const found: Record<string, boolean> = { receipt: has(_meta?.[key], vector.receipt) }
  if (vector.refusal) found.refusal = error?.code === -32602 && has(error.data?.error, vector.refusal)
  if (vector.errorResult) found.errorResult = result.isError && has(parsed(text)?.error, vector.errorResult)
  if (vector.errorText) found.errorText = result.isError && text.includes(vector.errorText)
  for (const name of vector.answer ? ["content", "structuredContent", "isError"] : [])
    found[name] = same(result[name], vector.answer[name])
  if ("kept" in vector) {
    found.kept = same(result.structuredContent, vector.kept)
    found.content = result.content?.length === 1 && same(parsed(text), vector.kept)
  }
  const schema = _meta?.[key]?.projectedSchema
  const isSchemaOwed = "kept" in vector && "request" in vector && vector.receipt?.projectedSchema !== null
  found.projectedSchema = schema !== undefined || !isSchemaOwed
  if (schema) {
    const accepts = ajv.compile(schema)
    const accepted = [...("kept" in vector ? [vector.kept] : []), ...(vector.schemaAccepts ?? [])]
    const isTrimmed = "kept" in vector && !isDeepStrictEqual(vector.kept, vector.value)
    const refused = [...(isTrimmed ? [vector.value] : []), ...(vector.schemaRefuses ?? [])]
    found.schemaAccepts = accepted.every(value => accepts(value))
    found.schemaRefuses = !refused.some(value => accepts(value))
    found.schemaLacks = !vector.schemaLacks?.some((each: string) => JSON.stringify(schema).includes(each))
  }
  found.runs = runs === (vector.refusal || vector.errorText ? 0 : vector.runs ?? 1)
  return Object.keys(found).filter(name => !found[name])
}

const [mine, folder, ...names] = process.argv.slice(2)
const callTool: CallTool = (await import(pathToFileURL(resolve(mine)).href)).callTool
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"))
const files = readdirSync(folder).map(name => [name.replace(".json", ""), read(name)])
const documents = Object.assign({}, ...files.map(([, file]) => file.documents))
const counts = { passed: 0, failed: 0, lacking: 0 }
const wanted = files.filter(([name]) => !names.length || names.includes(name))
for (const vector of wanted.flatMap(([, file]) => file.vectors ?? [])) {
  for (const part of ["value", "schema", "kept"])
    if (vector[part]?.$document) vector[part] = documents[vector[part].$document]
  const { schema: outputSchema, views, always, content, defaultView } = vector
  const tool: Tool = { outputSchema, views, always, content, defaultView }
  const params: Members = "argument" in vector ? { arguments: { output_fields: vector.argument } } : {}
  params._meta = vector.meta ?? ("request" in vector ? { projection: vector.request } : {})
  const text = { type: "text", text: JSON.stringify(vector.value) }
  const output = vector.result ?? { content: [text], structuredContent: vector.value }
  let runs = 0
  const answer = vector.hint ? undefined : callTool(tool, params, () => (runs++, structuredClone(output)))
  const wrong = answer ? faults(vector, answer, runs) : []
  counts[!answer ? "lacking" : wrong.length ? "failed" : "passed"]++
  if (wrong.length) console.log(`${vector.id}: ${wrong.join(", ")}`)
}
console.log(JSON.stringify(counts))
process.exitCode = counts.failed || !counts.passed ? 1 : 0
