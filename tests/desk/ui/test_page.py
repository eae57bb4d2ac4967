"""The page in Chromium: with keys, on a narrow screen, with hostile servers, without its token."""

import ast
import json
import os
import re
import subprocess
import sys

import httpx2
import pytest

from desk.ui.conftest import call, open_tool, opened_tab, operated, shown
from fixtures.shown import BIDI, SCRIPT
from gateway.served import config, fixture, stateless
from louver.core.json import compact
from stock.run import node_packages

AXE = '{"private": true, "dependencies": {"axe-core": "^4.11.0"}}'
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture(scope="module")
def operator_url(tmp_path_factory):
    """The page of a gateway with a policy and an audit that has a record."""
    with operated(tmp_path_factory.mktemp("policed")) as (base, token):
        request = stateless("tools/call", name="find", arguments={})
        request["headers"]["authorization"] = f"Bearer {token}"
        assert httpx2.post(f"{base}/mcp", **request).json()["result"]["structuredContent"]["total"] == 3
        yield f"{base}/ui#token={token}"


def copied(page, title):
    return page.locator(f"details:has(summary:text-is('{title}')) pre").text_content()


def test_the_token_leaves_the_address_and_stays_in_the_tab(tab, page_url):
    """Ours: an address is copied, kept in the history, and shown to others."""
    tab.goto(page_url)
    tab.get_by_role("heading", name="Tools").wait_for()
    assert tab.url == page_url.partition("#")[0]
    tab.reload()
    tab.get_by_role("heading", name="Tools").wait_for()


def test_without_the_token_there_is_just_the_question_for_it(chromium, page_url):
    """Issue 42: the page without a token."""
    address, _, token = page_url.partition("#token=")
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address)
    page.get_by_label("Token", exact=True).fill("guessed")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Token", exact=True).wait_for()
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="Tools").wait_for()
    context.close()


def test_a_tick_changes_the_request_the_saving_and_the_schema(tab, page_url):
    """Issue 42, C."""
    call(tab, page_url, "rows")
    sentence = tab.locator("output")
    assert sentence.text_content() == "61 of 61 bytes: 0 % saved."
    assert sentence.get_attribute("aria-live") == "polite"
    tab.get_by_role("checkbox", name="note", exact=True).uncheck()
    assert sentence.text_content() == "38 of 61 bytes: 38 % saved."
    assert tab.get_by_role("checkbox", name="rows", exact=True).evaluate("box => box.indeterminate")
    tab.locator("details", has_text="Receipt").get_by_text('"applied": true').wait_for()
    assert copied(tab, "What is kept") == '{"total":2,"rows":[{"id":1},{"id":2}]}'
    schema = json.loads(copied(tab, "Derived schema"))
    assert list(schema["properties"]["rows"]["items"]["properties"]) == ["id"]
    assert json.loads(copied(tab, "In output_fields")) == {"output_fields": ["total", "rows.id"]}
    tab.get_by_label("Exclude what is not").check()
    assert json.loads(copied(tab, "In output_fields")) == {"output_fields": {"exclude": ["rows.note"]}}
    assert json.loads(copied(tab, "View file"))["views"] == {"compact": {"exclude": ["rows.note"]}}


def test_no_tick_at_all_is_no_request(tab, page_url):
    """Ours: an include names at least one field."""
    call(tab, page_url, "rows")
    tab.get_by_role("button", name="None").click()
    assert tab.locator("output").text_content() == "Tick at least one field."
    assert tab.locator(".details").count() == 0


def test_the_heaviest_field_is_named_and_left_out(tab, page_url):
    """Step 24: one click."""
    call(tab, page_url, "rows")
    assert tab.get_by_text("rows.note is 34 %.").is_visible()
    tab.get_by_role("button", name="Leave it out").click()
    assert tab.locator("output").text_content() == "38 of 61 bytes: 38 % saved."
    tab.get_by_role("button", name="Put it back").click()
    assert tab.locator("output").text_content() == "61 of 61 bytes: 0 % saved."


