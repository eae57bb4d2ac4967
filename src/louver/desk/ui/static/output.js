// Where a tool's output is in its result: structured content, or JSON text in it or in the one text block.

import { member, scan } from "./spans.js";

const WRAPPERS = ["result", "content"];

// The output's JSON text with its spans; null if there is none. `spans` are those of the result in `text`, and `resultOf`
// makes the JSON text of a result from one of the output, in the same place.
export function outputOf(result, text, spans) {
  const structured = result.structuredContent;
  if (structured === undefined || structured === null) {
    const texts = (result.content ?? []).filter((block) => block.type === "text");
    const resultOf = (own) => `{"content":[{"type":"text","text":${JSON.stringify(own)}}]}`;
    return texts.length === 1 ? json(texts[0].text, resultOf) : null;
  }
  const names = Object.keys(structured);
  if (names.length === 1 && WRAPPERS.includes(names[0])) {
    const resultOf = (own) => `{"structuredContent":{"${names[0]}":${JSON.stringify(own)}}}`;
    const wrapped = json(structured[names[0]], resultOf);
    if (wrapped) return wrapped;
  }
  return within(text, member(spans, "structuredContent"));
}

function within(text, { from, to }) {
  const own = text.slice(from, to);
  return { text: own, node: scan(own), resultOf: (text) => `{"structuredContent":${text}}` };
}

function json(text, resultOf) {
  if (typeof text !== "string" || !/^\s*[{[]/.test(text)) return null;
  try {
    JSON.parse(text);
    const own = withoutSpace(text);
    return { text: own, node: scan(own), resultOf };
  } catch {
    return null;
  }
}

// A tool may have indented its JSON; its numbers stay as they are.
const withoutSpace = (text) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");

// What a result says in text, where it is no JSON.
export const textsOf = (result) => (result.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : []));
