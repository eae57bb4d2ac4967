// AI SDK: its tools, called as `generateText` calls them, and what its models are shown of the results.
import { createMCPClient } from '@ai-sdk/mcp';
import * as stdio from '@ai-sdk/mcp/mcp-stdio';
import { asSchema } from 'ai';
import { readFileSync } from 'node:fs';

const Transport = stdio.Experimental_StdioMCPTransport ?? stdio.StdioMCPTransport;
const FOUND = { $handle: /"handle": ?"([^"]+)"/g, $grant: /(v1\.[A-Za-z0-9_-]{40,})/g };

function filled(given, seen) {
  const text = seen.join('\n').replaceAll('\\', '');
  const values = Object.entries(given ?? {}).map(([name, value]) => {
    if (!(value in FOUND)) return [name, value];
    return [name, [...text.matchAll(FOUND[value])].at(-1)?.[1]];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

async function run(each) {
  const transport = each.url
    ? { type: 'http', url: each.url }
    : new Transport({ command: each.command, args: each.args, stderr: 'ignore' });
  const client = await createMCPClient({ transport });
  try {
    const tools = await client.tools();
    const listed = {};
    for (const [name, tool] of Object.entries(tools)) {
      listed[name] = { description: tool.description, parameters: await asSchema(tool.inputSchema).jsonSchema };
    }
    const seen = [];
    for (const step of each.steps) {
      const wanted = step.tool.replaceAll('-', '_');
      const name = Object.keys(tools).find((known) => known.replaceAll('-', '_').endsWith(wanted));
      try {
        const input = filled(step.arguments, seen);
        const output = await tools[name].execute(input, { toolCallId: '1', messages: [] });
        const shown = tools[name].toModelOutput
          ? await tools[name].toModelOutput({ output, toolCallId: '1', input })
          : output;
        seen.push(JSON.stringify(shown));
      } catch (error) {
        seen.push(String(error));
      }
    }
    return { tools: listed, seen };
  } finally {
    await client.close();
  }
}

const request = JSON.parse(readFileSync(0, 'utf8'));
const answers = [];
for (const each of request.runs) {
  try {
    answers.push(await run(each));
  } catch (error) {
    answers.push({ tools: {}, seen: [], failed: String(error) });
  }
}
process.stdout.write(JSON.stringify(answers), () => process.exit(0));
