"""The conformance vectors through every door.

What a vector says must come out of the core: one test a vector. The doors are a server in memory, over
stdio and over Streamable HTTP, in each protocol revision that the vector allows, and the argument. Through
each goes one vector of each kind that it could spoil, and through memory what the core alone cannot tell.
One conversation a door calls the tools of its vectors, one after the other; a test lists those with
another answer. With `--deep` all vectors go through the doors that are no process.
"""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from mcp.server import Server
from pydantic import TypeAdapter
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import louver
from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from fixtures.process import http_process
from fixtures.vector_server import FOLDER, RUNS, build_server, load_vectors, one_of_each_kind, tool_result, written
from louver.catalogue.entry import Entry
from louver.core.projection.view import Views
from louver.core.schema.infer import infer
from louver.errors import UnknownField
from louver.steps.calls.request import RequestOptions
from louver.steps.calls.unmatched import note_by_schema
from louver.wire.names import EXTRAS

ROOT = FOLDER.parents[1]
SERVER = Path(build_server.__code__.co_filename)
MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}
"""How the SDK's client is told to speak a revision."""

TRANSPORTS = ("memory", "stdio", "http", "argument")
"""`argument` is in memory, with each request in the argument instead of `_meta`."""

VECTORS = load_vectors()

# Which vectors go through which door.


@dataclass(frozen=True)
class Door:
    """One way to a server; for all vectors, or for one of each kind."""

    transport: str
    era: str
    takes_all: bool = False

    def __str__(self):
        return f"{self.transport}-{self.era}{'-all' if self.takes_all else ''}"

    @cached_property
    def vectors(self):
        through = [vector for vector in VECTORS if goes_through(vector, self.transport, self.era)]
        if self.takes_all:
            return through
        taken = one_of_each_kind(through)
        if self.transport == "memory":
            taken += [vector for vector in through if not is_of_the_core(vector) and vector not in taken]
        return taken

    @property
    def by_argument(self):
        return self.transport == "argument"


DOORS = [Door(transport, era) for transport in TRANSPORTS for era in MODES]
DEEP_DOORS = [
    pytest.param(Door(transport, era, takes_all=True), marks=pytest.mark.deep)
    for transport in ("memory", "argument")
    for era in MODES
]


def only(selected):
    """A test for each vector."""
    vectors = [pytest.param(vector, id=vector["id"]) for vector in VECTORS if selected(vector)]
    return pytest.mark.parametrize("vector", vectors)


def some_or_all(selected):
    """A test for one vector of each kind, and with `--deep` one for all."""
    vectors = [vector for vector in VECTORS if selected(vector)]
    some = pytest.param(one_of_each_kind(vectors), id="one-of-each-kind")
    return pytest.mark.parametrize("vectors", [some, pytest.param(vectors, id="all", marks=pytest.mark.deep)])


def goes_through(vector, transport, era):
    if era not in vector["eras"]:
        return False
    if transport == "argument":
        return is_of_models(vector)
    return transport == "memory" or is_encodable(vector)


def is_of_models(vector):
    """Whether the request can be sent by the argument: the tool takes one, and it means there what it means in `_meta`.

    More forms are understood there, and where no field matches it is an error: other vectors say so.
    """
    request = vector.get("request")
    if "argument" in vector or "schema" not in vector or not isinstance(request, dict) or "mode" not in request:
        return False
    try:
        entry = entry_of(vector)
    except louver.LouverError:
        return False
    return RequestOptions("projectable").argument_of(entry) is not None and not _matches_none(entry, request)


def entry_of(vector):
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": vector["schema"]}
    return Entry(tool, views_of(vector))


def views_of(vector):
    return Views.read(vector.get("views", {}), vector.get("always", ()))


def _matches_none(entry, request):
    try:
        note_by_schema(entry, louver.Projection.from_wire(request))
    except UnknownField as error:
        return "Its fields" in error.message or "nor any other" in error.message
    except louver.LouverError:
        return False
    return False


