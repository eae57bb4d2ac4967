"""Servers that lie. Whatever they say, what a client gets is what it asked for, or an error that says what is wrong.

No error, and nothing that stands around it, holds a value of an answer.
"""

from __future__ import annotations

import json
import threading
import traceback

import pytest
from jsonschema import Draft202012Validator

import louver
from client.servers import CANARY, PROFILE, SCHEMA, answering, liar, structured
from louver.client.validation_cost import is_affordable
from louver.errors import InvalidAnswer, OutputInvalid, ProjectionRequired

pytestmark = pytest.mark.anyio

NAME = {"name": CANARY}
OPEN = {"type": "object"}


async def asked(made, mode="auto", **options):
    """The result of a request for `name`, or the error that it ends with."""
    try:
        async with louver.Client(made.server, mode=mode) as client:
            return await client.call_tool("get_profile", **(options or {"include": ["name"]}))
    except louver.LouverError as error:
        return error


def refused(error, kind, said):
    assert isinstance(error, kind), error
    assert said in error.message
    shown = "".join(traceback.format_exception(error)) + json.dumps(error.to_json())
    assert CANARY not in shown


# The receipt


@pytest.mark.parametrize(
    ("receipt", "said"),
    [
        ("yes", "'applied'"),
        ({"applied": "yes"}, "'applied'"),
        ({"applied": True}, "'mode'"),
        ({"applied": True, "mode": "include"}, "'fields'"),
        ({"applied": True, "mode": "include", "fields": CANARY}, "'fields'"),
        ({"applied": True, "mode": "include", "fields": ["a..b"]}, "'fields'"),
        ({"applied": True, "mode": "include", "fields": ["name"] * 300}, "'fields'"),
        ({"applied": True, "mode": "include", "fields": ["name"], "projectedSchema": CANARY}, "'projectedSchema'"),
    ],
)
async def test_what_is_no_receipt_is_told(mode, receipt, said):
    """Ours."""
    made = liar({**structured(NAME), "_meta": {"projection": receipt}})
    refused(await asked(made, mode), InvalidAnswer, said)


@pytest.mark.parametrize(
    ("receipt", "said"),
    [
        ({"fields": ["email"]}, "other fields"),
        ({"fields": ["name", "email"]}, "other fields"),
        ({"fields": ["*"]}, "other fields"),
        ({"mode": "exclude"}, "another mode"),
        ({"mode": "view", "view": "minimal"}, "another mode"),
        ({"view": "minimal"}, "another view"),
    ],
)
async def test_a_receipt_of_another_request_is_told(mode, receipt, said):
    """Ours."""
    refused(await asked(liar(answering(NAME, **receipt)), mode), InvalidAnswer, said)


async def test_a_receipt_that_nobody_asked_for_is_told(mode):
    """Ours: but for a default view."""
    made = liar(answering(NAME))
    refused(await asked(made, mode, minimize=False), InvalidAnswer, "nobody asked for")


async def test_a_view_with_other_fields_than_the_tool_tells_of_is_told(mode):
    """Ours."""
    made = liar(
        answering(PROFILE, mode="view", view="minimal", fields=["*"]), hint={"recommendedViews": {"minimal": ["name"]}}
    )
    refused(await asked(made, mode, view="minimal"), InvalidAnswer, "other fields than the view")


@pytest.mark.parametrize(
    ("hinted", "told", "said"),
    [
        (None, ["email"], "adds other fields"),
        (["email"], None, "adds other fields"),
        (["email"], ["email", "id"], "adds other fields"),
        (None, ["a..b"], "'always'"),
        (["*"], ["*"], "adds other fields"),
    ],
)
async def test_what_is_always_added_is_told_twice_or_not_at_all(mode, hinted, told, said):
    """Ours: by the tool, and by the answer; all of it is no addition."""
    value = {"name": "Ann", "email": CANARY}
    made = liar(answering(value, always=told), hint={"always": hinted} if hinted else {})
    refused(await asked(made, mode), InvalidAnswer, said)


async def test_what_the_author_always_adds_is_there(mode):
    """Ours: ids and cursors, which a client can see that it has not asked for."""
    value = {"name": "Ann", "id": 7}
    result = await asked(liar(answering(value, always=["id"]), hint={"always": ["id"]}), mode)
    assert (result.data, result.receipt.always) == (value, ["id"])


async def test_a_view_that_only_the_server_knows_must_be_one(mode):
    """Ours: it is known by its receipt alone."""
    made = liar(answering(NAME, mode="view", view="minimal", fields=["name"], excluded=["a..b"]))
    refused(await asked(made, mode, view="minimal"), InvalidAnswer, "'view'")


async def test_members_that_are_not_known_are_no_lie(mode):
    """Ours: a newer server may say more."""
    result = await asked(liar(answering(NAME, novelty=[1])), mode)
    assert result.applied


