// The picker inside an MCP host, as an MCP App: it gets a tool's result from the host, and calls the tool again with the
// argument for fields. Both speak JSON-RPC by messages of their windows.
// Source: MCP Apps (SEP-1865), 2026-01-26.

import { html, render, useEffect, useState } from "./preact.js";
import { argumentOf } from "./form.js";
import { outputOf, textsOf } from "./output.js";
import { Picker, Saving, useTicks } from "./picker.js";
import { scan } from "./spans.js";
import { shown } from "./tree.js";

const ARGUMENT = document.body.dataset.argument;
const EVERYTHING = ["*"];
const waiting = new Map();
const listeners = new Map();
let last = 0;

const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params = {}) => send({ method, params });

function request(method, params) {
  const id = ++last;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (data.method === undefined) {
    const { resolve, reject } = waiting.get(data.id) ?? {};
    waiting.delete(data.id);
    data.error ? reject?.(new Error(String(data.error.message))) : resolve?.(data.result);
  } else if (data.id === undefined) {
    listeners.get(data.method)?.(data.params ?? {});
  } else if (data.method === "ping" || data.method === "ui/resource-teardown") {
    send({ id: data.id, result: {} });
  } else {
    send({ id: data.id, error: { code: -32601, message: "Method not found" } });
  }
});

function App() {
  const [host, setHost] = useState(null);
  const [args, setArgs] = useState({});
  const [result, setResult] = useState(null);
  const [problem, setProblem] = useState("");

  useEffect(() => {
    listeners.set("ui/notifications/tool-input", (params) => setArgs(params.arguments ?? {}));
    listeners.set("ui/notifications/tool-result", setResult);
    listeners.set("ui/notifications/tool-cancelled", () => setProblem("The call was cancelled."));
    listeners.set("ui/notifications/host-context-changed", ({ theme }) => setTheme(theme));
    const appInfo = { name: "louver", version: "1" };
    request("ui/initialize", { appInfo, appCapabilities: {}, protocolVersion: "2026-01-26" }).then((found) => {
      setTheme(found.hostContext?.theme);
      setHost(found);
      notify("ui/notifications/initialized");
      new ResizeObserver(() => notify("ui/notifications/size-changed", { height: document.body.scrollHeight })).observe(document.body);
    }, (error) => setProblem(error.message));
  }, []);

  const tool = host?.hostContext?.toolInfo?.tool;
  const again = async (fields) => {
    setProblem("");
    try {
      const asked = { ...args, [argumentOf(tool.inputSchema, ARGUMENT)]: fields };
      const found = await request("tools/call", { name: tool.name, arguments: asked });
      setResult(found);
      const { content, structuredContent } = found;
      if (host.hostCapabilities?.updateModelContext) await request("ui/update-model-context", { content, structuredContent });
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<main>
    <div role="alert">${problem && html`<p class="problem">${shown(problem, 400)}</p>`}</div>
    ${result ? html`<${Answer} key=${result} ...${{ result, tool }} again=${tool ? again : null} />` : html`<p class="note">Waiting for the answer …</p>`}
  </main>`;
}

function setTheme(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.style.colorScheme = theme;
}

function Answer({ result, ...rest }) {
  const text = JSON.stringify(result);
  const [output] = useState(() => outputOf(result, text, scan(text)));
  if (output === null || result.isError) return html`<pre tabindex="0" dir="auto">${shown(textsOf(result).join("\n\n"), 2000)}</pre>`;
  return html`<${Fields} ...${{ output, ...rest }} />`;
}

function Fields({ output, tool, again }) {
  const ticks = useTicks(output);
  const { projection } = ticks;
  const fields = projection?.mode === "exclude" ? { exclude: projection.fields } : projection?.fields;
  return html`<${Saving} whole=${output.node.bytes} kept=${ticks.kept} isEmpty=${ticks.isEmpty} />
    <${Picker} ...${{ ticks, output }} />
    ${again &&
    html`<p class="actions">
      <button type="button" class="primary" disabled=${!fields} onClick=${() => again(fields)}>Call again with these fields</button>
      <button type="button" onClick=${() => again(EVERYTHING)}>With all fields</button>
      ${tool.annotations?.readOnlyHint !== true && html`<small>It may change things: it does not say that it only reads.</small>`}
    </p>`}`;
}

render(html`<${App} />`, document.body);