def is_encodable(vector):
    """Whether the request can be sent as UTF-8: a lone surrogate cannot."""
    try:
        json.dumps(vector.get("request"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def is_of_the_core(vector):
    return "value" in vector and "request" in vector and "argument" not in vector


def is_of_a_wrong_view(vector):
    return vector.get("refusal", {}).get("code") == "INVALID_VIEW"


# What a vector says of an outcome.


def check_each(vectors, check):
    """Fails with a list of those that `check` turns down, and if there are none."""
    faults = turned_down(vectors, check, by=Exception)
    assert vectors
    assert not faults, "\n\n".join(f"{name}: {type(fault).__name__}: {fault}" for name, fault in faults.items())


def turned_down(vectors, check, by=AssertionError):
    faults = {}
    for vector in vectors:
        try:
            check(vector)
        except by as fault:
            faults[vector["id"]] = fault
    return faults


def same(one, other):
    """Whether two JSON values are equal, whatever the order of members."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def check_members(found, expected):
    """`found` has the members of `expected`; of those that are null there, none."""
    for member, value in expected.items():
        if value is None:
            assert member not in found, f"{member} is {found[member]!r}"
        else:
            assert member in found, f"there is no {member} in {found!r}"
            assert found[member] == value


@cache
def check_form(kind, text):
    """That a schema is one. All doors tell the same: once is enough."""
    kind.check_schema(json.loads(text))


def check_schema(vector, schema):
    """The projected schema accepts what is kept, and not what was left out."""
    check_form(Draft202012Validator, written(schema))
    projected = Draft202012Validator(schema)
    assert projected.is_valid(vector["kept"])
    if not same(vector["value"], vector["kept"]):
        assert not projected.is_valid(vector["value"])
    for value in vector.get("schemaAccepts", ()):
        assert projected.is_valid(value), f"{value!r} is refused"
    for value in vector.get("schemaRefuses", ()):
        assert not projected.is_valid(value), f"{value!r} is accepted"
    for text in vector.get("schemaLacks", ()):
        assert text not in json.dumps(schema, ensure_ascii=False)


def check_listed(vector, listed):
    """The schema in `tools/list` accepts the full value and what is kept."""
    for value in (vector["value"], vector["kept"]):
        assert Draft202012Validator(listed).is_valid(value)


_OF_PROGRAMS = {"projectedSchema", "schemaPrecision", "schemaSource", "unmatched", "suggestions", "rows"}


def check_receipt(vector, result, *, by_argument):
    keys = {"projection", "dev.louver/projection"} & result["_meta"].keys()
    asked = vector.get("meta", {"projection": None})
    assert keys == {vector["receiptKey"]} if "receiptKey" in vector else keys <= asked.keys()
    receipt = result["_meta"][keys.pop()]
    expected = vector.get("receipt", {"applied": True})
    if by_argument:
        assert receipt.keys().isdisjoint(_OF_PROGRAMS)
        check_members(receipt, {member: value for member, value in expected.items() if member not in _OF_PROGRAMS})
        return
    check_members(receipt, expected)
    if not receipt["applied"]:
        return
    form = (vector.get("request") or {}).get("schema", "inline")
    assert ("projectedSchema" in receipt) == (form == "inline")
    if form == "inline" and "kept" in vector:
        check_schema(vector, receipt["projectedSchema"])


def check_answer(vector, result, *, by_argument=False):
    """The answer on the wire is what the vector says: value, text, receipt; by the argument slips are told in words."""
    if "kept" in vector:
        assert not result.get("isError")
        (block,) = result["content"]
        assert block["type"] == "text"
        slips = vector.get("receipt", {}).get("unmatched") or [] if by_argument else []
        for shown in (result["structuredContent"], json.loads(block["text"])):
            notes = shown.pop(EXTRAS, []) if slips else []
            assert [note.startswith(f"NOTE: the output has no field {slips[0]!r}") for note in notes] == (
                [True] if slips else []
            )
            assert written(shown) == written(vector["kept"])
    else:
        for member in ("content", "structuredContent"):
            assert same(result.get(member, "absent"), vector["answer"].get(member, "absent"))
        assert result.get("isError", False) == vector["answer"].get("isError", False)
    if not vector.keys().isdisjoint({"kept", "receipt"}):
        check_receipt(vector, result, by_argument=by_argument)


def check_outcome(vector, held, *, by_argument):
    """What came through a door is what the vector says; by the argument whatever is wrong is told to the model."""
    if "hint" in vector:
        check_hint(vector["hint"], held.tools[vector["id"]])
        return
    said = held.outcomes[vector["id"]]
    assert held.runs[vector["id"]] == vector.get("runs", 0 if "refusal" in vector else 1)
    if "refusal" in vector and not by_argument:
        check_refusal(vector["refusal"], said)
        return
    assert said.keys() == {"result"}, said
    if "errorText" in vector or (by_argument and {"refusal", "errorResult"} & vector.keys()):
        check_error_text(said["result"], vector.get("errorText", ""))
    elif "errorResult" in vector:
        check_error_result(vector["errorResult"], said["result"])
    else:
        by_model = "request" not in vector and bool({"argument", "defaultView"} & vector.keys())
        check_answer(vector, said["result"], by_argument=by_argument or by_model)
        if {"kept", "schema"} <= vector.keys():
            check_listed(vector, held.tools[vector["id"]]["outputSchema"])


def check_hint(expected, tool):
    """A tool tells its views: `recommendedViews` is of #1704, the extension form is ours."""
    check_members(tool["_meta"]["dev.louver/projectionHint"], expected)
    literal = {member: expected.get(member) for member in ("supported", "recommendedViews")}
    check_members(tool["annotations"]["projectionHint"], literal)
    assert tool["annotations"]["projectionHint"].keys() <= literal.keys()


def check_refusal(expected, said):
    """A refusal is -32602, with the error as data."""
    assert said.keys() == {"error"}, said
    assert said["error"]["code"] == types.INVALID_PARAMS
    error = said["error"]["data"]["error"]
    check_members(error, expected)
    assert error["message"] == said["error"]["message"]


def check_error_text(result, words):
    """An error for a model is told once, in one text (HOSTS.md)."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert "dev.louver/error" not in result.get("_meta", {})
    (block,) = result["content"]
    assert words in block["text"]
    assert "{" not in block["text"]


def check_error_result(expected, result):
    """An error result is one JSON text, without a value."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    (block,) = result["content"]
    check_members(json.loads(block["text"])["error"], expected)


# The conversations.


@dataclass
class Conversation:
    """What a door answered. An outcome is a `result`, an `error` or, if the client threw, `thrown`."""

    outcomes: dict[str, dict[str, Any]]  # by vector
    unknown: list[dict[str, Any]]  # of a tool that is not there: called plainly, projected, with a refused request
    runs: Counter[str]  # of the tool of each vector
    tools: dict[str, dict[str, Any]]  # as listed, by name


async def converse(target, door):
    with anyio.fail_after(FAILSAFE_S):
        async with Client(target, mode=MODES[door.era]) as client:
            assert client.protocol_version == door.era
            listed = await send(client, "tools/list", {})
            before = await runs_of(client)
            outcomes: dict[str, dict[str, Any]] = {}
            for vector in door.vectors:
                params = {"name": vector["id"], **asked_by(vector, as_argument=door.by_argument)}
                outcomes[vector["id"]] = await outcome(client, params)
            runs = await runs_of(client) - before
            wrong = {"mode": "include", "fields": ["a."]}
            unknown = [
                await outcome(client, {"name": "no-such-tool", "arguments": {}, "_meta": meta})
                for meta in ({}, {"projection": {"mode": "include", "fields": ["a"]}}, {"projection": wrong})
            ]
    return Conversation(outcomes, unknown, runs, {tool["name"]: tool for tool in listed["tools"]})


def asked_by(vector, *, as_argument):
    """The arguments and `_meta` of a call."""
    if as_argument:
        return {"arguments": {"output_fields": vector["request"]}}
    meta = vector.get("meta") or ({"projection": vector["request"]} if "request" in vector else {})
    arguments = {"output_fields": vector["argument"]} if "argument" in vector else {}
    return {"arguments": arguments, "_meta": meta}


async def send(client, method, params):
    """The wire object of a result; the client's own models would drop and check things."""
    request = types.Request[dict[str, Any], str](method=method, params=params)
    return await client.session.send_request(request, TypeAdapter(dict[str, Any]))


async def outcome(client, params):
    try:
        return {"result": await send(client, "tools/call", params)}
    except MCPError as error:
        return {"error": error.error.model_dump()}
    except Exception as error:  # noqa: BLE001 - that the client throws is what a test must see
        return {"thrown": repr(error)}


async def runs_of(client):
    result = await send(client, "tools/call", {"name": RUNS, "arguments": {}})
    return Counter(result["structuredContent"])


@pytest.fixture(scope="module")
def url():
    """Of one process for both revisions, as a server in the field has it."""
    with http_process(SERVER) as (url, _):
        yield url


def server_behind(door, request):
    if door.transport == "http":
        return request.getfixturevalue("url")
    if door.transport == "stdio":
        return StdioServerParameters(command=PYTHON, args=[str(SERVER)])
    return build_server(door.vectors)


# The vectors as data.


def test_a_file_of_vectors_has_the_form_of_its_schema():
    """Ours: `schemas/vector.schema.json`."""
    schema = json.loads((ROOT / "schemas" / "vector.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    files = sorted(FOLDER.glob("*.json"))
    assert len(files) == 9
    for path in files:
        Draft202012Validator(schema).validate(json.loads(path.read_text("utf-8")))


def test_every_vector_has_an_id_of_its_own():
    """Ours."""
    assert [name for name, count in Counter(vector["id"] for vector in VECTORS).items() if count > 1] == []


def test_every_vector_is_tried_every_day():
    """Ours: views that cannot be are no tools."""
    tried = [*filter(is_of_the_core, VECTORS), *filter(is_of_a_wrong_view, VECTORS)]
    tried += [vector for era in MODES for vector in Door("memory", era).vectors]
    assert {vector["id"] for vector in VECTORS} - {vector["id"] for vector in tried} == set()


def test_a_value_satisfies_the_schema_of_its_tool():
    """Ours: nothing is promised of other values. What stands elsewhere is never fetched and says nothing."""
    elsewhere = Registry(retrieve=lambda _: DRAFT202012.create_resource(True))

    def check(vector):
        dialect = vector["schema"].get("$schema")
        kind = Draft7Validator if dialect == "http://json-schema.org/draft-07/schema#" else Draft202012Validator
        check_form(kind, written(vector["schema"]))
        assert kind(vector["schema"], registry=elsewhere).is_valid(vector["value"])

    check_each([vector for vector in VECTORS if {"value", "schema"} <= vector.keys()], check)


def test_the_checks_turn_an_unprojected_answer_down():
    """Ours: a check that nothing fails proves nothing."""
    projected = [vector for vector in VECTORS if "kept" in vector and not same(vector["kept"], vector["value"])]
    receipt = {"_meta": {"projection": {"applied": True}}}
    found = turned_down(projected, lambda vector: check_answer(vector, {**tool_result(vector), **receipt}))
    assert found.keys() == {vector["id"] for vector in projected}


# The core.


def compiled(vector):
    projection = louver.Projection.from_wire(vector["request"])
    plan = louver.compile_projection(projection, vector.get("schema"), views=views_of(vector))
    plan = plan.for_value(vector["value"])
    # Where no schema is declared, an answer tells what was inferred from what is left of it.
    return plan if "schema" in vector else plan.knowing(infer([plan(vector["value"])]))


@pytest.mark.whole
@only(lambda vector: is_of_the_core(vector) and "kept" in vector)
def test_the_core_keeps_what_the_vector_says(vector):
    """Each vector names its source. What is listed accepts what comes, too: stock clients look."""
    plan = compiled(vector)
    before = written(vector["value"])
    assert written(plan(vector["value"])) == written(vector["kept"])
    assert written(vector["value"]) == before
    check_schema(vector, plan.schema)
    said = {"fields": plan.fields, "unmatched": plan.unmatched, "always": plan.always}
    found = {member: list(paths) for member, paths in said.items() if paths}
    found |= {"suggestions": plan.suggestions} if plan.suggestions else {}
    found |= {"shaped": plan.shaped} if plan.shaped else {}
    receipt = vector.get("receipt", {})
    told = (*said, "suggestions", "shaped")
    check_members(found, {member: receipt[member] for member in told if member in receipt})
    # Projecting twice is projecting once; what is shaped has other names, and rows are others the second time.
    if "shaped" not in receipt and not plan.has_rows:
        assert written(plan(vector["kept"])) == written(vector["kept"])
    if "schema" in vector:
        check_listed(vector, entry_of(vector).listing_schema)


@pytest.mark.whole
@only(lambda vector: is_of_the_core(vector) and "refusal" in vector)
def test_the_core_refuses_what_the_vector_refuses(vector):
    """Each vector names its source."""
    with pytest.raises(louver.LouverError) as refused:
        compiled(vector)
    check_members(refused.value.to_json(), vector["refusal"])


# The wire.


@pytest.mark.whole
@pytest.mark.parametrize("door", [*DOORS, *DEEP_DOORS], ids=str)
def test_an_answer_is_what_the_vector_says(request, door):
    """Each vector names its source; #1704 sections 2 to 4. A refusal comes before the tool runs.

    Ours: a request that is none is refused alike for every tool, and so tells nothing of it.
    """
    held = anyio.run(converse, server_behind(door, request), door)
    check_each(door.vectors, lambda vector: check_outcome(vector, held, by_argument=door.by_argument))
    plain, projected, refused = held.unknown
    assert plain["error"]["message"] == "Unknown tool: no-such-tool"
    assert plain == projected
    assert refused["error"]["data"]["error"]["code"] == "INVALID_PROJECTION"


# Views that cannot be.


@pytest.mark.whole
@only(is_of_a_wrong_view)
def test_a_wrong_view_is_refused_before_the_server_serves(vector):
    """Ours."""
    views, always = vector["views"], vector.get("always", ())
    doors = [lambda: Views.read(views, always), lambda: louver.hint(views, always)]
    if not always:
        doors.append(lambda: louver.attach(Server("any"), views={"tool": views}))
    for door in doors:
        with pytest.raises(louver.errors.InvalidView) as refused:
            door()
        check_members(refused.value.to_json(), vector["refusal"])
