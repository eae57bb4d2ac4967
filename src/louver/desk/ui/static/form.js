// A form for a tool's arguments, from its input schema; what has no simple field is written as JSON.

import { html } from "./preact.js";
import { Other, number, shown } from "./tree.js";

const LARGE = "large"; // fields for JSON

// The name of the argument by which a model projects this tool's answers: the gateway adds it last.
export function argumentOf(schema, argument) {
  const names = Object.keys(schema?.properties ?? {});
  return names.findLast((name) => isProjection(name, schema.properties[name], argument)) ?? argument;
}

function isProjection(name, property, argument) {
  const [base, number] = [name.slice(0, argument.length), name.slice(argument.length)];
  return base === argument && /^(_[0-9]+)?$/.test(number) && String(property?.description).startsWith("Return only ");
}

export function fieldsFor(schema, argument) {
  const required = new Set(list(schema?.required));
  return Object.entries(schema?.properties ?? {})
    .filter(([name, property]) => !isProjection(name, property, argument))
    .map(([name, property]) => ({ name, property: Object(property), required: required.has(name), kind: kindOf(property) }))
    .sort((one, other) => other.required - one.required);
}

// A server may send any schema.
const list = (value) => (Array.isArray(value) ? value : []);

function kindOf(property) {
  if (Array.isArray(property?.enum) && property.enum.every((each) => typeof each === "string")) return "choice";
  const types = [property?.type ?? []].flat().filter((type) => type !== "null");
  const some = list(property?.anyOf).map((each) => each?.type).filter((type) => type !== "null");
  const only = types.length === 1 ? types[0] : types.length === 0 && some.length === 1 ? some[0] : null;
  return ["string", "integer", "number", "boolean"].includes(only) ? only : LARGE;
}

// The arguments that the texts of the form stand for; it throws what is wrong.
export function argumentsFrom(fields, texts) {
  const found = [];
  for (const { name, kind, required } of fields) {
    const text = textOf(texts, name);
    if (text === "" && !(required && kind === "string")) {
      if (required) throw new Error(`${shown(name)}: expected a value`);
      continue;
    }
    found.push([name, kind === "string" || kind === "choice" ? text : parsed(name, text)]);
  }
  // An assignment to `__proto__` would set none.
  return Object.fromEntries(found);
}

// An argument can have the name of a property of every object, such as `constructor`.
const textOf = (texts, name) => (Object.hasOwn(texts, name) ? texts[name] : "");

export function parsed(name, text) {
  let isExact = true;
  let value;
  try {
    value = JSON.parse(text, (_, each, context) => {
      const isInteger = typeof each === "number" && /^-?\d+$/.test(context?.source ?? String(each));
      isExact &&= !isInteger || Number.isSafeInteger(each);
      return each;
    });
  } catch {
    throw new Error(`${shown(name)}: expected JSON`);
  }
  if (!isExact) throw new Error(`${shown(name)}: expected no integer beyond ±${number(Number.MAX_SAFE_INTEGER)}, which a browser would round`);
  return value;
}

export function Form({ fields, texts, setTexts }) {
  if (!fields.length) return html`<p class="note">It takes no arguments.</p>`;
  return html`<div class="arguments">${fields.map(({ name, property, required, kind }, index) => {
    const id = `argument-${index}`;
    const set = (event) => setTexts({ ...texts, [name]: event.currentTarget.value });
    const hint = typeof property.description === "string" ? property.description : "";
    const common = { id, value: textOf(texts, name), onInput: set, "aria-describedby": hint ? `${id}-hint` : null, required };
    return html`<div class="argument" key=${name}>
      <label for=${id}><${Other} text=${name} />${required ? "" : html` <small>optional</small>`}</label>
      ${kind === "choice" || kind === "boolean"
        ? html`<select ...${common}>
            <option value="">–</option>
            ${(kind === "choice" ? property.enum : ["true", "false"]).map(
              (each) => html`<option value=${each} selected=${each === textOf(texts, name)}>${shown(each)}</option>`,
            )}
          </select>`
        : kind === LARGE
          ? html`<textarea rows="2" spellcheck="false" placeholder="JSON" ...${common}></textarea>`
          : html`<input
              type=${kind === "string" ? "text" : "number"}
              step=${kind === "number" ? "any" : null}
              autocomplete="off"
              dir="auto"
              ...${common}
            />`}
      ${hint && html`<small id=${`${id}-hint`} class="hint"><${Other} text=${hint} most=${200} /></small>`}
    </div>`;
  })}</div>`;
}
