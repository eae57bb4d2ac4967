// The gateway, asked by the page: `/mcp` as a client of 2026-07-28, and the page's own data under `/ui/api/`.

import { member, scan } from "./spans.js";

const VERSION = "2026-07-28";
const PREFIX = "io.modelcontextprotocol/";
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TOKEN = "louver-token"; // in the session of this tab alone

export class Refused extends Error {}

// The token in the fragment, which no server sees, is taken out of the address.
export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(TOKEN, found[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(TOKEN);
}

export const setToken = (token) => sessionStorage.setItem(TOKEN, token);
export const token = () => sessionStorage.getItem(TOKEN);

async function fetched(path, options = {}) {
  const headers = { ...options.headers, authorization: `Bearer ${token()}` };
  const response = await fetch(path, { ...options, headers, cache: "no-store", redirect: "error" });
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN);
    dispatchEvent(new Event("token-refused"));
    throw new Refused("the token is not accepted");
  }
  return response;
}

export async function ask(name, query = {}) {
  return answer(await fetched(`/ui/api/${name}?${new URLSearchParams(query)}`));
}

// What the gateway makes of a projection; `result` is JSON text, because numbers would lose digits.
export async function project(tool, projection, result) {
  const members = [`"tool":${JSON.stringify(tool)}`];
  if (projection) members.push(`"projection":${JSON.stringify(projection)}`);
  if (result) members.push(`"result":${result}`);
  const headers = { "content-type": "application/json" };
  return answer(await fetched("/ui/api/project", { method: "POST", headers, body: `{${members.join(",")}}` }));
}

// The change that saves a view; `save` is the digest of the change that was shown.
export async function changeView(question) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(question);
  return answer(await fetched("/ui/api/view", { method: "POST", headers, body }));
}

async function answer(response) {
  const found = await response.json();
  if (!response.ok) throw new Refused(found.message);
  return found;
}

// A request and its response: the text as it came, its spans, and the result.
export async function request(method, params = {}, headers = {}) {
  const meta = {
    [`${PREFIX}protocolVersion`]: VERSION,
    [`${PREFIX}clientInfo`]: { name: "louver-ui", version: "1" },
    [`${PREFIX}clientCapabilities`]: { extensions: { "dev.louver/projection": {} } },
    ...params._meta,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });
  const response = await fetched("/mcp", {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(params.name === undefined ? {} : { "mcp-name": header(params.name) }),
      ...headers,
    },
  });
  const text = messageIn(await response.text(), response.headers.get("content-type") ?? "");
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    throw new Refused(text || `the gateway answers with status ${response.status}`);
  }
  if (message.error) throw new Refused(message.error.message);
  return { text, spans: member(scan(text), "result"), result: message.result };
}

// In a stream, the response is the last event.
function messageIn(text, type) {
  if (!type.startsWith("text/event-stream")) return text;
  const lines = text.split(/\r?\n/).filter((line) => line.startsWith("data: "));
  return lines.length ? lines.at(-1).slice("data: ".length) : "";
}

export async function listTools() {
  const tools = [];
  let cursor;
  do {
    const { result } = await request("tools/list", cursor === undefined ? {} : { cursor });
    tools.push(...result.tools);
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

export function callTool(tool, args, projection) {
  const params = { name: tool.name, arguments: args, _meta: { "dev.louver/projection": projection } };
  return request("tools/call", params, paramHeaders(tool.inputSchema, args));
}

// Arguments that the input schema wants repeated as headers.
export function paramHeaders(schema, args) {
  const found = {};
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const value = Object.hasOwn(Object(args), name) ? args[name] : undefined;
    const wanted = property?.["x-mcp-header"];
    if (value === undefined || value === null) continue;
    if (typeof wanted === "string" && HEADER_NAME.test(wanted)) found[`mcp-param-${wanted}`] = header(String(value));
    else if (property?.properties) Object.assign(found, paramHeaders(property, value));
  }
  return found;
}

export function header(value) {
  if (/^[!-~](?:[ -~]*[!-~])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value)) return value;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(value)))}?=`;
}
