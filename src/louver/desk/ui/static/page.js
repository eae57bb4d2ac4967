// The page: its token, its navigation by the fragment of the address, and the part that is shown.

import { html, render, useEffect, useState } from "./preact.js";
import { ask, listTools, setToken, takeToken } from "./mcp.js";
import { As, Audit, Saved, Servers } from "./reports.js";
import { Other } from "./tree.js";
import { Try } from "./try.js";

function App() {
  const [hasToken, setHasToken] = useState(takeToken() !== null);
  const [about, setAbout] = useState(null);
  const [tools, setTools] = useState(null);
  const [problem, setProblem] = useState("");
  const [place, setPlace] = useState(location.hash.slice(2));
  const [costs, setCosts] = useState(new Map());

  useEffect(() => {
    const onPlace = () => {
      if (takeToken() !== null) setHasToken(true);
      setPlace(location.hash.slice(2));
    };
    const onRefused = () => setHasToken(false);
    addEventListener("hashchange", onPlace);
    addEventListener("token-refused", onRefused);
    return () => (removeEventListener("hashchange", onPlace), removeEventListener("token-refused", onRefused));
  }, []);

  useEffect(() => {
    if (!hasToken) return;
    setProblem("");
    const fail = (error) => setProblem(error.message);
    ask("about").then((found) => {
      setAbout(found);
      if (found.saved) ask("saved", { by: "tool" }).then(({ rows }) => setCosts(costsOf(rows)), fail);
    }, fail);
    listTools().then(setTools, fail);
  }, [hasToken]);
  const onSaved = about?.operator ? () => listTools().then(setTools, (error) => setProblem(error.message)) : undefined;

  if (!hasToken) return html`<main><${Token} onToken=${() => setHasToken(true)} /></main>`;
  const pages = pagesOf(about);
  const current = pages.find((each) => each.place === place) ?? pages[0];
  return html`<header>
      <h1><img src="/ui/icon.svg" alt="" width="24" height="24" /> Louver</h1>
      <nav aria-label="Pages">
        ${pages.map((each) => html`<a key=${each.place} href=${`#/${each.place}`} aria-current=${each === current ? "page" : null}>${each.title}</a>`)}
      </nav>
    </header>
    <main>
      <div role="alert">${problem && html`<p class="problem"><${Other} text=${problem} most=${600} /></p>`}</div>
      ${about && (current.place || tools) ? current.draw({ tools, costs, onSaved }) : !problem && html`<p class="note">Loading …</p>`}
    </main>`;
}

function pagesOf(about) {
  const pages = [{ place: "", title: "Try", draw: (given) => html`<${Try} ...${given} argument=${about.argument} />` }];
  if (!about?.operator) return pages;
  pages.push({ place: "servers", title: "Servers", draw: () => html`<${Servers} />` });
  if (Object.keys(about.policies).length) pages.push({ place: "as", title: "See as", draw: () => html`<${As} policies=${about.policies} />` });
  if (about.saved) pages.push({ place: "saved", title: "Savings", draw: () => html`<${Saved} />` });
  if (about.audit) pages.push({ place: "audit", title: "Audit", draw: () => html`<${Audit} />` });
  return pages;
}

// Tokens of an answer on average, by the name of the tool, with its server's or alone.
function costsOf(rows) {
  const costs = new Map();
  for (const { server, tool, calls, wholeTokens } of rows) {
    if (!calls) continue;
    costs.set(tool, Math.round(wholeTokens / calls)).set(`${server}__${tool}`, Math.round(wholeTokens / calls));
  }
  return costs;
}

function Token({ onToken }) {
  const [text, setText] = useState("");
  const use = (event) => {
    event.preventDefault();
    setToken(text.trim());
    onToken();
  };
  return html`<section class="card narrow" aria-labelledby="token">
    <h1><img src="/ui/icon.svg" alt="" width="24" height="24" /> Louver</h1>
    ${"signIn" in document.body.dataset && html`<p><button class="primary" onClick=${() => location.assign("/ui/sign-in")}>Sign in</button></p>`}
    <h2 id="token">Bearer token</h2>
    <p>The same that MCP clients of this gateway send. It stays in this tab.</p>
    <form onSubmit=${use}>
      <label for="bearer">Token</label>
      <input id="bearer" type="password" autocomplete="off" value=${text} onInput=${(event) => setText(event.currentTarget.value)} required />
      <div class="actions"><button type="submit" class="primary">Continue</button></div>
    </form>
  </section>`;
}

render(html`<${App} />`, document.body);
