// The stock TypeScript SDK 1.x client. It knows the handshake revisions only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { named, request, run, STEP } from './common.mjs';

const { target } = request;
const client = new Client({ name: 'stock-driver', version: '1' });
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport(target);

// The client keeps the negotiated revision to itself, but tells the transport.
let negotiated;
const set = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  negotiated = version;
  set?.(version);
};

// Each page that is listed forgets the validators of the page before: a call is preceded by its tool's page.
const cursorOf = new Map();
let current;

async function listPage(cursor) {
  const page = await client.listTools({ cursor }, STEP);
  current = cursor;
  return page;
}

async function listTools() {
  const listed = [];
  let cursor;
  do {
    const page = await listPage(cursor);
    for (const tool of page.tools) cursorOf.set(tool.name, cursor);
    listed.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return listed;
}

async function callTool(params) {
  if (cursorOf.get(params.name) !== current) await listPage(cursorOf.get(params.name));
  return client.callTool(params, undefined, STEP);
}

await run({
  name: named('@modelcontextprotocol/sdk'),
  client,
  transport,
  protocolVersion: () => negotiated,
  listTools,
  callTool,
});
