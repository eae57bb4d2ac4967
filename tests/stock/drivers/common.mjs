// What the TypeScript drivers share: the request from stdin, the answer to stdout, the limits in time.
import { readFileSync } from 'node:fs';

export const STEP = { timeout: 30_000 };
export const request = JSON.parse(readFileSync(0, 'utf8'));

const limit = STEP.timeout * (request.calls.length + 3);
setTimeout(() => fail(new Error(`not done after ${limit} ms`)), limit).unref();

/** Name and version of an installed package. */
export function named(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
}

/**
 * Connect, list all tools, which arms the client's validation, and make the calls one after the other.
 * `listTools()` returns all pages' tools; `callTool(params)` throws what the client throws.
 */
export async function run({ name, client, transport, protocolVersion, listTools, callTool }) {
  try {
    await client.connect(transport, STEP);
    const answer = {
      client: name,
      protocolVersion: protocolVersion(),
      capabilities: client.getServerCapabilities(),
    };
    if (answer.protocolVersion !== request.era) {
      throw new Error(`${name} was asked for ${request.era} and negotiated ${answer.protocolVersion}`);
    }
    answer.listed = await listTools();
    answer.tools = answer.listed.length;
    answer.calls = [];
    for (const call of request.calls) answer.calls.push(await outcome(callTool, call));
    await transport.terminateSession?.();
    await client.close();
    process.stdout.write(JSON.stringify(answer));
  } catch (error) {
    fail(error);
  }
}

async function outcome(callTool, { tool, arguments: args = {}, meta }) {
  try {
    const result = await callTool({ name: tool, arguments: args, _meta: meta });
    return {
      ok: true,
      structuredContent: result.structuredContent ?? null,
      content: result.content,
      meta: result._meta ?? null,
      isError: result.isError ?? false,
    };
  } catch (error) {
    return { ok: false, error: reason(error) };
  }
}

function reason(error) {
  const cause = error.cause instanceof Error ? ` (${reason(error.cause)})` : '';
  return `${error.constructor.name}: ${error.message}${cause}`;
}

function fail(error) {
  console.error(reason(error));
  process.exit(1);
}
