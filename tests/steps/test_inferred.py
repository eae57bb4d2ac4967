"""Tools of which no schema is known: each answer's own schema is inferred, told, and forgotten."""

import json
import threading

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError

import louver
from louver.limits import MAX_ON_LOOP
from louver.steps.calls import apply
from steps.profiles import CANARY, PROFILE, SCHEMA, lowlevel, structured, text, tool
from steps.wire import attached, text_of

pytestmark = pytest.mark.anyio

NAME = {"mode": "include", "fields": ["name"]}
NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
WRAPPERS = ["result", "content"]


def receipt_of(answer):
    return answer["_meta"]["projection"]


def lone(name):
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


async def test_a_client_reads_what_it_got_of_a_tool_without_a_schema():
    """GATEWAY.md: projectable answer by answer; the schema is marked, and holds for this answer."""
    made = lowlevel(t=tool(None, text(json.dumps(PROFILE))))
    louver.attach(made.server)
    async with Client(made.server) as client:
        answer = await client.call_tool("t", {}, meta={"projection": NAME})
        receipt = answer.meta["projection"]
    assert json.loads(answer.content[0].text) == {"name": "Ann"}
    assert answer.structured_content is None
    assert receipt["schemaSource"] == "inferred"
    assert "schemaPrecision" not in receipt
    assert receipt["projectedSchema"] == {**NAMED, "additionalProperties": False}


@pytest.mark.parametrize("seat", [text(json.dumps(PROFILE)), structured(PROFILE)], ids=["text", "structured"])
@pytest.mark.parametrize(
    "wanted",
    [
        {"mode": "include", "fields": ["items.id", "address"]},
        {"mode": "exclude", "fields": ["**.email", "nextCursor"]},
        {"mode": "view", "view": "mixed"},
    ],
)
async def test_the_told_schema_admits_the_answer_and_not_the_whole(era, seat, wanted):
    """Ours: sound and tight, in every mode, wherever the output stands."""
    views = {"mixed": {"include": ["name", "address"], "exclude": ["address.zip"]}}
    made = lowlevel(t=tool(None, seat, meta=louver.hint(views)))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=wanted)
    validator = Draft202012Validator(receipt_of(answer)["projectedSchema"])
    assert receipt_of(answer)["schemaSource"] == "inferred"
    assert validator.is_valid(text_of(answer))
    assert not validator.is_valid(PROFILE)
    assert ("structuredContent" in answer) == ("structuredContent" in seat)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("prefix", [True, False])
async def test_json_in_a_string_is_projected_within_it(era, wrapper, declared, prefix):
    """GATEWAY.md: JSON inside a string of `{"result"|"content": "..."}`; paths may begin with the wrapper."""
    made = lowlevel(t=tool(lone(wrapper) if declared else None, structured({wrapper: json.dumps(PROFILE)})))
    async with attached(made.server, era) as wire:
        wanted = {"mode": "include", "fields": [f"{wrapper}.name" if prefix else "name"]}
        answer = await wire.call("t", projection=wanted)
        listed = (await wire.tools())["t"]
    assert answer["structuredContent"] == {wrapper: '{"name":"Ann"}'}
    assert text_of(answer) == {"name": "Ann"}
    receipt = receipt_of(answer)
    assert receipt["fields"] == ["name"]
    assert receipt["schemaSource"] == "inferred"
    assert Draft202012Validator(receipt["projectedSchema"]).is_valid(answer["structuredContent"])
    assert receipt["projectedSchema"]["properties"][wrapper]["contentSchema"]["required"] == ["name"]
    if declared:
        assert Draft202012Validator(listed["outputSchema"]).is_valid(answer["structuredContent"])


@pytest.mark.parametrize(
    ("output", "wanted", "kept"),
    [
        ({"content": "in words"}, ["content"], {"content": "in words"}),
        ({"content": "in words"}, ["name"], {}),
        ({"content": '{"name": "Ann"}', "n": 1}, ["n"], {"n": 1}),
        ({"text": '{"name": "Ann"}'}, ["name"], {}),
        ({"result": {"name": "Ann"}}, ["name"], {}),
        ({"result": {"name": "Ann"}}, ["result.name"], {"result": {"name": "Ann"}}),
    ],
)
async def test_what_is_no_lone_string_of_json_is_an_output_like_any(era, output, wanted, kept):
    """Ours: without a schema nothing else is taken for a wrapper."""
    made = lowlevel(t=tool(None, structured(output)))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection={"mode": "include", "fields": wanted})
    assert answer["structuredContent"] == kept
    assert receipt_of(answer)["fields"] == wanted
    assert Draft202012Validator(receipt_of(answer)["projectedSchema"]).is_valid(kept)


