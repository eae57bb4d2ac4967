// Try: call a tool, see what its answer costs, tick what is wanted.

import { html, useEffect, useState } from "./preact.js";
import { copies } from "./copies.js";
import { Form, argumentOf, argumentsFrom, fieldsFor, parsed } from "./form.js";
import { declaredFields } from "./fields.js";
import { callTool, changeView, project } from "./mcp.js";
import { outputOf, textsOf } from "./output.js";
import { Heaviest, Picker, Saving, useTicks } from "./picker.js";
import { bytesOf } from "./spans.js";
import { Other, number, shown } from "./tree.js";

const EVERYTHING = { mode: "include", fields: ["*"] };
const NARROW = 800; // pixels, up to which the answer is below the form
const SETTLED_MS = 150; // after the last tick, the gateway is asked
const MOST_TEXT = 20000; // characters of a text that is shown
const MESSAGE = "Message as it came"; // drawn once it is opened
const MOST_TOOLS = 200; // that are listed
const SEPARATOR = "__"; // between a server and its tool
const MOST_CALLS = 20; // that are remembered, in this tab alone

// `costs`: the name of a tool -> tokens of its answers on average, where they were counted.
export function Try({ tools, argument, costs, onSaved }) {
  const [chosen, setChosen] = useState({ name: "" });
  const [calls, setCalls] = useState([]);
  const [words, setWords] = useState("");
  const tool = tools.find((each) => each.name === chosen.name);
  const cost = (each) => costs.get(each.name) ?? -1;
  const found = tools
    .filter((each) => each.name.toLowerCase().includes(words.toLowerCase()))
    .sort((one, other) => cost(other) - cost(one));
  const onCall = (args) => setCalls([{ name: tool.name, args }, ...calls].slice(0, MOST_CALLS));
  return html`<div class="columns">
    <section class="card tools" aria-labelledby="tools">
      <h2 id="tools">Tools</h2>
      <label class="hidden" for="filter">Filter tools</label>
      <input id="filter" type="search" placeholder=${`Filter ${number(tools.length)} tools`} value=${words} onInput=${(event) => setWords(event.currentTarget.value)} />
      <div class="list">
        ${byServer(found.slice(0, MOST_TOOLS)).map(
          ([server, some]) => html`${server && html`<h3><${Other} text=${server} /></h3>`}
          <ul key=${server}>
            ${some.map(
              (each) => html`<li key=${each.name}>
                <button type="button" class="tool" aria-pressed=${String(each === tool)} onClick=${() => setChosen({ name: each.name })}>
                  <code><${Other} text=${server ? each.name.slice(server.length + SEPARATOR.length) : each.name} /></code>
                  <small>${noteOf(each, costs.get(each.name))}</small>
                  <small><${Other} text=${String(each.description ?? "")} most=${90} /></small>
                </button>
              </li>`,
            )}
          </ul>`,
        )}
      </div>
      ${found.length === 0 && html`<p class="note">No tool has that name.</p>`}
      ${calls.length > 0 && html`<${Calls} calls=${calls} onChoose=${(call) => setChosen({ ...call })} />`}
    </section>
    ${tool ? html`<${Tool} key=${chosen} ...${{ tool, argument, onCall, onSaved }} given=${chosen.args} />` : html`<section class="card">
      <h2>What does an answer cost?</h2>
      <ol>
        <li>Choose a tool, and call it.</li>
        <li>Untick the fields that an agent does not need.</li>
        <li>${onSaved ? "Save the rest as a view, or copy the request." : "Copy the request."}</li>
      </ol>
    </section>`}
  </div>`;
}

// [server, its tools]; the server is empty where no name begins with one.
function byServer(tools) {
  const groups = new Map();
  for (const tool of tools) {
    const server = tool.name.includes(SEPARATOR) ? tool.name.split(SEPARATOR, 1)[0] : "";
    groups.set(server, [...(groups.get(server) ?? []), tool]);
  }
  return [...groups];
}

function noteOf(tool, cost) {
  const parts = [cost === undefined ? "" : `${number(cost)} tokens an answer`, tool.outputSchema ? "" : "no declared fields"];
  return parts.filter(Boolean).join(", ");
}

// The calls of this tab, the last one first: one is made ready to be made again.
function Calls({ calls, onChoose }) {
  return html`<details>
    <summary>Calls</summary>
    <ul>
      ${calls.map(
        (call) => html`<li><button type="button" class="tool" onClick=${() => onChoose(call)}>
          <code><${Other} text=${call.name} /></code>
          <small><${Other} text=${JSON.stringify(call.args)} most=${90} /></small>
        </button></li>`,
      )}
    </ul>
  </details>`;
}

