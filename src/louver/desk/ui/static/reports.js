// The operator's pages: the servers and their state, a role under the policy, savings, and the audit.

import { html, useEffect, useState } from "./preact.js";
import { declaredFields, leavesOf } from "./fields.js";
import { ask } from "./mcp.js";
import { Other, Tree, number, shown } from "./tree.js";

// The answer to a question, or the problem; asked again if the question changes.
function useAnswer(name, query) {
  const [state, setState] = useState({ isBusy: true });
  const [count, setCount] = useState(0);
  const key = JSON.stringify([name, query, count]);
  useEffect(() => {
    if (query === null) return setState({});
    let isCurrent = true;
    const set = (found) => isCurrent && setState(found);
    set({ isBusy: true });
    ask(name, query).then((answer) => set({ answer }), (error) => set({ problem: error.message }));
    return () => (isCurrent = false);
  }, [key]);
  return { ...state, again: () => setCount(count + 1) };
}

function Shown({ state, children }) {
  return html`<div aria-live="polite" aria-busy=${String(Boolean(state.isBusy))}>
    ${state.isBusy && html`<p class="note">Loading …</p>`}
    ${state.problem && html`<p class="problem" role="alert"><${Other} text=${state.problem} most=${600} /></p>`}
    ${state.answer && children(state.answer)}
  </div>`;
}