async def test_prose_in_a_declared_string_can_be_kept_or_left_out(era):
    """Ours: `content` of a server of files is a string like any, until it holds JSON."""
    made = lowlevel(t=tool(lone("content"), structured({"content": "in words"})))
    async with attached(made.server, era) as wire:
        kept = await wire.call("t", projection={"mode": "include", "fields": ["content"]})
        left = await wire.call("t", projection={**NAME, "strict": True})
    assert kept["structuredContent"] == {"content": "in words"}
    assert "schemaSource" not in receipt_of(kept)
    assert left["structuredContent"] == {}
    assert receipt_of(left)["unmatched"] == ["name"]
    assert "in words" not in json.dumps(left)


SECRETIVE = {
    "id": 1,
    "part": {CANARY: 1},
    "rows": [{"id": 1, "part": {CANARY: {CANARY: CANARY}}}, {"id": 2, "deep": {"kept": 1, "part": [{CANARY: 1}]}}],
    "part2": {f"{CANARY}{number}": number for number in range(300)},
}
"""What must not be named stands in parts that are left out, beside everything that is kept."""


@pytest.mark.parametrize(
    "wanted",
    [
        {"mode": "include", "fields": ["id", "rows.id", "rows.deep.kept"]},
        {"mode": "include", "fields": ["nope", "rows.nope", "part.nope"]},
        {"mode": "exclude", "fields": ["**.part", "part2"]},
        {"mode": "view", "view": "safe"},
    ],
    ids=["include", "include of nothing", "exclude", "view"],
)
@pytest.mark.parametrize(
    "result",
    [text(json.dumps(SECRETIVE)), structured(SECRETIVE), structured({"content": json.dumps(SECRETIVE)})],
    ids=["text", "structured", "wrapped"],
)
async def test_what_was_left_out_is_not_named(era, result, wanted):
    """PRIVACY, P6: an inferred schema holds property names of the kept part only."""
    views = {"safe": {"include": ["id", "rows"], "exclude": ["rows.part", "rows.deep.part"]}}
    made = lowlevel(t=tool(None, result, meta=louver.hint(views)))
    async with attached(made.server, era) as wire:
        plain = await wire.call("t")
        answer = await wire.call("t", projection=wanted)
    assert receipt_of(answer)["schemaSource"] == "inferred"
    assert CANARY in json.dumps(plain)
    assert CANARY not in json.dumps(answer)


async def test_one_answer_says_nothing_of_another(era):
    """Ours: what was inferred is for this answer; nothing is remembered of a tool."""
    answers = iter([{"id": 1, "name": "Ann"}, {"id": "x"}, {"id": 1, "name": "Bob"}, [{"id": 2.5}, {"id": None}]])
    made = lowlevel(t=tool(None, lambda _: text(json.dumps(next(answers)))))
    async with attached(made.server, era) as wire:
        told = [
            receipt_of(await wire.call("t", projection={"mode": "include", "fields": ["id"]}))["projectedSchema"]
            for _ in range(4)
        ]
    assert [schema.get("properties", {}).get("id") for schema in told[:3]] == [
        {"type": "integer"},
        {"type": "string"},
        {"type": "integer"},
    ]
    assert told[0] == told[2]
    assert told[3]["items"]["properties"]["id"] == {"type": ["null", "number"]}


async def test_what_was_inferred_never_enters_the_list(era):
    """WIRE.md, "Listing": `tools/list` must not change as a side effect."""
    plain, wrapped = tool(None, text(json.dumps(PROFILE))), tool(None, structured({"content": "[]"}))
    made = lowlevel(plain=plain, wrapped=wrapped, bare=tool(None))
    async with attached(made.server, era) as wire:
        before = await wire.request("tools/list")
        for name in ("plain", "wrapped", "bare"):
            assert receipt_of(await wire.call(name, projection=NAME))["applied"]
        assert await wire.request("tools/list") == before
    assert all("outputSchema" not in listed for listed in before["tools"])


