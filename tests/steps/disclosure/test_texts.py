"""Guidance and warnings beside answers."""

import json
import threading
from unittest.mock import patch

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

import louver
from louver.core.json import compact
from louver.core.paths.mask import exclude_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project
from louver.errors import InvalidGuidance
from louver.steps.calls import warnings
from steps.kept import fits
from steps.profiles import CANARY, PROFILE, SCHEMA, build, lowlevel, structured, text, tool
from steps.test_refusals import include
from steps.wire import NEW, OLD, attached, connect

pytestmark = pytest.mark.anyio

GUIDANCE, WARNINGS = "dev.louver/guidance", "dev.louver/warnings"
ROME = {
    "tool": "get_profile",
    "when": {"path": "address.city", "matches": "^Rome$"},
    "note": "Letters to this city take a week.",
    "workflow": ["Say so.", "Offer to call."],
}
BY_META = "Name the fields that you need by '_meta.projection'; or narrow the arguments."
MAIL = {"when": {"matches": "@example"}, "note": "There are addresses in it."}


def texts(answer):
    return [block["text"] for block in answer["content"] if block["type"] == "text"]


async def test_a_rule_that_fires_stands_beside_the_data(profiles, era):
    """001 pattern 3; GATEWAY.md: never inside `structuredContent`, which keeps to its schema."""
    async with attached(profiles.server, era, guidance=[ROME]) as wire:
        answer = await wire.call("get_profile")
    assert answer["structuredContent"] == PROFILE
    assert texts(answer)[-1] == "GUIDANCE: Letters to this city take a week.\n1. Say so.\n2. Offer to call."
    assert answer["_meta"][GUIDANCE] == [{"note": ROME["note"], "workflow": ROME["workflow"]}]
    fits("note", answer["_meta"][GUIDANCE][0])


async def test_where_no_rule_fires_nothing_is_there(profiles, era):
    """GATEWAY.md: "only when the rule fires"; the answer is that of the server alone."""
    other = {**ROME, "when": {"path": "address.city", "matches": "^Paris$"}}
    async with connect(profiles.server, era) as wire:
        alone = await wire.call("get_profile")
    async with attached(profiles.server, era, guidance=[other, {**ROME, "when": {"path": "nope"}}]) as wire:
        assert await wire.call("get_profile") == alone


async def test_a_rule_does_not_see_what_was_left_out(profiles, era):
    """P1: not even that something was there."""
    async with attached(profiles.server, era, guidance=[ROME, MAIL]) as wire:
        answer = await wire.call("get_profile", projection=include("name"))
        assert GUIDANCE not in answer["_meta"]
        assert texts(answer) == ['{"name":"Ann"}']
        without = {"mode": "exclude", "fields": ["**.email"]}
        assert (await wire.call("get_profile", projection=without))["_meta"][GUIDANCE] == [
            {"note": ROME["note"], "workflow": ROME["workflow"]}
        ]


@pytest.mark.parametrize(
    ("when", "fires"),
    [
        ({"matches": "^failed$"}, True),
        ({"matches": "^ok$"}, True),
        ({"matches": "^$"}, False),
        ({"matches": "^failed$", "overBytes": 11}, True),
        # As JSON "ok\nfailed" has twelve bytes.
        ({"overBytes": 11}, True),
        ({"overBytes": 12}, False),
        ({"overItems": 1}, False),
        ({"path": "*", "matches": "^failed$"}, False),
    ],
)
async def test_each_text_of_an_answer_without_json_is_looked_at(era, when, fires):
    """Ours: `matches` means one of the texts; they are no array, and all of them have their size."""
    made = lowlevel(checks=tool(None, text("ok", "failed")))
    async with attached(made.server, era, guidance=[{"when": when, "note": "Look again."}]) as wire:
        answer = await wire.call("checks")
    assert texts(answer) == ["ok", "failed", *(["GUIDANCE: Look again."] if fires else [])]


async def test_errors_and_other_tools_are_left_alone(era):
    """Ours."""
    made = lowlevel(
        get_profile=tool(SCHEMA),
        failing=tool(None, {**text("Rome @example"), "isError": True}),
        prose=tool(None, text("Ask ann@example.com.")),
    )
    rules = [ROME, MAIL, {"when": {"overBytes": 1_000_000}, "note": "never"}]
    async with attached(made.server, era, guidance=rules) as wire:
        assert texts(await wire.call("failing")) == ["Rome @example"]
        assert texts(await wire.call("prose")) == ["Ask ann@example.com.", "GUIDANCE: There are addresses in it."]


