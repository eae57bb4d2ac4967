"""What the page adds up is what the gateway sends, byte for byte, whatever is ticked."""

import json
import random
import re

import httpx2
import pytest

from desk.ui.conftest import call
from gateway.served import stateless
from louver.core.json import compact, parse
from louver.core.preview.field_sizes import size_of
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection

NAMES = ["a", "b", "a.b", "`", "é", "*", "/x", "$", "[0]", "\u202e", '"', "\\", "😀", "__proto__", ""]
SCALARS = [
    None,
    True,
    False,
    0,
    -1,
    12345678901234567890,
    1.5,
    1e-7,
    1e22,
    1.0,
    "",
    "é",
    "😀",
    '"\\\n\t\x01/',
    "x" * 50,
]

PICK = """async ([texts, picks]) => {
  const { scan } = await import("/ui/spans.js");
  const { fieldsOf, leavesOf } = await import("/ui/fields.js");
  const { requested, bytesKept } = await import("/ui/projection.js");
  return texts.map((text, index) => {
    const node = scan(text);
    const root = fieldsOf(node);
    const leaves = root.below.length ? leavesOf(root) : [];
    const off = new Set(leaves.filter((_, at) => picks[index][at % picks[index].length]));
    return ["include", "exclude"].map((mode) => {
      const request = requested(root, off, mode);
      if (!request || !request.rows.length) return { bytes: node.bytes };
      return { ...request.projection, bytes: node.bytes, kept: bytesKept(node, mode, request.rows) };
    });
  });
}"""


def value(chance, depth=4):
    kind = chance.random()
    if depth == 0 or kind < 0.3:
        return chance.choice(SCALARS)
    if kind < 0.6:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {name: value(chance, depth - 1) for name in chance.sample(NAMES, chance.randrange(5))}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 12))])
def test_it_adds_up_what_the_core_keeps(tab, page_url, seed):
    """Issue 42: what the page adds up equals the bytes on the wire."""
    chance = random.Random(seed)
    values = [value(chance) for _ in range(300)]
    picks = [[chance.random() < 0.5 for _ in range(7)] for _ in values]
    tab.goto(page_url)
    found = tab.evaluate(PICK, [[compact(each) for each in values], picks])
    compared = 0
    for each, both in zip(values, found, strict=True):
        for picked in both:
            assert picked["bytes"] == size_of(each)
            if "mode" in picked:
                plan = compile_projection(Projection(**{picked["mode"]: picked["fields"]}))
                assert picked["kept"] == size_of(plan(each)), (each, picked)
                compared += 1
    assert compared > 200


OUTPUT = """async (text) => {
  const { outputOf } = await import("/ui/output.js");
  const result = { content: [{ type: "text", text }] };
  const output = outputOf(result, JSON.stringify(result), null);
  return [output.text, output.node.bytes];
}"""


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_json_that_a_tool_has_indented_is_read(tab, page_url, indent):
    """Ours: in a host, text comes as its tool has written it; this once ran for ever."""
    rows = [{"a b": 'x: "y", \\', "n": [1, 2.0]}, {}, []]
    tab.goto(page_url)
    assert tab.evaluate(OUTPUT, json.dumps(rows, indent=indent) + "\n") == [compact(rows), len(compact(rows))]


def sent(url, tool, projection):
    """The size of structured content on the wire."""
    base, _, token = url.partition("/ui#token=")
    meta = {"dev.louver/projection": projection}
    request = stateless("tools/call", name=tool, arguments={})
    request["json"]["params"]["_meta"].update(meta)
    request["headers"]["authorization"] = f"Bearer {token}"
    text = httpx2.post(f"{base}/mcp", **request).text
    result = parse(text)["result"]
    [found] = re.findall(r'"structuredContent":(.*?)(?=,"(?:_meta|resultType|content|isError)"|\}\}$)', text)
    assert parse(found) == result["structuredContent"]
    return len(found.encode())


@pytest.mark.parametrize("mode", ["include", "exclude"])
def test_the_sentence_says_the_bytes_on_the_wire_for_every_tick(tab, page_url, mode):
    """Issue 42."""
    call(tab, page_url, "mixed")
    if mode == "exclude":
        tab.get_by_label("Exclude what is not").check()
    boxes = tab.locator(".tree tbody input")
    for at in range(boxes.count()):
        boxes.nth(at).click()
        request = json.loads(tab.locator("details:has(summary:text-is('In _meta')) pre").text_content())
        kept = tab.locator(".sentence").text_content().split(" of ")[0].replace(",", "")
        if request["dev.louver/projection"]["fields"]:
            assert int(kept) == sent(page_url, "mixed", request["dev.louver/projection"])
        boxes.nth(at).click()


def test_views_and_wildcards_are_counted_by_the_gateway(tab, page_url):
    """Ours: names that are data have one row, `*`."""
    call(tab, page_url, "map")
    tab.get_by_role("checkbox", name="y", exact=True).click()
    projection = {"mode": "include", "fields": ["by.*.x"]}
    expected = f"{sent(page_url, 'map', projection):,} of "
    tab.locator(".sentence", has_text=expected).wait_for()
    shown = tab.locator("details:has(summary:text-is('In _meta')) pre").text_content()
    assert json.loads(shown) == {"dev.louver/projection": projection}


REDRAWN = """async () => {
  const box = document.querySelector(".tree tbody tr:nth-child(2) input");
  const before = document.querySelector(".sentence").textContent;
  let changes = 0;
  const seen = new MutationObserver((records) => { changes += records.length; });
  seen.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  box.click();
  while (document.querySelector(".sentence").textContent === before) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  seen.disconnect();
  return changes;
}"""


def test_after_a_tick_of_a_large_answer_little_is_drawn_anew(tab, page_url):
    """Issue 42: of 1 MB only what the tick has changed."""
    call(tab, page_url, "large")
    whole = tab.locator(".sentence").text_content().split(" of ")[1].split(" ")[0].replace(",", "")
    assert int(whole) > 1_000_000
    changes = [tab.evaluate(REDRAWN) for _ in range(3)]
    assert 0 < min(changes) <= max(changes) < 30
