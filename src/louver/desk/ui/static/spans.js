// A JSON text as a tree of spans: where each value stands, and how many bytes it has.
//
//   scan('{"a":[1,"é"]}')    {kind: "object", from: 0, to: 13, bytes: 14, names: ["a"], nameBytes: [3], values: [...]}
//
// The text is the gateway's own: compact, and strictly JSON. So bytes that are added up here are bytes on the wire.

const ENDS = new Set([",", "]", "}", undefined]);

export function scan(text) {
  let at = 0;

  function string() {
    const from = at;
    let end = text.indexOf('"', at + 1);
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
    at = end + 1;
    return { kind: "string", from, to: at, bytes: bytesOf(text, from, at) };
  }

  function scalar() {
    const from = at;
    while (!ENDS.has(text[at])) at++;
    return { kind: KINDS[text[from]] ?? "number", from, to: at, bytes: at - from };
  }

  function container(kind, close) {
    const node = { kind, from: at++, to: 0, bytes: 2, names: [], nameBytes: [], values: [] };
    while (text[at] !== close) {
      if (text[at] === ",") at++, node.bytes++;
      if (kind === "object") {
        const name = string();
        node.names.push(JSON.parse(text.slice(name.from, name.to)));
        node.nameBytes.push(name.bytes);
        node.bytes += name.bytes + 1;
        at++;
      }
      const below = value();
      node.values.push(below);
      node.bytes += below.bytes;
    }
    node.to = ++at;
    return node;
  }

  function value() {
    if (text[at] === "{") return container("object", "}");
    if (text[at] === "[") return container("array", "]");
    return text[at] === '"' ? string() : scalar();
  }

  return value();
}

const KINDS = { n: "null", t: "boolean", f: "boolean" };

function isEscaped(text, quote) {
  let slashes = 0;
  while (text[quote - 1 - slashes] === "\\") slashes++;
  return slashes % 2 === 1;
}

// In UTF-8; a pair of surrogates has four bytes.
export function bytesOf(text, from = 0, to = text.length) {
  let bytes = to - from;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
}

// The member of an object's span, by its name.
export function member(node, name) {
  return node?.kind === "object" ? node.values[node.names.indexOf(name)] : undefined;
}
