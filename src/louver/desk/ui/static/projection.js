// Ticks as a projection, and what it keeps of an answer, in bytes.

import { leavesOf } from "./fields.js";

const ALL = { isAll: true };
const NULL_BYTES = 4;
const MAX_LEVELS = 64;

// The request for the ticks: `off` has the leaves without one. Null if everything is kept; no fields: nothing is.
export function requested(root, off, mode) {
  if (off.size === 0) return null;
  const rows = mode === "include" ? rowsWith(root, (leaf) => !off.has(leaf)) : rowsWith(root, (leaf) => off.has(leaf));
  const fields = rows.map((row) => row.text);
  return { projection: { mode, fields }, rows };
}

// The fewest rows whose leaves are all chosen.
function rowsWith(root, isChosen) {
  const count = new Map();
  const counted = (row) => {
    const chosen = row.below.length ? row.below.reduce((sum, each) => sum + counted(each), 0) : Number(isChosen(row));
    const most = row.below.length ? row.below.reduce((sum, each) => sum + count.get(each)[1], 0) : 1;
    count.set(row, [chosen, most]);
    return chosen;
  };
  counted(root);
  const chosen = (row) => {
    const [some, most] = count.get(row);
    return some === 0 ? [] : some === most && row.above ? [row] : row.below.flatMap(chosen);
  };
  return chosen(root);
}

// Whether a row is ticked: "true", "false" or "mixed".
export function tickOf(row, off) {
  const leaves = leavesOf(row);
  const without = leaves.filter((leaf) => off.has(leaf)).length;
  return without === 0 ? "true" : without === leaves.length ? "false" : "mixed";
}

// The bytes that a projection of rows keeps. Wildcards, views and `always` are the gateway's to apply.
export function bytesKept(node, mode, rows) {
  const mask = maskOf(rows);
  if (mode === "include" && isMissing(node, mask, 0)) return NULL_BYTES;
  return mode === "include" ? included(node, mask, 0) : excluded(node, mask);
}

function maskOf(rows) {
  const root = { names: new Map() };
  for (const { steps } of rows) {
    let at = root;
    for (const step of steps.slice(0, -1)) {
      if (!at.names.has(step)) at.names.set(step, { names: new Map() });
      at = at.names.get(step);
    }
    at.names.set(steps.at(-1), ALL);
  }
  return root;
}

// As the gateway's: a field that is looked for in a scalar is missing, which in an array leaves null.
function isMissing(node, mask, level) {
  if (mask.isAll || node.kind === "null" || node.kind === "object") return false;
  return node.kind !== "array" || level === MAX_LEVELS;
}

function included(node, mask, level) {
  if (mask.isAll || node.kind === "null") return node.bytes;
  const parts = [];
  if (node.kind === "array") {
    for (const each of node.values) {
      parts.push(isMissing(each, mask, level + 1) ? NULL_BYTES : included(each, mask, level + 1));
    }
  } else {
    node.names.forEach((name, index) => {
      const below = mask.names.get(name);
      if (below === undefined || isMissing(node.values[index], below, 0)) return;
      parts.push(node.nameBytes[index] + 1 + included(node.values[index], below, 0));
    });
  }
  return joined(parts);
}

function excluded(node, mask) {
  if (node.kind === "array") return joined(node.values.map((each) => excluded(each, mask)));
  if (node.kind !== "object") return node.bytes;
  const parts = [];
  node.names.forEach((name, index) => {
    const below = mask.names.get(name);
    if (below === ALL) return;
    const value = node.values[index];
    parts.push(node.nameBytes[index] + 1 + (below === undefined ? value.bytes : excluded(value, below)));
  });
  return joined(parts);
}

function joined(parts) {
  return parts.reduce((sum, part) => sum + part, 2 + Math.max(0, parts.length - 1));
}