@pytest.mark.parametrize("strict", [True, False])
async def test_one_answer_does_not_know_which_fields_there_can_be(era, strict):
    """PROJECTION.md, include 7: without a declared schema nothing is unmatched, and `strict` refuses nothing."""
    made = lowlevel(t=tool(None, text('{"rows": [], "user": null, "name": "Ann"}')))
    async with attached(made.server, era) as wire:
        wanted = ["rows.id", "user.login", "nmae"]
        answer = await wire.call("t", projection={"mode": "include", "fields": wanted, "strict": strict})
    assert text_of(answer) == {"rows": [], "user": None}
    assert receipt_of(answer).keys().isdisjoint({"unmatched", "suggestions"})


async def test_a_request_is_refused_before_a_tool_without_a_schema_runs(era):
    """Ours: for every place where its output may stand."""
    # Half of these paths begin with `content`. Only within it do they all meet, and are too many.
    paths = ["a." + ".".join("*" if (bits >> at) & 1 else "a" for at in range(20)) for bits in range(1, 777, 97)]
    apart = [f"content.{path}" if number % 2 else path for number, path in enumerate(paths)]
    louver.compile_projection(louver.Projection(include=[*apart]))
    made = lowlevel(t=tool(None, text("{}")))
    async with attached(made.server, era) as wire:
        for wanted, code in (
            ({"mode": "view", "view": "nope"}, "UNKNOWN_VIEW"),
            ({"mode": "include", "fields": paths}, "PROJECTION_LIMIT"),
            ({"mode": "include", "fields": apart}, "PROJECTION_LIMIT"),
        ):
            with pytest.raises(MCPError) as refused:
                await wire.call("t", projection=wanted)
            assert refused.value.data["error"]["code"] == code
    assert made.calls == []


@pytest.mark.parametrize(
    "held", [True, {"anyOf": [{"type": "string"}, {"type": "array"}]}, {"type": ["string", "null"]}]
)
async def test_json_text_is_looked_into_whatever_the_schema_says_of_it(era, held):
    """TRUST.md, row 13: the value decides."""
    declared = {"type": "object", "properties": {"result": held}, "required": ["result"]}
    value = {"result": json.dumps({"name": "Ann", "token": "s3cret"})}
    made = lowlevel(t=tool(declared, structured(value)))
    async with attached(made.server, era) as wire:
        for path in ("token", "**.token", "result.token"):
            answer = await wire.call("t", projection={"mode": "exclude", "fields": [path]})
            assert json.loads(answer["structuredContent"]["result"]) == {"name": "Ann"}
            assert "s3cret" not in json.dumps(answer)
    async with louver.Client(made.server) as client:
        assert (await client.call_tool("t", exclude=["token"])).data == {"name": "Ann"}


async def test_text_alone_of_a_tool_that_declared_a_string_is_read_alike(era):
    """Ours: it breaks its promise of structured content, and a path still may begin with the wrapper."""
    made = lowlevel(t=tool(lone("result"), text(json.dumps(PROFILE))))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection={"mode": "exclude", "fields": ["result.email", "items", "result.id"]})
    assert text_of(answer).keys() == {"name", "address", "nextCursor"}
    assert "structuredContent" not in answer
    assert Draft202012Validator(receipt_of(answer)["projectedSchema"]).is_valid(text_of(answer))


async def test_a_declared_schema_is_never_replaced(era):
    """Ours: structured content is held against what its server declared."""
    made = lowlevel(t=tool(SCHEMA, structured({**PROFILE, "name": 5})))
    async with attached(made.server, era) as wire:
        declared = await wire.call("t", projection={"mode": "include", "fields": ["id"]})
        broken = await wire.call("t", projection=NAME)
    assert "schemaSource" not in receipt_of(declared)
    assert text_of(broken)["error"]["code"] == "OUTPUT_INVALID"


async def test_a_large_answer_is_inferred_off_the_event_loop(era, monkeypatch):
    """Ours: nobody waits for somebody else's large answer."""
    threads = []
    inside = apply.infer

    def remember(values):
        threads.append(threading.current_thread() is threading.main_thread())
        return inside(values)

    monkeypatch.setattr(apply, "infer", remember)
    rows = [{"id": number, "text": "x"} for number in range(MAX_ON_LOOP)]
    made = lowlevel(large=tool(None, text(json.dumps(rows))), small=tool(None, text(json.dumps(rows[:2]))))
    async with attached(made.server, era) as wire:
        wanted = {"mode": "include", "fields": ["id"]}
        large = await wire.call("large", projection=wanted)
        small = await wire.call("small", projection=wanted)
    assert threads == [False, True]
    assert receipt_of(large)["projectedSchema"] == receipt_of(small)["projectedSchema"]
    assert text_of(large)[-1] == {"id": MAX_ON_LOOP - 1}