@pytest.mark.parametrize("reason", ["no_structured_output", "because", None, [], {"a": 1}])
async def test_not_applied_is_not_applied_whatever_the_reason(mode, reason):
    """Ours: what was asked for is not what came."""
    made = liar({**structured(PROFILE), "_meta": {"projection": {"applied": False, "reason": reason}}})
    result = await asked(made, mode)
    assert not result.applied
    assert result.data == PROFILE
    refused(await asked(made, mode, include=["name"], required=True), ProjectionRequired, "without one")


async def test_no_receipt_is_not_applied(mode):
    """#1704, "Graceful degradation": also of a server that has said that it projects."""
    made = liar(structured(NAME | PROFILE))
    result = await asked(made, mode)
    assert (result.applied, result.receipt) == (False, None)
    refused(await asked(made, mode, include=["name"], required=True), ProjectionRequired, "without one")


async def test_a_key_of_somebody_else_is_no_receipt(mode):
    """Ours: where nobody projects and nobody asks, `projection` may be anything."""
    made = liar({**structured(PROFILE), "_meta": {"projection": "Mercator"}})
    made.tools["get_profile"]["listed"].pop("_meta")
    result = await asked(made, mode, strict=False)
    assert result.receipt is None


# The value


@pytest.mark.parametrize(
    "value",
    [
        {"name": "Ann", "email": CANARY},
        {"name": "Ann", "address": {"city": CANARY}},
        {"name": "Ann", CANARY: 1},
        {"name": "Ann", "items": [{"id": 1, "email": CANARY}]},
        PROFILE,
    ],
)
@pytest.mark.parametrize("output", [SCHEMA, OPEN, None])
async def test_what_nobody_asked_for_is_told_whatever_is_listed(mode, value, output):
    """Ours: the receipt says that it was left out."""
    refused(await asked(liar(answering(value), output=output), mode), InvalidAnswer, "more than was asked for")


async def test_what_was_to_be_left_out_is_told(mode):
    """Ours."""
    made = liar(answering(PROFILE, mode="exclude", fields=["**.email"]))
    refused(await asked(made, mode, exclude=["**.email"]), InvalidAnswer, "more than was asked for")


@pytest.mark.parametrize("value", [{"name": [CANARY]}, {"name": 7}, {"name": {CANARY: 1}}, {}, {"name": None}])
@pytest.mark.parametrize("told", [True, OPEN, None])
async def test_a_value_of_another_type_is_told(value, told):
    """Ours: whatever the server tells of it."""
    receipt = {} if told is None else {"projectedSchema": told}
    made = liar(answering(value, **receipt), exact=SCHEMA)
    refused(await asked(made), OutputInvalid, "projected schema")


async def test_an_unprojected_value_of_another_type_is_told(mode):
    """Ours: the stock client's error would quote it."""
    made = liar(structured({**PROFILE, "id": CANARY}), exact=SCHEMA)
    refused(await asked(made, mode, minimize=False), OutputInvalid, "output schema")


async def test_a_receipt_without_an_output_is_told(mode):
    """Ours."""
    made = liar({**answering(NAME), "content": [{"type": "text", "text": CANARY}]})
    del made.tools["get_profile"]["result"]["structuredContent"]
    refused(await asked(made, mode), InvalidAnswer, "no output")


async def test_text_is_no_way_around(mode):
    """Ours: what is told of nothing known is held against the request all the same."""
    held = {"content": [{"type": "text", "text": json.dumps(PROFILE)}]}
    made = liar({**held, "_meta": {"projection": {**answering({})["_meta"]["projection"], "schemaSource": "inferred"}}})
    refused(await asked(made, mode), InvalidAnswer, "more than was asked for")
    wrapped = {"result": json.dumps({"name": "Ann", "email": CANARY})}
    text = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    told = {"properties": {"result": {"contentSchema": True}}}
    made = liar(answering(wrapped, schemaSource="inferred", projectedSchema=told), output=text)
    refused(await asked(made, mode), InvalidAnswer, "more than was asked for")


async def test_an_abyss_is_told():
    """Ours: in one process nothing else bounds it."""
    deep = {}
    for _ in range(250):
        deep = {"name": deep}
    refused(await asked(liar(answering(deep), output=OPEN)), InvalidAnswer, "nested deeper")


async def test_what_is_no_result_of_the_protocol_is_told_without_its_values():
    """Ours: the SDK's error would quote it."""
    made = liar(structured(PROFILE))

    async def middleware(ctx, call_next):
        answer = await call_next(ctx)
        return {**answer, "content": CANARY} if ctx.method == "tools/call" else answer

    made.server.middleware.insert(0, middleware)
    refused(await asked(made, "legacy"), InvalidAnswer, "no result that the protocol has")


# The schema


