// The fields of an answer: one row for each path, arrays looked through as field paths do.
//
//   {"items": [{"id": 1}, {"id": 2, "x": null}]}    items: array, in 1 of 1;  items.id: in 2 of 2;  items.x: in 1 of 2

const MAX_NAMES = 256; // of one place; with more, the names are data: one row `*`
const MAX_LEVELS = 64; // of arrays directly in one another
const MAX_DEPTH = 12; // of names; deeper fields only count as part of their parent
const MAX_ROWS = 2000;
const BYTES_A_TOKEN = 3.5;

export const tokens = (bytes) => Math.round(bytes / BYTES_A_TOKEN);

// The root row, whose `below` are the fields; each row knows its parent.
export function fieldsOf(node) {
  const root = { steps: [], text: "*", kinds: new Set([node.kind]), bytes: node.bytes, below: [], above: null };
  let rows = 0;

  function fill(row, nodes) {
    const objects = nodes.flatMap((each) => objectsIn(each, 0));
    const found = new Map();
    const isMap = new Set(objects.flatMap((each) => each.names)).size > MAX_NAMES;
    for (const object of objects) {
      object.names.forEach((name, index) => {
        const step = isMap ? null : name;
        if (!found.has(step)) found.set(step, { values: [], bytes: 0 });
        const field = found.get(step);
        field.values.push(object.values[index]);
        field.bytes += object.nameBytes[index] + 1 + object.values[index].bytes;
      });
    }
    for (const [step, field] of found) {
      if (rows++ >= MAX_ROWS) return;
      const steps = [...row.steps, step];
      const below = {
        steps,
        text: pathText(steps),
        name: step ?? "*",
        kinds: new Set(field.values.map((each) => each.kind)),
        bytes: field.bytes,
        seen: field.values.length,
        of: isMap ? field.values.length : objects.length,
        first: field.values[0],
        below: [],
        above: row,
      };
      row.below.push(below);
      if (steps.length < MAX_DEPTH) fill(below, field.values);
    }
  }

  fill(root, [node]);
  return root;
}

// The same of a declared schema: no sizes, no values.
export function declaredFields(members) {
  const root = { steps: [], text: "*", kinds: new Set(), bytes: 0, below: [], above: null };
  const byPath = new Map([["[]", root]]);
  for (const { steps, type } of members) {
    const above = byPath.get(JSON.stringify(steps.slice(0, -1)));
    if (above === undefined) continue;
    const kinds = new Set([type]);
    const row = { steps, text: pathText(steps), name: steps.at(-1) ?? "*", kinds, bytes: 0, seen: 1, of: 1, below: [], above };
    above.below.push(row);
    byPath.set(JSON.stringify(steps), row);
  }
  return root;
}

function objectsIn(node, level) {
  if (node.kind === "object") return [node];
  if (node.kind !== "array" || level === MAX_LEVELS) return [];
  return node.values.flatMap((each) => objectsIn(each, level + 1));
}

export function leavesOf(row) {
  return row.below.length ? row.below.flatMap(leavesOf) : [row];
}

// A path in its canonical text: quoted only where it must be.
export function pathText(steps) {
  const text = steps.map((step) => (step === null ? "*" : quoted(step))).join(".");
  const first = steps[0];
  const isOther = first !== null && (first.startsWith("/") || first === "$");
  return isOther && quoted(first) === first ? `\`${first}\`${text.slice(first.length)}` : text;
}

function quoted(name) {
  return /^[^.[\]*`\0]+$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}
