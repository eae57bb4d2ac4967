"""Views that shape what is left, on the wire."""

import json

import msgspec
import pytest
from jsonschema import Draft202012Validator

import louver
from louver.core.projection.view import Views
from louver.errors import InvalidView
from louver.wire.hint import read_hint
from louver.wire.projection import Applied
from steps.profiles import build, lowlevel, structured, text, tool
from steps.wire import NEW, attached, connect

pytestmark = pytest.mark.anyio

MESSAGES = {
    "type": "object",
    "required": ["messages"],
    "properties": {
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "created", "author", "content"],
                "properties": {
                    "id": {"type": "string"},
                    "created": {"type": "string", "format": "date-time"},
                    "author": {"type": "object", "required": ["email"], "properties": {"email": {"type": "string"}}},
                    "content": {"type": "string"},
                },
            },
        }
    },
}
MESSAGE = {
    "id": "abc123",
    "created": "2025-01-05T14:32:05.882Z",
    "author": {"email": "jdoe@example.com"},
    "content": "Hello",
}
VALUE = {"messages": [MESSAGE, {**MESSAGE, "content": "Bye"}]}
COMPACT = {
    "select": {
        "ts": {"path": "created", "format": "minute"},
        "from": {"path": "author.email", "format": "localpart"},
        "content": "content",
    },
    "at": "messages",
    "maxItems": 1,
}
SHAPED = {"messages": [{"ts": "2025-01-05T14:32", "from": "jdoe", "content": "Hello"}]}
STRING = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
ASKED = {"mode": "view", "view": "compact"}


VIEWS = {"t": {"compact": COMPACT}}


async def test_an_answer_is_shaped_and_says_so(era):
    """001 pattern 4; both channels hold the shaped value, and the receipt tells what was done to it."""
    made = lowlevel(t=tool(MESSAGES, structured(VALUE), meta=louver.hint({"compact": COMPACT})))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=ASKED)
    assert answer["structuredContent"] == SHAPED
    assert [json.loads(block["text"]) for block in answer["content"]] == [SHAPED]
    receipt = answer["_meta"]["projection"]
    assert (receipt["fields"], receipt["view"], receipt["partial"]) == (["*"], "compact", True)
    assert receipt["shaped"] == COMPACT
    msgspec.convert(receipt, Applied)
    projected = Draft202012Validator(receipt["projectedSchema"])
    assert projected.is_valid(SHAPED)
    assert not projected.is_valid(VALUE)


async def test_the_default_view_can_shape_and_the_whole_answer_stays_a_request_away(era):
    """001 pattern 4: compact by default, full where ids are needed."""
    made = lowlevel(t=tool(MESSAGES, structured(VALUE)))
    async with attached(made.server, era, views=VIEWS, default_views={"t": "compact"}) as wire:
        assert (await wire.call("t"))["structuredContent"] == SHAPED
        whole = await wire.call("t", projection={"mode": "include", "fields": ["*"]})
    assert whole["structuredContent"] == VALUE
    assert "shaped" not in whole["_meta"]["projection"]


async def test_the_listed_schema_accepts_the_shaped_answer_and_the_full_one(era):
    """WIRE.md, "Listing": stock clients hold every answer against it; the hint tells the view whole."""
    made = lowlevel(t=tool(MESSAGES, structured(VALUE)))
    async with attached(made.server, era, views=VIEWS) as wire:
        listed = (await wire.tools())["t"]
    assert listed["outputSchema"]["type"] == "object"
    for value in (VALUE, SHAPED, {"messages": []}):
        assert Draft202012Validator(listed["outputSchema"]).is_valid(value)
    assert not Draft202012Validator(listed["outputSchema"]).is_valid({"messages": [{"id": 1}]})
    hint = listed["_meta"]["dev.louver/projectionHint"]
    assert hint["views"] == VIEWS["t"]
    assert "recommendedViews" not in hint
    assert read_hint(listed["_meta"])[0] == Views.read(VIEWS["t"])


@pytest.mark.parametrize(
    ("output", "result"),
    [
        (None, structured(VALUE)),
        (None, text(json.dumps(VALUE))),
        (STRING, structured({"result": json.dumps(VALUE)})),
    ],
    ids=["structured", "text", "wrapped text"],
)
async def test_an_answer_of_which_nothing_is_declared_is_shaped_too(era, output, result):
    """Ours: its schema is that of the shaped value alone."""
    made = lowlevel(t=tool(output, result))
    async with attached(made.server, era, views=VIEWS) as wire:
        answer = await wire.call("t", projection=ASKED)
    (block,) = answer["content"]
    assert json.loads(block["text"]) == SHAPED
    receipt = answer["_meta"]["projection"]
    assert (receipt["schemaSource"], receipt["shaped"]) == ("inferred", COMPACT)
    told = receipt["projectedSchema"]
    told = told["properties"]["result"]["contentSchema"] if output else told
    assert Draft202012Validator(told).is_valid(SHAPED)
    assert not Draft202012Validator(told).is_valid(VALUE)


async def test_a_shaped_view_that_its_tool_cannot_have_keeps_the_server_from_starting():
    """Ours: as any view."""
    made = build("MCPServer")
    louver.attach(made.server, views={"get_profile": {"compact": {"select": {"who": "nmae"}}}})
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - the transport wraps it in a group
        async with connect(made.server, NEW):
            pass
    assert raised.group_contains(InvalidView, match=r"view 'compact' selects 'nmae'.*did you mean 'name'")