async def test_guidance_quotes_nothing(caplog):
    """P15: neither what it says nor the log holds a value."""
    made = build("Server")
    rule = {"when": {"matches": CANARY}, "note": "There it is."}
    with caplog.at_level("DEBUG", logger="louver"):
        async with attached(made.server, NEW, guidance=[rule], warnings=True) as wire:
            answer = await wire.call("get_profile")
    said = [*texts(answer)[1:], json.dumps(answer["_meta"][GUIDANCE])]
    assert said[0] == "GUIDANCE: There it is."
    assert CANARY not in json.dumps(said)
    assert CANARY not in caplog.text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("xy"),
    lambda below: st.lists(below) | st.dictionaries(st.sampled_from("abc"), below),
    max_leaves=12,
).filter(lambda value: isinstance(value, dict))
steps = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)
conditions = {"matches": st.just("x"), "overItems": st.just(0), "overBytes": st.just(9)}
rules = st.fixed_dictionaries({}, optional={"path": steps.map(".".join), **conditions}).filter(bool)


@given(values, steps, rules)
def test_what_is_said_hangs_on_what_the_client_gets_alone(value, names, when):
    """GATEWAY.md: two outputs of which the client gets the same are answered alike, byte for byte."""
    kept = project(value, exclude_mask((FieldPath(tuple(names)),)))
    made = lowlevel(more=tool({"type": "object"}, structured(value)), less=tool({"type": "object"}, structured(kept)))
    louver.attach(made.server, guidance=[{"when": when, "note": "n"}], warnings=True)
    wanted = {"mode": "exclude", "fields": [".".join(names)]}

    async def said():
        async with connect(made.server, OLD) as wire:
            more, less = [await wire.call(name, projection=wanted) for name in ("more", "less")]
        for answer in (more, less):
            del answer["_meta"]["projection"]
        return more, less

    with patch.multiple(warnings, MANY_ITEMS=1, MANY_CHARACTERS=5):
        more, less = anyio.run(said)
    assert json.dumps(more) == json.dumps(less)


async def test_a_rule_for_a_tool_that_is_not_there_keeps_a_server_from_starting():
    """Ours: as views do."""
    made = build("MCPServer")
    louver.attach(made.server, guidance=[{**ROME, "tool": "get_profil"}])
    with pytest.raises(ExceptionGroup) as refused:
        async with connect(made.server, NEW):
            pass
    assert refused.group_contains(InvalidGuidance, match="a tool 'get_profil', which the server does not have", depth=1)


ROWS = {"rows": [{"id": number, "tags": [*range(number)]} for number in range(120)], "text": "x" * 60_000}


