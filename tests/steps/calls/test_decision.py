"""What is decided once for a tool and the words of a request."""

from collections import Counter

import pytest

import louver
from louver.catalogue.entry import Entry
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.errors import UnknownField
from louver.steps.calls.decision import decide, decided
from louver.steps.calls.planning import Planning
from louver.steps.calls.request import ProjectionRequest, RequestOptions
from steps.profiles import SCHEMA, VIEWS, lowlevel, structured, text, tool
from steps.wire import NEW, PROGRAM, attached

pytestmark = pytest.mark.anyio

NAME = {"mode": "include", "fields": ["name"]}
ARGUMENTS = {"type": "object", "properties": {"output_fields": {"type": "string"}}}


@pytest.fixture
def counted(monkeypatch):
    """How often requests are read and checked."""
    counts = Counter()
    for of, name in ((RequestOptions, "read"), (Planning, "check")):
        real = getattr(of, name)

        def counting(*args, real=real, name=name):
            counts[name] += 1
            return real(*args)

        monkeypatch.setattr(of, name, counting)
    return counts


@pytest.mark.parametrize(
    ("arguments", "meta"),
    [
        ({}, {"projection": NAME}),
        ({"output_fields": "nmae, name"}, {}),
        ({}, {"projection": {"mode": "view", "view": "minimal", "schema": "none"}}),
    ],
)
async def test_the_same_words_are_read_and_checked_once(counted, arguments, meta):
    """And answered alike, whatever the tool's own arguments are."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(VIEWS)))
    async with attached(made.server, NEW, extensions=PROGRAM, argument=True) as wire:
        answers = [await wire.call("t", {**arguments, "user_id": number}, **meta) for number in range(3)]
    assert counted == {"read": 1, "check": 1}
    assert [calls["user_id"] for _, calls in made.calls] == [0, 1, 2]
    assert answers == answers[:1] * 3


async def test_other_words_and_other_tools_are_decided_anew():
    """Also the same words as the argument of one tool and a plain argument of the other, and with no default view."""
    asked = [
        {"projection": NAME},
        {"projection": {**NAME, "schema": "none"}},
        {"dev.louver/projection": NAME},
        {"projection": {**NAME, "required": True}},
        {"projection": {"mode": "exclude", "fields": ["name"]}},
        {},
        {"compact": False},
    ]
    tools = {"t": tool(SCHEMA, meta=louver.hint(VIEWS)), "u": tool(SCHEMA, meta=louver.hint(VIEWS), input=ARGUMENTS)}
    made, defaults = lowlevel(**tools), {"t": "minimal"}
    async with attached(made.server, NEW, extensions=PROGRAM, argument=True, default_views=defaults) as wire:
        rounds = [
            [await wire.call(name, {"output_fields": "email"} if not meta else {}, **meta) for meta in asked]
            for name in ("t", "u", "t", "u")
        ]
        default = [await wire.call("t") for _ in range(2)]
    assert rounds[:2] == rounds[2:]
    kept = [[sorted(answer["structuredContent"]) for answer in each] for each in rounds[:2]]
    rest = sorted({*SCHEMA["properties"]} - {"name"})
    assert kept[0] == [*[["name"]] * 4, rest, ["email"], sorted(SCHEMA["properties"])]
    assert kept[1][5] == sorted(SCHEMA["properties"])
    keys = [[key for key in answer["_meta"] if key.endswith("projection")] for answer in rounds[0][:3]]
    assert keys == [["projection"], ["projection"], ["dev.louver/projection"]]
    assert ["projectedSchema" in answer["_meta"].get("projection", {}) for answer in rounds[0][:2]] == [True, False]
    assert [sorted(answer["structuredContent"]) for answer in default] == [["id", "name"]] * 2


async def test_what_was_decided_holds_for_the_tool_as_it_was_listed():
    """A tool that has changed has other fields; an answer that does not fit is looked up, and told with its schema."""
    made = lowlevel(t=tool({"type": "object", "properties": {"id": {"type": "integer"}}}, structured({"id": 1})))
    async with attached(made.server, NEW, extensions=PROGRAM) as wire:
        before = [await wire.call("t", projection={"mode": "include", "fields": ["id"]}) for _ in range(2)]
        made.tools["t"] = tool({"type": "object", "properties": {"id": {"type": "string"}}}, structured({"id": "a"}))
        after = [await wire.call("t", projection={"mode": "include", "fields": ["id"]}) for _ in range(2)]
    types = [
        answer["_meta"]["projection"]["projectedSchema"]["properties"]["id"]["type"] for answer in (*before, *after)
    ]
    assert types == ["integer", "integer", "string", "string"]


async def test_an_answer_that_is_no_structured_content_is_decided_by_itself():
    """And so is an error, between two calls that are projected."""
    answers = [structured({"id": 1, "a": 2}), text('{"id": 1, "b": 2}'), {**text("no"), "isError": True}]
    made = lowlevel(t=tool({"type": "object", "properties": {"id": {}}}, lambda _: answers[len(made.calls) % 3 - 1]))
    async with attached(made.server, NEW, extensions=PROGRAM) as wire:
        found = [await wire.call("t", projection={"mode": "include", "fields": ["id"]}) for _ in range(6)]
    assert found[:3] == found[3:]
    receipts = [answer["_meta"]["projection"] for answer in found[:3]]
    assert [receipt.get("schemaSource") for receipt in receipts] == [None, "inferred", None]
    assert receipts[2] == {"applied": False, "reason": "error_result"}


def test_a_refusal_is_no_decision_and_long_words_weigh():
    entry = Entry({"name": "t", "inputSchema": {}, "outputSchema": SCHEMA}, Views())
    wrong = ProjectionRequest(Projection(include=["nmae"]), "argument")
    with pytest.raises(UnknownField):
        decide(entry, wrong, "wrong")
    right = ProjectionRequest(Projection(include=["name"]), "_meta")
    short, long = decide(entry, right, "short"), decide(entry, right, "long" * 100_000)
    assert long.nodes - short.nodes == 2000
    assert (decided(entry, "wrong"), decided(entry, "short")) == (None, short)


def test_whoever_changes_a_receipt_changes_no_other():
    entry = Entry({"name": "t", "inputSchema": {}, "outputSchema": SCHEMA}, Views())
    decision = decide(entry, ProjectionRequest(Projection(include=["name"]), "_meta"), "")
    first = decision.receipt(partial=True, is_brief=False)
    first["fields"].append("email")
    first["projectedSchema"].clear()
    del first["mode"]
    again = decision.receipt(partial=True, is_brief=False)
    assert (again["fields"], again["mode"], again["projectedSchema"]["type"]) == (["name"], "include", "object")
