// The chosen projection in the forms in which it is used elsewhere.

import { header, paramHeaders } from "./mcp.js";

const KEY = "dev.louver/projection";
// What a terminal would interpret, or an editor not show: all texts are in literals of JSON or Python, which can escape it.
const HIDDEN = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const escaped = (text) => text.replace(HIDDEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
const pretty = (value) => JSON.stringify(value, null, 2);

export function copies(tool, args, projection, argument, origin) {
  const { mode, fields, view } = projection;
  const named = mode === "view" ? [`view:${view}`] : fields;
  const found = { "In _meta": pretty({ [KEY]: projection }) };
  found[`In ${argument}`] = pretty({ [argument]: mode === "exclude" ? { exclude: fields } : named });
  if (mode !== "view") {
    found["View file"] = pretty({
      $schema: "https://louver.dev/schemas/view-file.schema.json",
      tool: tool.name,
      views: { compact: { [mode]: fields } },
    });
  }
  found.curl = curl(tool, args, projection, origin);
  found.Python = python(tool.name, args, projection, origin);
  return Object.fromEntries(Object.entries(found).map(([title, text]) => [title, escaped(text)]));
}

function curl(tool, args, projection, origin) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": { extensions: { [KEY]: {} } },
    [KEY]: projection,
  };
  const params = { name: tool.name, arguments: args, _meta: meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const headers = { "Mcp-Name": header(tool.name), ...paramHeaders(tool.inputSchema, args) };
  return [
    `curl ${origin}/mcp`,
    '-H "Authorization: Bearer $TOKEN"',
    "-H 'Content-Type: application/json'",
    "-H 'Accept: application/json, text/event-stream'",
    "-H 'MCP-Protocol-Version: 2026-07-28'",
    "-H 'Mcp-Method: tools/call'",
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `-d ${quoted(body)}`,
  ].join(" \\\n  ");
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function python(tool, args, { mode, fields, view }, origin) {
  const wanted = mode === "view" ? `view=${literal(view)}` : `${mode}=${literal(fields)}`;
  return `import asyncio
import os

import httpx2
import louver
from mcp.client.streamable_http import streamable_http_client


async def main():
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {os.environ['TOKEN']}"})
    async with louver.Client(streamable_http_client(${literal(`${origin}/mcp`)}, http_client=http)) as client:
        result = await client.call_tool(${literal(tool)}, ${literal(args)}, ${wanted})
        print(result.data)


asyncio.run(main())`;
}

function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}