async def test_large_answers_are_warned_of(era):
    """001 pattern 5: the largest array, and the estimate; with what to do."""
    made = lowlevel(rows=tool({"type": "object"}, structured(ROWS)))
    async with attached(made.server, era, warnings=True) as wire:
        answer = await wire.call("rows")
    items, tokens = answer["_meta"][WARNINGS]
    characters = len(json.dumps(ROWS, separators=(",", ":")))
    assert {key: items[key] for key in ("code", "path", "items", "limit")} == {
        "code": "WARNING",
        "path": "rows",
        "items": 120,
        "limit": 100,
    }
    assert (tokens["characters"], tokens["limit"]) == (characters, 50_000)
    assert tokens["code"] == "TOKEN_WARNING"
    assert tokens["tokens"] == -(-characters * 2 // 7)
    assert texts(answer)[-2:] == [f"WARNING: {items['message']}", f"TOKEN_WARNING: {tokens['message']}"]
    for warning in (items, tokens):
        fits("warning", warning)
        assert warning["message"].endswith(f". {BY_META}")
    assert answer["structuredContent"] == ROWS


async def test_what_a_projection_has_made_small_is_not_warned_of(era):
    """001: it steers to less, and less is enough; nor is more advised than is left to do."""
    made = lowlevel(rows=tool({"type": "object"}, structured(ROWS)))
    async with attached(made.server, era, warnings=True, argument=True) as wire:
        answer = await wire.call("rows", projection={"mode": "exclude", "fields": ["rows", "text"]})
        assert WARNINGS not in answer["_meta"]
        (warned,) = (await wire.call("rows", projection={"mode": "include", "fields": ["rows.id"]}))["_meta"][WARNINGS]
    assert warned["message"].endswith("more than 100. Narrow the arguments.")


@pytest.mark.parametrize(
    ("name", "options", "advice"),
    [
        ("declared", {}, "Name the fields that you need by '_meta.projection'; or narrow the arguments."),
        ("declared", {"argument": True}, "Name the fields that you need by the argument 'output_fields'; or narrow"),
        ("undeclared", {"argument": True}, "Name the fields that you need by '_meta.projection'; or narrow"),
        ("hinted", {}, "Name the fields that you need, or a view, by '_meta.projection'; or narrow the arguments."),
        ("hinted", {"listing": "strict", "extensions": {}}, "Narrow the arguments."),
        ("prose", {}, "Narrow the arguments."),
        ("numbers", {}, "Narrow the arguments."),
        ("one_text", {}, "Narrow the arguments."),
    ],
)
async def test_what_is_advised_is_possible(era, name, options, advice):
    """Ours: for this client, and of this answer; prose has no fields, and without views there is none to name."""
    plain = {"type": "object"}
    two = {"type": "object", "properties": {"rows": {"type": "array"}, "text": {"type": "string"}}}
    made = lowlevel(
        declared=tool(two, structured(ROWS)),
        undeclared=tool(None, text(json.dumps(ROWS))),
        hinted=tool(plain, structured(ROWS), meta=louver.hint(views={"brief": ["rows.id"]})),
        prose=tool(None, text("y" * 60_000)),
        numbers=tool(plain, structured({"numbers": [*range(30_000)]})),
        one_text=tool(plain, structured({"text": "y" * 60_000})),
    )
    async with attached(made.server, era, warnings=True, **options) as wire:
        warned = [block["text"] for block in (await wire.call(name))["content"] if "WARNING: " in block["text"]]
    assert warned
    for warning in warned:
        assert f". {advice}" in warning


async def test_warnings_are_off_by_default():
    """GATEWAY.md, "Transparency first"."""
    made = lowlevel(rows=tool({"type": "object"}, structured(ROWS)))
    async with attached(made.server, NEW) as wire:
        assert "content" in (answer := await wire.call("rows"))
        assert WARNINGS not in answer.get("_meta", {})


async def test_text_that_is_no_json_is_counted_too():
    """001: characters of what a model reads."""
    made = lowlevel(prose=tool(None, text("y" * 30_000, "y" * 30_000)))
    async with attached(made.server, OLD, warnings=True) as wire:
        (warned,) = (await wire.call("prose"))["_meta"][WARNINGS]
    assert warned["characters"] == 60_000


async def test_work_on_large_answers_is_done_aside(monkeypatch):
    """PRIVACY.md: the event loop does not wait for it."""
    asides = []
    run_sync = anyio.to_thread.run_sync

    async def noted(function, *arguments, **options):
        asides.append(function)
        return await run_sync(function, *arguments, **options)

    monkeypatch.setattr("louver.concurrency.offload.to_thread.run_sync", noted)
    made = lowlevel(large=tool(None, text(json.dumps({"a": 300_000 * "x"}))), small=tool(None, structured({"a": "x"})))
    async with attached(made.server, OLD, warnings=True, guidance=[MAIL]) as wire:
        await wire.call("small")
        assert asides == []
        await wire.call("large")
        assert len(asides) == 4


async def test_a_large_answer_is_not_even_measured_on_the_event_loop(monkeypatch):
    """Ours: its JSON is written in a thread."""
    threads = []

    def noted(value):
        threads.append(threading.current_thread())
        return compact(value)

    monkeypatch.setattr("louver.steps.calls.response.compact", noted)
    large, small = ({"rows": [{"id": 1, "text": size * "x"}, {"id": 2, "text": ""}]} for size in (300_000, 3))
    made = lowlevel(large=tool(None, structured(large)), small=tool(None, structured(small)))
    async with attached(made.server, NEW, results=louver.KeptResults(over_bytes=10)) as wire:
        await wire.call("small")
        assert set(threads) == {threading.main_thread()}
        threads.clear()
        await wire.call("large")
    assert threads
    assert threading.main_thread() not in threads
