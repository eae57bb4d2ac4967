"""The picker as an MCP App: who is listed it, and that it works in a host that speaks the bridge."""

import json

import httpx2
import pytest

from desk.ui.conftest import opened_tab
from fixtures.forking import PYTHON
from gateway.raw import HANDSHAKE
from gateway.served import FIXTURES, serving, stateless
from louver.desk.picker_app import EXTENSION, MEDIA_TYPE, URI

APPS = {"extensions": {EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
HOST = """<!doctype html><title>host</title><iframe sandbox="allow-scripts" width="900" height="900"></iframe><script>
const frame = document.querySelector("iframe");
const seen = (window.seen = []);
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
addEventListener("message", async ({ data }) => {
  seen.push(data);
  if (data.method === "ui/initialize") {
    const hostContext = { theme: "dark", toolInfo: { tool: window.tool } };
    const hostCapabilities = { serverTools: {}, updateModelContext: {} };
    const hostInfo = { name: "host", version: "1" };
    post({ id: data.id, result: { protocolVersion: "2026-01-26", hostInfo, hostCapabilities, hostContext } });
  } else if (data.method === "ui/notifications/initialized") {
    post({ method: "ui/notifications/tool-input", params: { arguments: {} } });
    post({ method: "ui/notifications/tool-result", params: window.first });
  } else if (data.method === "tools/call") {
    post({ id: data.id, result: await window.callTool(data.params) });
  } else if (data.id !== undefined) {
    post({ id: data.id, result: {} });
  }
});
</script>"""


class Session:
    """Requests of 2025-11-25; their responses as text."""

    def __init__(self, http, url):
        self.http, self.url, self.headers = http, url, {"accept": "application/json, text/event-stream"}

    def ask(self, method, params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        found = self.http.post(self.url, json=message, headers=self.headers)
        self.headers |= {name: found.headers[name] for name in ["mcp-session-id"] if name in found.headers}
        return found.text


def ask(url, capabilities, method, **params):
    request = stateless(method, **params)
    request["json"]["params"]["_meta"][CAPABILITIES] = capabilities
    if "uri" in params:
        request["headers"]["mcp-name"] = params["uri"]
    found = httpx2.post(url, **request).json()
    return found.get("result", found)


@pytest.fixture(scope="module")
def url():
    with serving("--", PYTHON, str(FIXTURES / "shown.py")) as served:
        yield served.url


def test_just_clients_that_show_apps_are_listed_it(url):
    """Issue 42, D: nothing changes for clients that do not declare it."""
    plain, shown = ask(url, {}, "tools/list"), ask(url, APPS, "tools/list")
    assert URI not in json.dumps(plain)
    named = [tool["name"] for tool in shown["tools"] if (tool.get("_meta") or {}).get("ui") == {"resourceUri": URI}]
    assert named == ["rows"]
    for tool in shown["tools"]:
        (tool.get("_meta") or {}).pop("ui", None)
    assert shown["tools"] == plain["tools"]
    others = {"extensions": {EXTENSION: {"mimeTypes": ["text/html"]}}}
    assert ask(url, others, "tools/list")["tools"] == plain["tools"]
    assert "code" in ask(url, {}, "resources/read", uri=URI)["error"]
    assert EXTENSION not in json.dumps(ask(url, {}, "server/discover")["capabilities"])
    assert ask(url, APPS, "server/discover")["capabilities"]["resources"] == {}


def test_a_client_of_2025_declares_apps_once(url):
    """Issue 42, D: by `initialize`."""
    tools = {}
    for capabilities in ({}, APPS):
        with httpx2.Client() as http:
            opening = {"protocolVersion": HANDSHAKE, "clientInfo": {"name": "t", "version": "1"}}
            client = Session(http, url)
            client.ask("initialize", {**opening, "capabilities": capabilities})
            tools[len(capabilities)] = client.ask("tools/list", {})
    assert URI not in tools[0]
    assert URI in tools[1]


def test_it_is_one_document_that_loads_nothing(url):
    """Issue 42, D: its Content-Security-Policy is the host's, which admits what is inline."""
    [content] = ask(url, APPS, "resources/read", uri=URI)["contents"]
    assert (content["uri"], content["mimeType"]) == (URI, MEDIA_TYPE)
    text = content["text"]
    assert text.count("<script") == text.count("</script") == 1
    for word in ("import ", "export ", "src=", "http:", "https:", "@import", "url("):
        assert word not in text.replace("http://www.w3.org/", ""), word


def test_a_tool_with_an_app_of_its_own_keeps_it(tmp_path):
    """Ours."""
    own = {"ui": {"resourceUri": "ui://own/chart"}}
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in "abcd"}}
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema, "_meta": own}
    answers = json.dumps({"tools/list": {"tools": [tool]}})
    with serving("--", PYTHON, str(FIXTURES / "saying.py"), answers) as served:
        [listed] = ask(served.url, APPS, "tools/list")["tools"]
    assert listed["_meta"]["ui"] == own["ui"]


def test_a_person_ticks_fields_beside_the_conversation(chromium, url):
    """Issue 42, D: in a sandboxed frame, under the policy that the specification has as the default."""
    [content] = ask(url, APPS, "resources/read", uri=URI)["contents"]
    [tool] = [tool for tool in ask(url, APPS, "tools/list")["tools"] if tool["name"] == "rows"]
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    document = content["text"].replace(
        "<head>", f'<head><meta http-equiv="Content-Security-Policy" content="{policy}">'
    )
    with opened_tab(chromium) as page:
        page.expose_function("callTool", lambda params: ask(url, APPS, "tools/call", **params))
        page.set_content(HOST)
        page.evaluate(
            "([tool, first]) => Object.assign(window, { tool, first })",
            [tool, ask(url, APPS, "tools/call", name="rows")],
        )
        page.evaluate("text => (document.querySelector('iframe').srcdoc = text)", document)
        app = page.frame_locator("iframe")
        app.get_by_role("checkbox", name="note", exact=True).uncheck()
        assert app.locator("output").text_content() == "38 of 61 bytes: 38 % saved."
        assert app.locator("html").evaluate("root => root.style.colorScheme") == "dark"
        app.get_by_role("button", name="Call again with these fields").click()
        app.locator("output", has_text="38 of 38 bytes").wait_for()
        seen = page.evaluate("seen")
        calls = [each["params"] for each in seen if each.get("method") == "tools/call"]
        assert calls == [{"name": "rows", "arguments": {"output_fields": ["total", "rows.id"]}}]
        [told] = [each["params"] for each in seen if each.get("method") == "ui/update-model-context"]
        assert told["structuredContent"] == {"total": 2, "rows": [{"id": 1}, {"id": 2}]}
        assert any(each.get("method") == "ui/notifications/size-changed" for each in seen)
        app.get_by_role("button", name="With all fields").click()
        app.locator("output", has_text="61 of 61 bytes").wait_for()
        app.get_by_label("Exclude what is not").check()
        app.get_by_role("checkbox", name="note", exact=True).uncheck()
        app.get_by_role("button", name="Call again with these fields").click()
        app.locator("output", has_text="38 of 38 bytes").wait_for()
