// The fields of an answer as a tree of ticks: a treegrid, by mouse, by keys, and for screen readers.

import { html, useState } from "./preact.js";
import { leavesOf, tokens } from "./fields.js";
import { tickOf } from "./projection.js";

const SHOWN = 60; // characters of a name or a value
const OPEN_ROWS = 60; // that are open at first
const MOST_ROWS = 300; // that are drawn

export const number = (value) => value.toLocaleString("en");

export function shown(text, most = SHOWN) {
  const characters = Array.from(text.slice(0, 4 * most));
  return characters.length > most || text.length > 4 * most ? `${characters.slice(0, most).join("")}…` : text;
}

// A name or a value of somebody else: text alone, with its own direction.
export const Other = ({ text, most }) => html`<bdi dir="auto">${shown(text, most)}</bdi>`;

export function openAtFirst(root) {
  const open = new Set([root]);
  let rows = root.below.length;
  for (let level = root.below; level.length; level = level.flatMap((row) => row.below)) {
    for (const row of level) {
      if (!row.below.length || rows + row.below.length > OPEN_ROWS) continue;
      rows += row.below.length;
      open.add(row);
    }
  }
  return open;
}

export function Tree({ root, text, off, setOff, label, disabled }) {
  const [open, setOpen] = useState(() => openAtFirst(root));
  const rows = [];
  const collect = (row, level) => {
    for (const below of [...row.below].sort((one, other) => other.bytes - one.bytes)) {
      rows.push({ row: below, level });
      if (open.has(below)) collect(below, level + 1);
    }
  };
  collect(root, 1);

  const setTick = (row, isOn) => {
    const leaves = leavesOf(row);
    const next = new Set(off);
    for (const leaf of leaves) isOn ? next.delete(leaf) : next.add(leaf);
    setOff(next);
  };
  const setOpened = (row, isOpen) => {
    const next = new Set(open);
    isOpen ? next.add(row) : next.delete(row);
    setOpen(next);
  };
  const onKeyDown = (event) => {
    const lines = [...event.currentTarget.querySelectorAll("tbody input")];
    const at = lines.indexOf(event.target);
    if (at < 0) return;
    const { row } = rows[at];
    const above = rows.findIndex((each) => each.row === row.above);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 };
    if (event.key in moves) lines[moves[event.key]]?.focus();
    else if (event.key === "ArrowRight" && row.below.length) open.has(row) ? lines[at + 1]?.focus() : setOpened(row, true);
    else if (event.key === "ArrowLeft") open.has(row) ? setOpened(row, false) : lines[above]?.focus();
    else return;
    event.preventDefault();
  };

  return html`<table class="tree" role="treegrid" aria-label=${label} onKeyDown=${onKeyDown}>
    <thead>
      <tr>
        <th scope="col">Field</th>
        ${text !== undefined &&
        html`<th scope="col" class="wide">First value</th>
          <th scope="col" class="count">Bytes</th>
          <th scope="col" class="count">Tokens</th>
          <th scope="col" class="wide">Share</th>`}
      </tr>
    </thead>
    <tbody>
      ${rows.slice(0, MOST_ROWS).map(
        ({ row, level }) => html`<${Row}
          key=${row.text}
          ...${{ row, level, text, disabled }}
          share=${row.bytes / root.bytes}
          tick=${tickOf(row, off)}
          isOpen=${open.has(row)}
          onTick=${(isOn) => setTick(row, isOn)}
          onOpen=${() => setOpened(row, !open.has(row))}
        />`,
      )}
    </tbody>
  </table>
  ${rows.length > MOST_ROWS && html`<p class="note">${number(rows.length - MOST_ROWS)} more fields are not drawn.</p>`}`;
}

function Row({ row, level, text, share, tick, isOpen, onTick, onOpen, disabled }) {
  const isParent = row.below.length > 0;
  const percent = Math.round(share * 100);
  return html`<tr
    aria-level=${level}
    aria-expanded=${isParent ? String(isOpen) : null}
    class=${tick === "false" ? "off" : ""}
  >
    <td class="level-${Math.min(level, 6)}">
      <span class="field">
        ${isParent
          ? html`<button
              type="button"
              class="open"
              tabindex=${disabled ? "0" : "-1"}
              aria-label=${`${isOpen ? "Close" : "Open"} ${shown(row.text)}`}
              onClick=${onOpen}
            >
              ${isOpen ? "▾" : "▸"}
            </button>`
          : html`<span class="open"></span>`}
        <span class="name"><label>
          <input
            type="checkbox"
            checked=${tick === "true"}
            indeterminate=${tick === "mixed"}
            disabled=${disabled}
            onChange=${(event) => onTick(event.currentTarget.checked)}
          />
          <code><${Other} text=${row.name} /></code>
        </label>
        <small>${[...row.kinds].sort().join(", ")}${row.seen < row.of ? ` in ${number(row.seen)} of ${number(row.of)}` : ""}</small></span>
      </span>
    </td>
    ${text !== undefined &&
    html`<td class="wide value"><${Other} text=${firstValue(text, row.first)} /></td>
      <td class="count">${number(row.bytes)}</td>
      <td class="count">${number(tokens(row.bytes))}</td>
      <td class="wide"><meter min="0" max="100" value=${percent} aria-label=${`${percent} % of the answer`}></meter></td>`}
  </tr>`;
}

function firstValue(text, { kind, from, to }) {
  return kind === "object" || kind === "array" ? "" : text.slice(from, Math.min(to, from + 4 * SHOWN));
}