function Tool({ tool, argument, given, onCall, onSaved }) {
  const fields = fieldsFor(tool.inputSchema, argument);
  const [texts, setTexts] = useState({});
  const [raw, setRaw] = useState(given === undefined ? null : JSON.stringify(given, null, 2));
  const [state, setState] = useState({});
  const isReadOnly = tool.annotations?.readOnlyHint === true;

  const call = async (event) => {
    event.preventDefault();
    try {
      const args = raw === null ? argumentsFrom(fields, texts) : parsed("arguments", raw);
      setState({ isBusy: true });
      const { text, spans, result } = await callTool(tool, args, EVERYTHING);
      onCall(args);
      setState({ args, text, result, output: outputOf(result, text, spans) });
    } catch (error) {
      setState({ problem: error.message });
    }
  };
  const toRaw = () => {
    let args = {};
    try {
      args = argumentsFrom(fields, texts);
    } catch {
      // What is not filled in yet is left out.
    }
    setRaw(raw === null ? JSON.stringify(args, null, 2) : null);
  };
  const check = async () => {
    try {
      const { fields: members } = await project(tool.name);
      setState({ declared: declaredFields(members) });
    } catch (error) {
      setState({ problem: error.message });
    }
  };
  const { args, text, result, output, declared, problem, isBusy } = state;
  // On a narrow screen the answer is far below.
  useEffect(() => document.getElementById("answer")?.scrollIntoView({ block: innerWidth > NARROW ? "nearest" : "start" }), [result]);
  return html`<div class="work">
    <section class="card" aria-labelledby="call">
      <h2 id="call"><code><${Other} text=${tool.name} /></code></h2>
      <p class="description"><${Other} text=${String(tool.description ?? "")} most=${400} /></p>
      <form onSubmit=${call} noValidate>
        ${raw === null
          ? html`<${Form} ...${{ fields, texts, setTexts }} />`
          : html`<label for="raw">Arguments as JSON</label>
              <textarea id="raw" rows="6" spellcheck="false" value=${raw} onInput=${(event) => setRaw(event.currentTarget.value)}></textarea>`}
        <div class="actions">
          <button type="submit" class="primary" disabled=${isBusy}>${isBusy ? "Calling …" : "Call"}</button>
          ${tool.outputSchema && html`<button type="button" onClick=${check}>Check without calling</button>`}
          <button type="button" aria-pressed=${String(raw !== null)} onClick=${toRaw}>Raw JSON</button>
          ${!isReadOnly && html`<small class="note">It may change things: it does not say that it only reads.</small>`}
        </div>
      </form>
      <div role="alert">${problem && html`<p class="problem"><${Other} text=${problem} most=${600} /></p>`}</div>
    </section>
    ${result && !output && html`<${Texts} result=${result} />`}
    ${declared && html`<${Check} key=${declared} ...${{ tool, declared, argument }} />`}
    ${output && html`<${Answer} key=${output} ...${{ tool, args, output, argument, onSaved }} isError=${result.isError === true} />`}
    ${result && html`<section class="card" aria-label="Message"><${Block} title=${MESSAGE} text=${text} /></section>`}
  </div>`;
}

function Texts({ result }) {
  const text = textsOf(result).join("\n\n");
  return html`<section class="card" aria-labelledby="answer">
    <h2 id="answer">${result.isError ? "The tool fails" : "Text"}</h2>
    <p class="note">${number(text.length)} characters, without fields that could be left out.</p>
    <pre tabindex="0" dir="auto">${shown(text, MOST_TEXT)}</pre>
  </section>`;
}

function viewsOf(tool) {
  const hint = tool._meta?.["dev.louver/projectionHint"] ?? {};
  const names = [...Object.keys(hint.recommendedViews ?? {}), ...Object.keys(hint.views ?? {})];
  return { names: [...new Set(names)].sort(), hasAlways: (hint.always ?? []).length > 0 };
}

// What the gateway makes of the projection, once the ticks have settled; empty until then.
function useApplied(tool, projection, output) {
  const [applied, setApplied] = useState({});
  const key = JSON.stringify(projection);
  useEffect(() => {
    if (projection === null) return undefined;
    let isCurrent = true;
    const set = (found) => isCurrent && setApplied({ key, ...found });
    const timer = setTimeout(
      () => project(tool.name, projection, output?.resultOf(output.text)).then(set, (error) => set({ problem: error.message })),
      SETTLED_MS,
    );
    return () => ((isCurrent = false), clearTimeout(timer));
  }, [key]);
  return applied.key === key ? applied : {};
}