function Table({ label, headings, rows }) {
  if (!rows.length) return html`<p class="note">There is nothing yet.</p>`;
  return html`<div class="scroll" role="region" tabindex="0" aria-label=${label}>
    <table>
      <thead><tr>${headings.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td class=${typeof cell === "number" ? "count" : ""}>${cellOf(cell)}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
}

const cellOf = (cell) => (typeof cell === "number" ? number(cell) : typeof cell === "string" ? html`<${Other} text=${cell} most=${120} />` : cell);

export function Servers() {
  const state = useAnswer("servers", {});
  return html`<section class="card" aria-labelledby="servers">
    <div class="head"><h2 id="servers">Servers</h2><button type="button" onClick=${state.again}>Look again</button></div>
    <${Shown} state=${state}>
      ${(servers) => html`<ul class="servers">
        ${servers.map(
          (each) => html`<li key=${each.name}>
            <h3><${Other} text=${each.name} /></h3>
            <p class=${each.problem === null ? "ready" : "unready"}>${each.problem === null ? "Ready" : html`Unavailable: <${Other} text=${each.problem} most=${300} />`}</p>
            <p class="note">${each.transport}${each.version ? `, protocol ${each.version}` : ""}, ${number(each.tools)} tools, ${number(each.projectable)} with declared fields</p>
            ${each.notes.map((note) => html`<p class="problem"><${Other} text=${note} most=${300} /></p>`)}
          </li>`,
        )}
      </ul>`}
    </${Shown}>
  </section>`;
}

export function As({ policies }) {
  const servers = Object.keys(policies);
  const [server, setServer] = useState(servers[0]);
  const [tool, setTool] = useState(policies[servers[0]][0] ?? "");
  const [who, setWho] = useState("nobody");
  const [query, setQuery] = useState(null);
  const state = useAnswer("explain", query);
  const show = (event) => {
    event.preventDefault();
    setQuery({ server, tool, as: who });
  };
  return html`<section class="card" aria-labelledby="as">
    <h2 id="as">As another caller</h2>
    <form class="row" onSubmit=${show}>
      <label>Server
        <select value=${server} onChange=${(event) => setServer(event.currentTarget.value)}>
          ${servers.map((each) => html`<option value=${each}>${shown(each)}</option>`)}
        </select>
      </label>
      <label>Tool <input list="policed" value=${tool} onInput=${(event) => setTool(event.currentTarget.value)} required /></label>
      <datalist id="policed">${(policies[server] ?? []).map((each) => html`<option value=${each}></option>`)}</datalist>
      <label>Caller <input value=${who} onInput=${(event) => setWho(event.currentTarget.value)} aria-describedby="who-hint" required /></label>
      <button type="submit" class="primary">Show</button>
    </form>
    <p class="hint" id="who-hint">nobody, or for example role:support,scope:orders:read,client:desk</p>
    <${Shown} state=${state}>
      ${(answer) => html`<${Fates} ...${answer} />`}
    </${Shown}>
  </section>`;
}

const UNSEEN = ["dropped", "hidden"];

function Fates({ rule, fields, schema }) {
  const root = declaredFields((fields ?? []).map(({ steps, is }) => ({ steps, type: is })));
  const off = new Set(leavesOf(root).filter((row) => UNSEEN.some((fate) => row.kinds.has(fate))));
  return html`<p>${rule === null ? "The tool is hidden from this caller: no rule matches." : html`By rule <${Other} text=${rule} />.`}</p>
    ${fields === null
      ? html`<p class="note">The tool declares no output schema: of its JSON the same fields are seen, of its text nothing.</p>`
      : html`<${Tree} key=${schema} root=${root} off=${off} disabled label="Fields" />`}
    ${schema !== null && html`<details><summary>Schema that this caller is listed</summary><pre tabindex="0">${JSON.stringify(schema, null, 2)}</pre></details>`}`;
}

const DAYS = { "": "All", 1: "Last day", 7: "Last 7 days", 30: "Last 30 days" };

function Choices({ choices, by, setBy, days, setDays }) {
  return html`<div class="row">
    <label>By
      <select value=${by} onChange=${(event) => setBy(event.currentTarget.value)}>
        ${choices.map((each) => html`<option value=${each}>${each}</option>`)}
      </select>
    </label>
    <label>Since
      <select value=${days} onChange=${(event) => setDays(event.currentTarget.value)}>
        ${["", "1", "7", "30"].map((each) => html`<option value=${each}>${DAYS[each]}</option>`)}
      </select>
    </label>
  </div>`;
}

const SUMS = { calls: "Calls", savedNothing: "Saved nothing", wholeTokens: "Tokens whole", sentTokens: "Sent", savedTokens: "Saved" };

export function Saved() {
  const [by, setBy] = useState("tool");
  const [days, setDays] = useState("");
  const state = useAnswer("saved", days ? { by, days } : { by });
  return html`<section class="card" aria-labelledby="saved">
    <h2 id="saved">Savings</h2>
    <${Choices} choices=${["tool", "server", "view", "day"]} ...${{ by, setBy, days, setDays }} />
    <${Shown} state=${state}>
      ${({ total, rows, days }) => html`<p><strong>${number(total.savedTokens)}</strong> of ${number(total.wholeTokens)} tokens (est.) in ${number(total.calls)} calls</p>
        <${Days} days=${days} />
        <${Table} label="Savings, row by row" headings=${rows.length ? headingsOf(rows[0]) : []} rows=${rows.map((row) => keysOf(row).map((key) => row[key]))} />`}
    </${Shown}>
  </section>`;
}

const keysOf = (row) => Object.keys(row).filter((key) => key in SUMS || typeof row[key] === "string");
const headingsOf = (row) => keysOf(row).map((key) => SUMS[key] ?? key[0].toUpperCase() + key.slice(1));

// A bar for each day; what they show stands in the table too.
function Days({ days }) {
  const most = Math.max(...days.map((each) => each.savedTokens), 1);
  if (days.length < 2) return null;
  return html`<svg class="days" role="img" aria-label="Saved tokens by day" viewBox=${`0 0 ${days.length * 12} 64`} preserveAspectRatio="none">
    ${days.map((each, place) => {
      const height = (64 * Math.max(0, each.savedTokens)) / most;
      return html`<rect x=${place * 12 + 1} y=${64 - height} width="10" height=${height}><title>${`${each.day}: ${number(each.savedTokens)}`}</title></rect>`;
    })}
  </svg>`;
}

export function Audit() {
  const [by, setBy] = useState("field");
  const [days, setDays] = useState("");
  const state = useAnswer("audit", days ? { by, days } : { by });
  return html`<section class="card" aria-labelledby="audit">
    <h2 id="audit">Audit</h2>
    <${Choices} choices=${["field", "tool", "principal"]} ...${{ by, setBy, days, setDays }} />
    <${Shown} state=${state}>
      ${(rows) => html`<${Table} label="Records" headings=${Object.keys(rows[0] ?? {})} rows=${rows.map((row) => Object.values(row))} />`}
    </${Shown}>
  </section>`;
}
