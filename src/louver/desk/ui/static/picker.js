// Ticks on an answer: its size, what remains of it, the request that says so, and the tree.

import { html, useMemo, useState } from "./preact.js";
import { fieldsOf, leavesOf, tokens } from "./fields.js";
import { bytesKept, requested } from "./projection.js";
import { Other, Tree, number, shown } from "./tree.js";

// What the ticks stand for, on the fields of an output {text, node}, or on declared ones.
export function useTicks(output, declared) {
  const root = useMemo(() => declared ?? fieldsOf(output.node), [output, declared]);
  const [off, setOff] = useState(new Set());
  const [mode, setMode] = useState("include");
  const [view, setView] = useState("");
  const request = useMemo(() => requested(root, off, mode), [root, off, mode]);
  const isEmpty = view === "" && request !== null && request.projection.fields.length === 0;
  const projection = view !== "" ? { mode: "view", view } : isEmpty ? null : (request?.projection ?? null);
  const isExact = view === "" && (request?.rows ?? []).every((row) => !row.steps.includes(null));
  const kept = useMemo(() => {
    if (!output) return 0;
    return request === null || isEmpty ? output.node.bytes : bytesKept(output.node, mode, request.rows);
  }, [output, request, mode, isEmpty]);
  return { root, off, setOff, mode, setMode, view, setView, projection, isEmpty, isExact, kept };
}

// The form that saves a view stands far below the ticks; without one, what can be copied does.
function showUse() {
  (document.getElementById("use") ?? document.getElementById("copy")).scrollIntoView();
}

export function Saving({ whole, kept, isEmpty, canUse }) {
  const saved = whole === 0 ? 0 : 1 - kept / whole;
  // Not 100 as long as something is left.
  const percent = Math.abs(saved) > 0.99 ? Math.trunc(saved * 1000) / 10 : Math.round(saved * 100);
  const sentence = isEmpty
    ? "Tick at least one field."
    : `${number(kept)} of ${number(whole)} bytes: ${percent < 0 ? `${-percent} % more` : `${percent} % saved`}.`;
  return html`<div class="saving">
    <div class="figures" aria-hidden="true">
      <span><b>${number(whole)}</b> bytes, about ${number(tokens(whole))} tokens</span>
      <span class="arrow">→</span>
      <span><b>${number(kept)}</b> bytes, about ${number(tokens(kept))} tokens</span>
      <span class="percent">${percent > 0 ? "−" : percent < 0 ? "+" : ""}${Math.abs(percent)} %</span>
    </div>
    <progress max=${whole} value=${kept} aria-label="Share that is kept"></progress>
    <div class="head">
      <output class="sentence" aria-live="polite">${sentence}</output>
      ${canUse && html`<button type="button" onClick=${showUse}>Save or copy</button>`}
    </div>
  </div>`;
}

const HEAVY = 0.2; // of an answer, from which a field is named

// The heaviest field that is still ticked, with a button that leaves it out, and takes that back.
export function Heaviest({ ticks }) {
  const { root, off, setOff, view } = ticks;
  const [last, setLast] = useState(null);
  const leaves = leavesOf(root).filter((row) => !off.has(row));
  const [heaviest] = [...leaves].sort((one, other) => other.bytes - one.bytes);
  const isHeavy = leaves.length > 1 && heaviest.bytes >= HEAVY * root.bytes;
  // The row stays where it is: a second click must not meet what moved up.
  const field = isHeavy ? heaviest : off.has(last) ? last : null;
  if (view !== "" || field === null) return null;
  const toggle = () => {
    setLast(field);
    setOff(new Set(isHeavy ? [...off, field] : [...off].filter((row) => row !== field)));
  };
  return html`<p class="row">
    <span><code><${Other} text=${field.text} /></code> is ${isHeavy ? `${Math.round((100 * field.bytes) / root.bytes)} %` : "left out"}.</span>
    <button type="button" onClick=${toggle}>${isHeavy ? "Leave it out" : "Put it back"}</button>
  </p>`;
}

export function Picker({ ticks, output, views = [] }) {
  const { off, setOff, mode, setMode, view, setView, root } = ticks;
  return html`<div class="choices" role="group" aria-label="Projection">
      <label><input type="radio" name="mode" checked=${view === "" && mode === "include"} onChange=${() => (setView(""), setMode("include"))} /> Include what is ticked</label>
      <label><input type="radio" name="mode" checked=${view === "" && mode === "exclude"} onChange=${() => (setView(""), setMode("exclude"))} /> Exclude what is not</label>
      ${views.length > 0 &&
      html`<label class="view">View
        <select value=${view} onChange=${(event) => setView(event.currentTarget.value)}>
          <option value="">none: the ticks</option>
          ${views.map((name) => html`<option value=${name} selected=${name === view}>${shown(name)}</option>`)}
        </select>
      </label>`}
      <span class="all">
        <button type="button" onClick=${() => (setView(""), setOff(new Set()))}>All</button>
        <button type="button" onClick=${() => (setView(""), setOff(new Set(leavesOf(root))))}>None</button>
      </span>
    </div>
    ${view === "" && html`<p class="note">Fields that the server adds later ${mode === "include" ? "are left out" : "come too"}.</p>`}
    ${root.below.length > 0
      ? html`<${Tree} root=${root} text=${output?.text} off=${off} setOff=${setOff} disabled=${view !== ""} label="Fields" />`
      : html`<p class="note">There are no fields.</p>`}`;
}