function Answer({ tool, args, output, argument, isError, onSaved }) {
  const views = viewsOf(tool);
  const ticks = useTicks(output);
  const { projection, isExact } = ticks;
  const applied = useApplied(tool, projection, output);
  // Wildcards, views and fields that always stay are the gateway's to count.
  const isLocal = (isExact && !views.hasAlways) || applied.kept === undefined;
  const kept = isLocal ? ticks.kept : bytesOf(applied.kept);
  return html`<section class="card" aria-labelledby="answer">
    <h2 id="answer">${isError ? "The tool fails" : "Answer"}</h2>
    ${projection === null && !ticks.isEmpty && html`<p class="note">Untick what an agent does not need; then save or copy the choice.</p>`}
    <${Saving} whole=${output.node.bytes} kept=${kept} isEmpty=${ticks.isEmpty} canUse=${projection !== null} />
    <${Heaviest} ticks=${ticks} />
    <${Picker} ...${{ ticks, output }} views=${views.names} />
    ${onSaved && projection !== null && projection.mode !== "view" && html`<${SaveView} ...${{ tool, projection, onSaved }} />`}
    ${projection !== null && html`<${Details} ...${{ tool, args, projection, argument, applied }} />`}
  </section>`;
}

// What is picked, saved as a view in the folder that the configuration names: the change is shown first.
function SaveView({ tool, projection, onSaved }) {
  const [name, setName] = useState("");
  const [isDefault, setDefault] = useState(false);
  const [state, setState] = useState({});
  const key = JSON.stringify([name, isDefault, projection]);
  const { change, problem } = state.key === key ? state : {};
  const ask = async (event, save) => {
    event.preventDefault();
    try {
      const found = await changeView({ tool: tool.name, name, projection, default: isDefault, save });
      setState({ key, change: found });
      if (found.saved) onSaved();
    } catch (error) {
      setState({ key, problem: error.message });
    }
  };
  return html`<form class="details" id="use" onSubmit=${(event) => ask(event)}>
    <h3>Save as view</h3>
    <div class="row">
      <label>Name <input value=${name} maxlength="64" onInput=${(event) => setName(event.currentTarget.value)} required /></label>
      <label class="tick"><input type="checkbox" checked=${isDefault} onChange=${(event) => setDefault(event.currentTarget.checked)} /> The default, for calls that name no fields</label>
      <button type="submit">Show the change</button>
      ${change && !change.saved && html`<button type="button" class="primary" onClick=${(event) => ask(event, change.digest)}>Save</button>`}
    </div>
    <div role="status">
      ${problem && html`<p class="problem"><${Other} text=${problem} most=${600} /></p>`}
      ${change?.saved && html`<p class="ready">Saved. A model asks for it by <code>view:<${Other} text=${name} /></code>.</p>`}
    </div>
    ${change && html`<p class="note">Change of <${Other} text=${change.file} most=${200} /></p><pre tabindex="0">${shown(change.lines.join("\n"), MOST_TEXT)}</pre>`}
  </form>`;
}

function Check({ tool, declared, argument }) {
  const ticks = useTicks(null, declared);
  const applied = useApplied(tool, ticks.projection, null);
  return html`<section class="card" aria-labelledby="check">
    <h2 id="check">Declared fields</h2>
    <p class="note">From the tool's output schema. It has not been called.</p>
    <${Picker} ...${{ ticks }} views=${viewsOf(tool).names} />
    ${ticks.projection !== null && html`<${Details} ...${{ tool, argument, applied }} args=${{}} projection=${ticks.projection} />`}
  </section>`;
}

function Details({ tool, args, projection, argument, applied }) {
  const { receipt, problem, kept } = applied;
  const { projectedSchema, ...rest } = receipt ?? {};
  const forms = copies(tool, args, projection, argumentOf(tool.inputSchema, argument), location.origin);
  return html`<div class="details" id="copy">
    ${problem && html`<p class="problem" role="alert"><${Other} text=${problem} most=${600} /></p>`}
    ${kept !== undefined && html`<${Block} title="What is kept" isOpen text=${kept} />`}
    ${projectedSchema !== undefined && html`<${Block} title="Derived schema" text=${JSON.stringify(projectedSchema, null, 2)} />`}
    <${Block} title="Receipt" isOpen text=${receipt ? JSON.stringify(rest, null, 2) : ""} />
    <h3>Copy</h3>
    <p class="note"><code>_meta</code> is for a program, the argument for a model, the view file for every call.</p>
    ${Object.entries(forms).map(([title, text]) => html`<${Block} key=${title} title=${title} text=${text} canCopy />`)}
  </div>`;
}

function Block({ title, text, canCopy, isOpen }) {
  const [isCopied, setCopied] = useState(false);
  const [isDrawn, setDrawn] = useState(title !== MESSAGE);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return html`<details open=${isOpen} onToggle=${() => setDrawn(true)}>
    <summary>${title}</summary>
    ${canCopy && html`<button type="button" class="copy" onClick=${copy}>${isCopied ? "Copied" : `Copy: ${title}`}</button>`}
    ${isDrawn && html`<pre tabindex="0">${text === "" ? "…" : shown(text, MOST_TEXT)}</pre>`}
  </details>`;
}
