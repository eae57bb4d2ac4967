// Try: call a tool, see what its answer costs, tick what is wanted.

import { html, useEffect, useState } from "./preact.js";
import { copies } from "./copies.js";
import { Form, argumentOf, argumentsFrom, fieldsFor, parsed } from "./form.js";
import { declaredFields } from "./fields.js";
import { callTool, project } from "./mcp.js";
import { outputOf, textsOf } from "./output.js";
import { Picker, Saving, useTicks } from "./picker.js";
import { bytesOf } from "./spans.js";
import { Other, number, shown } from "./tree.js";

const EVERYTHING = { mode: "include", fields: ["*"] };
const SETTLED_MS = 150; // after the last tick, the gateway is asked
const MOST_TEXT = 20000; // characters of a text that is shown

export function Try({ tools, argument }) {
  const [name, setName] = useState("");
  const [words, setWords] = useState("");
  const tool = tools.find((each) => each.name === name);
  const found = tools.filter((each) => each.name.toLowerCase().includes(words.toLowerCase()));
  return html`<div class="columns">
    <section class="card tools" aria-labelledby="tools">
      <h2 id="tools">Tools</h2>
      <label class="hidden" for="filter">Filter tools</label>
      <input id="filter" type="search" placeholder=${`Filter ${number(tools.length)} tools`} value=${words} onInput=${(event) => setWords(event.currentTarget.value)} />
      <ul>
        ${found.slice(0, 200).map(
          (each) => html`<li key=${each.name}>
            <button type="button" class="tool" aria-pressed=${String(each.name === name)} onClick=${() => setName(each.name)}>
              <code><${Other} text=${each.name} /></code>
              <small><${Other} text=${String(each.description ?? "")} most=${90} /></small>
            </button>
          </li>`,
        )}
      </ul>
      ${found.length === 0 && html`<p class="note">No tool has that name.</p>`}
    </section>
    ${tool ? html`<${Tool} key=${tool.name} ...${{ tool, argument }} />` : html`<p class="card note">Choose a tool.</p>`}
  </div>`;
}

function Tool({ tool, argument }) {
  const fields = fieldsFor(tool.inputSchema, argument);
  const [texts, setTexts] = useState({});
  const [raw, setRaw] = useState(null);
  const [state, setState] = useState({});
  const isReadOnly = tool.annotations?.readOnlyHint === true;

  const call = async (event) => {
    event.preventDefault();
    try {
      const args = raw === null ? argumentsFrom(fields, texts) : parsed("arguments", raw);
      setState({ isBusy: true });
      const answer = await callTool(tool, args, EVERYTHING);
      setState({ args, result: answer.result, output: outputOf(answer.result, answer.text, answer.spans) });
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
  const { args, result, output, declared, problem, isBusy } = state;
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
    ${output && html`<${Answer} key=${output} ...${{ tool, args, output, argument }} isError=${result.isError === true} />`}
  </div>`;
}

function Texts({ result }) {
  const text = textsOf(result).join("\n\n");
  return html`<section class="card" aria-labelledby="text">
    <h2 id="text">${result.isError ? "The tool fails" : "Text"}</h2>
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

function Answer({ tool, args, output, argument, isError }) {
  const views = viewsOf(tool);
  const ticks = useTicks(output);
  const { projection, isExact } = ticks;
  const applied = useApplied(tool, projection, output);
  // Wildcards, views and fields that always stay are the gateway's to count.
  const isLocal = (isExact && !views.hasAlways) || applied.kept === undefined;
  const kept = isLocal ? ticks.kept : bytesOf(applied.kept);
  return html`<section class="card" aria-labelledby="answer">
    <h2 id="answer">${isError ? "The tool fails" : "Answer"}</h2>
    <${Saving} whole=${output.node.bytes} kept=${kept} isEmpty=${ticks.isEmpty} />
    <${Picker} ...${{ ticks, output }} views=${views.names} />
    ${projection !== null && html`<${Details} ...${{ tool, args, projection, argument, applied }} />`}
  </section>`;
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
  return html`<div class="details">
    ${problem && html`<p class="problem" role="alert"><${Other} text=${problem} most=${600} /></p>`}
    <${Block} title="Receipt" isOpen text=${receipt ? JSON.stringify(rest, null, 2) : ""} />
    ${projectedSchema !== undefined && html`<${Block} title="Derived schema" text=${JSON.stringify(projectedSchema, null, 2)} />`}
    ${kept !== undefined && html`<${Block} title="What is kept" text=${kept} />`}
    <h3>Copy</h3>
    ${Object.entries(forms).map(([title, text]) => html`<${Block} key=${title} title=${title} text=${text} canCopy />`)}
  </div>`;
}

function Block({ title, text, canCopy, isOpen }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return html`<details open=${isOpen}>
    <summary>${title}</summary>
    ${canCopy && html`<button type="button" class="copy" onClick=${copy}>${isCopied ? "Copied" : `Copy: ${title}`}</button>`}
    <pre tabindex="0">${text === "" ? "…" : shown(text, MOST_TEXT)}</pre>
  </details>`;
}
