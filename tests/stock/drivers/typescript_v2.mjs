// The stock TypeScript SDK 2.x client, in both eras.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { named, request, run, STEP } from './common.mjs';

const { era, target } = request;
const mode = era === '2025-11-25' ? 'legacy' : { pin: era };
const client = new Client({ name: 'stock-driver', version: '1' }, { versionNegotiation: { mode } });

await run({
  name: named('@modelcontextprotocol/client'),
  client,
  transport: target.url ? new StreamableHTTPClientTransport(new URL(target.url)) : new StdioClientTransport(target),
  protocolVersion: () => client.getNegotiatedProtocolVersion(),
  // Without a cursor it walks all pages, and only then keeps their schemas for validation.
  listTools: async () => (await client.listTools(undefined, STEP)).tools,
  callTool: (params) => client.callTool(params, STEP),
});