@pytest.mark.parametrize("told", [True, OPEN, SCHEMA, {**OPEN, "properties": {"name": True, "email": True}}])
async def test_a_schema_that_admits_more_is_closed(mode, told):
    """Ours: what is told can only add to what follows from the request."""
    made = liar(answering({"name": "Ann"}, projectedSchema=told), output=None)
    if told is SCHEMA:
        # It also needs what is not there.
        told = {**SCHEMA, "required": ["name"]}
        made = liar(answering({"name": "Ann"}, projectedSchema=told), output=None)
    result = await asked(made, mode)
    assert result.applied
    schema = Draft202012Validator(result.schema)
    assert schema.is_valid({"name": "Ann"})
    assert not schema.is_valid({"name": "Ann", "email": "x"})
    assert not schema.is_valid({"name": "Ann", "other": 1})


async def test_a_value_that_its_own_schema_refuses_is_told(mode):
    """Ours: though the listed one takes it."""
    told = {"type": "object", "properties": {"name": {"type": "integer"}}}
    refused(
        await asked(liar(answering(NAME, projectedSchema=told), output=OPEN), mode),
        OutputInvalid,
        "receipt",
    )


@pytest.mark.parametrize("where", ["listed", "told"])
async def test_nothing_is_fetched_for_a_schema(where, monkeypatch):
    """Ours: a reference that leads elsewhere says nothing, and nobody is asked."""
    opened = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *args, **_: opened.append(args))
    remote = {
        "type": "object",
        "properties": {"name": {"$ref": "http://127.0.0.1:9/schema.json"}},
        "required": ["name"],
    }
    made = liar(answering(NAME), exact=remote) if where == "listed" else liar(answering(NAME, projectedSchema=remote))
    result = await asked(made)
    assert result.applied
    assert "$ref" not in json.dumps(result.schema)
    assert opened == []


@pytest.mark.parametrize("where", ["listed", "told", "names"])
async def test_no_pattern_stalls_the_caller(where):
    """Ours: the stock client's event loop would stand still over it."""
    slow = {"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}
    schema = {"type": "object", "properties": {"name": slow}, "required": ["name"]}
    value = {"name": "a" * 5000}
    if where == "names":
        schema = {"type": "object", "patternProperties": {"^(([a-z])+.)+[A-Z]([a-z])+$": {"type": "string"}}}
        value = {"a" * 400: "x"}
        made = liar(answering(value, mode="exclude", fields=["other"]), exact=schema)
        options = {"exclude": ["other"]}
    else:
        made = (
            liar(answering(value), exact=schema)
            if where == "listed"
            else liar(answering(value, projectedSchema=schema))
        )
        options = {"include": ["name"]}
    # By a pattern that backtracks this would not end.
    result = await asked(made, **options)
    assert isinstance(result, OutputInvalid | louver.ProjectedResult)


async def test_answers_are_looked_at_off_the_event_loop(mode, monkeypatch):
    """Ours: bounded work can still be a second of work."""
    seen = []

    def spied(*args):
        seen.append(threading.get_ident())
        return is_affordable(*args)

    monkeypatch.setattr("louver.client.answer.is_affordable", spied)
    await asked(liar(answering(NAME, projectedSchema=OPEN)), mode)
    await asked(liar(structured(PROFILE)), mode, minimize=True)
    assert len(seen) == 3
    assert threading.get_ident() not in seen


def doubling(levels):
    """A schema of a few kB that has 2^levels ways through it."""
    both = [[{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/b{n + 1}"}] for n in range(levels)]
    definitions = {f"a{n}": {"allOf": each} for n, each in enumerate(both)}
    definitions |= {f"b{n}": {"allOf": each, "minProperties": 0} for n, each in enumerate(both)}
    definitions |= {f"a{levels}": {"type": "object"}, f"b{levels}": {"type": "object", "minProperties": 0}}
    return {"type": "object", "properties": {"address": {"$ref": "#/$defs/a0"}}, "$defs": definitions}


# Over 24 levels already the schema is too deep to be derived from, and only its shape is taken.
MANY_WAYS = doubling(24)


@pytest.mark.parametrize("where", ["listed", "told", "wrapped", "whole"])
async def test_no_schema_takes_for_ever(where):
    """Ours: what cannot be applied in bounded work is replaced by the shape of the request."""
    value, receipt, options = {"address": PROFILE["address"]}, {"fields": ["address"]}, {"include": ["address"]}
    exact, output = (None, OPEN) if where == "told" else (MANY_WAYS, SCHEMA)
    if where == "told":
        receipt["projectedSchema"] = MANY_WAYS
    elif where == "wrapped":
        inner = {name: part for name, part in MANY_WAYS.items() if name != "$defs"}
        exact = {"type": "object", "properties": {"result": inner}, "required": ["result"], "$defs": MANY_WAYS["$defs"]}
        value = {"result": value}
    made = liar(answering(value, **receipt), exact=exact, output=output)
    if where == "whole":
        made, options = liar(structured(value), exact=exact), {"minimize": False}
    result = await asked(made, **options)
    assert result.data == {"address": PROFILE["address"]}
    assert result.applied is (where != "whole")
    # The ways are those of `allOf`: none is left to be gone.
    assert "allOf" not in json.dumps(result.schema)
    assert where == "whole" or not Draft202012Validator(result.schema).is_valid(PROFILE)