def test_calls_are_remembered_and_each_message_is_shown_as_it_came(tab, page_url):
    """Step 24: a call is made ready to be made again; nothing runs by itself."""
    open_tool(tab, page_url, "text")
    tab.get_by_label("words").fill("two words")
    tab.get_by_role("button", name="Call", exact=True).click()
    tab.get_by_role("heading", name="Answer").wait_for()
    tab.get_by_text("Message as it came").click()
    assert json.loads(copied(tab, "Message as it came"))["result"]["content"][0]["type"] == "text"
    tab.get_by_role("button", name="prose").first.click()
    tab.get_by_text("Calls", exact=True).click()
    tab.get_by_role("button", name='{"words":"two words"}').click()
    assert json.loads(tab.get_by_label("Arguments as JSON").input_value()) == {"words": "two words"}
    assert tab.get_by_role("heading", name="Answer").count() == 0
    tab.get_by_role("button", name="Call", exact=True).click()
    tab.get_by_role("heading", name="Answer").wait_for()


def test_what_is_picked_is_saved_as_a_view_and_used_at_once(tab, tmp_path, monkeypatch):
    """Step 24: the change is shown before it is written, and a call by the view has the bytes that were shown."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "views").mkdir()
    with shown(*config(tmp_path, {"it": fixture("shown", views="views")})) as served:
        call(tab, served.url, "rows")
        tab.get_by_role("checkbox", name="note", exact=True).uncheck()
        tab.get_by_label("Name", exact=True).fill("brief")
        tab.get_by_label("The default, for calls that name no fields").check()
        tab.get_by_role("button", name="Show the change").click()
        tab.get_by_text('+    "brief": {').wait_for()
        assert list((tmp_path / "views").iterdir()) == []
        tab.get_by_role("button", name="Save", exact=True).click()
        tab.get_by_text("Saved. A model asks for it by view:brief.").wait_for()
        file = json.loads((tmp_path / "views" / "rows.views.json").read_text())
        assert (file["default"], file["views"]) == ("brief", {"brief": {"include": ["rows.id", "total"]}})
        tab.locator("label.view select").select_option("brief")
        tab.get_by_text("38 of 61 bytes: 38 % saved.").wait_for()
        base, token = served.url.split("/ui#token=")
        asked = stateless("tools/call", name="rows", arguments={})
        asked["headers"]["authorization"] = f"Bearer {token}"
        result = httpx2.post(f"{base}/mcp", **asked).json()["result"]
        assert compact(result["structuredContent"]) == '{"total":2,"rows":[{"id":1},{"id":2}]}'
        assert len(compact(result["structuredContent"])) == 38


def test_a_tool_is_checked_without_a_call(tab, page_url):
    """Issue 42, C: the schema is derived from the declared one."""
    calls = []
    tab.on("request", lambda request: calls.append(request.headers.get("mcp-method")))
    open_tool(tab, page_url, "rows")
    tab.get_by_role("button", name="Check without calling").click()
    tab.get_by_role("checkbox", name="note", exact=True).uncheck()
    tab.locator("details", has_text="Receipt").get_by_text('"applied": true').wait_for()
    assert "note" not in copied(tab, "Derived schema")
    assert "tools/call" not in calls


@pytest.mark.parametrize(("tool", "request_fields"), [("text", ["a"]), ("wrapped", ["a"])])
def test_json_in_text_is_ticked_as_structured_content_is(tab, page_url, tool, request_fields):
    """Ours: the same seats that the gateway projects."""
    call(tab, page_url, tool)
    tab.get_by_role("checkbox", name="b", exact=True).uncheck()
    tab.locator("details", has_text="Receipt").get_by_text('"applied": true').wait_for()
    kept = copied(tab, "What is kept")
    assert tab.locator("output").text_content().startswith(f"{len(kept)} of ")
    assert json.loads(copied(tab, "In _meta"))["dev.louver/projection"]["fields"] == request_fields


def test_what_a_tool_says_without_fields_is_shown_as_text(tab, page_url):
    """Ours."""
    open_tool(tab, page_url, "prose")
    tab.get_by_role("button", name="Call", exact=True).click()
    assert tab.locator("section:has(h2:text-is('Text')) pre").text_content() == f"{SCRIPT} {BIDI}"
    open_tool(tab, page_url, "fails")
    assert tab.get_by_text("It may change things").is_visible()
    tab.get_by_role("button", name="Call", exact=True).click()
    assert tab.locator("section:has(h2:text-is('The tool fails')) pre").text_content() == "no such row"


def test_arguments_are_a_form_or_json(tab, page_url):
    """Issue 42, C."""
    open_tool(tab, page_url, "rows")
    sent = []
    tab.on(
        "request", lambda request: sent.append(json.loads(request.post_data)) if request.url.endswith("/mcp") else None
    )
    tab.get_by_label("words").fill("two words")
    tab.get_by_label("some").fill("[1,")
    tab.get_by_role("button", name="Call", exact=True).click()
    assert tab.get_by_role("alert").filter(has_text="some: expected JSON").is_visible()
    tab.get_by_label("some").fill("[1]")
    tab.get_by_role("button", name="Raw JSON").click()
    assert json.loads(tab.get_by_label("Arguments as JSON").input_value()) == {"words": "two words", "some": [1]}
    tab.get_by_label("Arguments as JSON").fill('{"words": "three"}')
    tab.get_by_role("button", name="Call", exact=True).click()
    tab.get_by_role("heading", name="Answer").wait_for()
    assert [each["params"]["arguments"] for each in sent if each["method"] == "tools/call"] == [{"words": "three"}]


ARGUMENTS = """async (given) => {
  const [properties, texts, more = {}] = JSON.parse(given);
  const { argumentsFrom, fieldsFor } = await import("/ui/form.js");
  try {
    return JSON.stringify(argumentsFrom(fieldsFor({ properties, ...more }, "output_fields"), texts));
  } catch (error) {
    return error.message;
  }
}"""


@pytest.mark.parametrize(
    ("schema", "texts", "expected"),
    [
        ({"id": {"type": "integer"}}, {"id": "9007199254740993"}, "id: expected no integer beyond"),
        ({"ids": {"type": "array"}}, {"ids": "[-12345678901234567890123]"}, "ids: expected no integer beyond"),
        ({"id": {"type": "integer"}}, {"id": "9007199254740991"}, '{"id":9007199254740991}'),
        ({"x": {"type": "number"}}, {"x": "1e22"}, '{"x":1e+22}'),
        ({"constructor": {"type": "integer"}}, {}, "{}"),
        ({"__proto__": {"type": "string"}}, {"__proto__": "x"}, '{"__proto__":"x"}'),
    ],
)
def test_arguments_are_what_was_written(tab, page_url, schema, texts, expected):
    """Ours: no other number, and nothing that every object has."""
    tab.goto(page_url)
    assert tab.evaluate(ARGUMENTS, json.dumps([schema, texts])).startswith(expected)


@pytest.mark.parametrize("schema", [{"required": 5}, {"required": {"a": 1}}, {"properties": {"a": {"anyOf": 5}}}])
def test_a_malformed_schema_has_a_form(tab, page_url, schema):
    """Ours: the page opens each tool."""
    tab.goto(page_url)
    assert tab.evaluate(ARGUMENTS, json.dumps([{"a": {"type": "string"}}, {}, schema])) == "{}"


COPIES = """async ([tool, args]) => {
  const { copies } = await import("/ui/copies.js");
  return copies(tool, args, { mode: "include", fields: [tool.name] }, "output_fields", location.origin);
}"""
HOSTILE = {
    "a header of its own": ("n\nX-Own: 1", "=?base64?bgpYLU93bjogMQ=="),
    "the end of a paste": ("n\x1b[201~\n", "=?base64?"),
    "a line read backwards": (BIDI + "\u200b\x9b\x7f", "=?base64?"),
    "words of a shell": ("n'; $(id) `id` \"", "n'; $(id) `id` \""),
    "other letters": ("é😀", "=?base64?w6nwn5iA?="),
}


@pytest.mark.parametrize(("name", "header"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_copied_is_safe_to_paste(tab, page_url, name, header):
    """Ours: a shell gets one command, and all that it has is seen."""
    tab.goto(page_url)
    properties = {
        "a": {"x-mcp-header": "Region"},
        "b": {"x-mcp-header": "B\nX-Own"},
        "constructor": {"x-mcp-header": "C"},
    }
    tool = {"name": name, "inputSchema": {"properties": properties}}
    found = tab.evaluate(COPIES, [tool, {"a": name, "b": name}])
    assert not [each for text in found.values() for each in text if not (each.isprintable() or each == "\n")]
    words = subprocess.run(
        ["bash", "-c", f"curl() {{ printf '%s\\0' \"$@\"; }}\n{found['curl']}"], capture_output=True, text=True
    )
    *options, body, _ = words.stdout.split("\0")
    assert json.loads(body)["params"]["name"] == name
    sent = [
        each for each in options if each.lower().startswith("mcp-") and "Method" not in each and "Proto" not in each
    ]
    assert [each.partition(": ")[0] for each in sent] == ["Mcp-Name", "mcp-param-Region"]
    assert all(each.partition(": ")[2].startswith(header) for each in sent)
    assert repr(name) == repr(ast.literal_eval(re.search(r"call_tool\((\".*?\"), \{", found["Python"])[1]))


def test_hostile_names_texts_and_values_stay_text(tab, page_url):
    """Issue 42: script, bidi, a megabyte in one field."""
    call(tab, page_url, "hostile")
    assert tab.title() == "Louver"
    assert tab.locator("img:not([alt='']), main script").count() == 0
    for name in tab.locator("bdi").all():
        assert name.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    assert len(tab.locator("main").text_content()) < 10_000
    tab.get_by_role("checkbox", name=SCRIPT[:40]).uncheck()
    tab.get_by_role("checkbox", name="much").uncheck()
    tab.locator("details", has_text="Receipt").get_by_text('"applied": true').wait_for()
    kept = json.loads(copied(tab, "What is kept"))
    assert list(kept)[-1] == "__proto__"
    assert kept["__proto__"] == {"constructor": 1, "toString": 2}


def test_all_is_done_with_keys(tab, page_url):
    """Issue 42, C."""
    tab.goto(page_url)
    tab.get_by_role("heading", name="Tools").wait_for()
    for _ in range(40):
        tab.keyboard.press("Tab")
        focused = tab.evaluate(
            "[document.activeElement.innerText, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert focused[1] != "none"
        if focused[0].startswith("mixed"):
            break
    tab.keyboard.press("Enter")
    tab.get_by_role("button", name="Call", exact=True).focus()
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="Answer").wait_for()
    rows = tab.get_by_role("treegrid").get_by_role("row")
    tab.get_by_role("checkbox", name="rest", exact=True).focus()
    row = tab.locator("tr:has(input:focus)")
    before = rows.count()
    tab.keyboard.press("ArrowLeft")
    assert row.get_attribute("aria-expanded") == "false"
    assert rows.count() < before
    tab.keyboard.press("ArrowRight")
    assert (row.get_attribute("aria-expanded"), rows.count()) == ("true", before)
    tab.keyboard.press("ArrowRight")
    assert row.get_attribute("aria-level") == "2"
    tab.keyboard.press("Space")
    assert tab.locator("tr.off").count() >= 1
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    assert row.get_attribute("aria-level") == "1"
    tab.keyboard.press("End")
    assert tab.evaluate("document.activeElement === [...document.querySelectorAll('tbody input')].at(-1)")


def test_320_pixels_are_enough(chromium, page_url):
    """Issue 42: the page does not scroll sideways."""
    with opened_tab(chromium, viewport={"width": 320, "height": 640}) as page:
        for tool in ("hostile", "mixed"):
            call(page, page_url, tool)
            page.get_by_role("checkbox").nth(1).uncheck()
            page.locator("details", has_text="Receipt").get_by_text('"applied": true').wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_the_operator_sees_servers_roles_and_the_audit(tab, operator_url):
    """Issue 42, C: *Servers*, *See as*, *Savings*, *Audit*."""
    tab.goto(operator_url)
    tab.get_by_role("link", name="Servers").click()
    tab.locator(".servers li").get_by_text("Ready").wait_for()
    tab.get_by_role("link", name="See as", exact=True).click()
    tab.get_by_role("textbox", name="Caller").fill("role:support")
    tab.get_by_role("button", name="Show").click()
    tab.get_by_text("By rule support.").wait_for()
    assert tab.get_by_role("row", name="mail dropped").count() == 1
    assert tab.get_by_role("row", name="login seen").count() == 1
    tab.get_by_role("link", name="Savings").click()
    tab.get_by_role("row", name="tracker list_issues 8 0 6,000 400 5,600").wait_for()
    tab.get_by_role("combobox", name="By").select_option("day")
    tab.get_by_role("row", name=re.compile("2026-11-02 6 ")).wait_for()
    tab.get_by_role("link", name="Audit").click()
    tab.get_by_role("row", name=re.compile(r"records find rows\.\*\.id 1 ")).wait_for()
    tab.get_by_label("By").select_option("principal")
    tab.get_by_role("columnheader", name="principal").wait_for()


def test_a_policy_holds_for_the_page_too(tab, operator_url):
    """Ours: calls are the caller's own."""
    call(tab, operator_url, "find")
    assert tab.get_by_role("checkbox", name="owner").count() == 0
    assert tab.get_by_role("checkbox", name="name", exact=True).count() == 1


@pytest.mark.deep
@pytest.mark.parametrize("form", ["curl", "Python"])
def test_what_is_copied_runs(tab, page_url, form):
    """Issue 42, C: copy as curl, as Python."""
    call(tab, page_url, "rows")
    tab.get_by_role("checkbox", name="note", exact=True).uncheck()
    words = ["bash", "-c"] if form == "curl" else [sys.executable, "-c"]
    token = page_url.partition("#token=")[2]
    done = subprocess.run(
        [*words, copied(tab, form)], env={**os.environ, "TOKEN": token}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.sub(r"\s", "", done.stdout.replace("'", '"')).count('{"total":2,"rows":[{"id":1},{"id":2}]}') == 1


@pytest.mark.deep
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(chromium, page_url, operator_url, scheme, width):
    """Issue 42: axe without findings, on each page."""
    _, home = node_packages(AXE)
    axe = (home / "node_modules" / "axe-core" / "axe.min.js").read_text()

    def findings(page):
        page.evaluate(axe)
        found = page.evaluate("rules => axe.run(document, rules)", RULES)["violations"]
        return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]

    with opened_tab(chromium, color_scheme=scheme, viewport={"width": width, "height": 900}) as page:
        page.goto(page_url.partition("#")[0])
        page.get_by_label("Token", exact=True).wait_for()
        assert findings(page) == []
        for tool in ("rows", "hostile"):
            call(page, page_url, tool)
            page.get_by_role("checkbox").first.uncheck()
            page.locator("details", has_text="Receipt").get_by_text('"applied": true').wait_for()
            assert findings(page) == []
        open_tool(page, page_url, "rows")
        page.get_by_role("button", name="Check without calling").click()
        page.get_by_role("heading", name="Declared fields").wait_for()
        assert findings(page) == []
        page.goto(operator_url)
        for place in ("Servers", "See as", "Savings", "Audit"):
            page.get_by_role("link", name=place, exact=True).click()
            if place == "See as":
                page.get_by_role("button", name="Show").click()
            page.get_by_role("main").locator("table, .servers").first.wait_for()
            assert findings(page) == []
