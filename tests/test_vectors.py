"""The conformance vectors through every door.

What a vector says must come out of the core, of a server in memory, over stdio and over Streamable
HTTP, in each protocol revision that it allows, by the argument, and of the command. One
conversation a door calls the tools of all vectors, one after the other; the tests look at its answers.
Everyday it is over stdio and HTTP just one of each kind that those could spoil.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
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
from fixtures.command import louver as command
from fixtures.forking import PYTHON
from fixtures.process import START_S, http_process
from fixtures.vector_server import FOLDER, RUNS, build_server, load_vectors, tool_result
from louver.catalogue.entry import Entry
from louver.core.projection.view import Views
from louver.core.schema.infer import infer
from louver.errors import UnknownField
from louver.protocol.names import EXTRAS
from louver.server.calls.request import RequestOptions
from louver.server.calls.unmatched import note_by_schema

ROOT = FOLDER.parents[1]
SERVER = Path(build_server.__code__.co_filename)
CONVERSATION_S = 40
"""Longest wait for all answers of one door, in seconds."""

MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}
"""How the SDK's client is told to speak a revision."""

TRANSPORTS = ("memory", "stdio", "http", "argument")
"""`argument` is in memory, with each request in the argument instead of `_meta`."""

VECTORS = load_vectors()

# Which vectors go through which door.


def written(value):
    """The text of a JSON value, its members in their order: `1`, `1.0` and `true` differ."""
    return json.dumps(value, ensure_ascii=False)


def only(selected):
    return [pytest.param(vector, id=vector["id"]) for vector in VECTORS if selected(vector)]


def through(selected):
    """Door and vector, for each door that the vector can go through."""
    return [
        pytest.param(
            (transport, era),
            vector,
            id=f"{transport}-{era}-{vector['id']}",
            marks=pytest.mark.deep if is_deep(vector, transport) else (),
        )
        for transport in TRANSPORTS
        for era in MODES
        for vector in VECTORS
        if selected(vector) and goes_through(vector, transport, era)
    ]


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
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": vector["schema"]}
    try:
        entry = Entry(tool, Views.read(vector.get("views", {}), vector.get("always", ())))
    except louver.LouverError:
        return False
    return RequestOptions("projectable", {}).argument_of(entry) is not None and not _matches_none(entry, request)


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


TRAPS = re.compile(r"\\.|[^\x00-\x7f]|\d(?=\.\d|e)|\d{16}")
"""What the text of a JSON value may stumble over: escapes, letters beyond ASCII, numbers that are no small integers."""


def kinds_of(vector):
    """What a transport could spoil: the shape of what is sent and comes back, refusals, and what the text may hold."""
    for member, value in vector.items():
        yield member, type(value)
        if member in ("refusal", "errorResult", "answer", "meta"):
            yield member, value.get("code"), *value
        if member in ("request", "argument", "meta", "result", "value"):
            yield from ((member, trap) for trap in TRAPS.findall(written(value)))


def first_of_each_kind():
    """The ids of vectors that show something that none before them has shown."""
    seen, found = set(), set()
    for vector in filter(is_encodable, VECTORS):
        if not seen.issuperset(kinds := set(kinds_of(vector))):
            seen |= kinds
            found.add(vector["id"])
    return found


ON_THE_WIRE = first_of_each_kind()


def is_deep(vector, transport):
    return transport in ("stdio", "http") and vector["id"] not in ON_THE_WIRE


def is_of_the_core(vector):
    return "value" in vector and "request" in vector and "argument" not in vector


def is_of_the_command(vector):
    """Whether the command has options for the request: it has none for `strict` and its like."""
    request = vector.get("request")
    if not is_of_the_core(vector) or not isinstance(request, dict):
        return False
    if request.get("mode") == "view":
        return request.keys() == {"mode", "view"} and bool(request["view"]) and "views" in vector
    fields = request.get("fields")
    return (
        request.get("mode") in ("include", "exclude")
        and request.keys() == {"mode", "fields"}
        and isinstance(fields, list)
        and len(fields) > 0
        and all(isinstance(field, str) for field in fields)
    )


# What a vector says of an outcome.


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


_OF_PROGRAMS = {"projectedSchema", "schemaDigest", "schemaPrecision", "schemaSource", "unmatched", "suggestions"}


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
    if form == "inline":
        canonical = json.dumps(receipt["projectedSchema"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        assert receipt["schemaDigest"] == hashlib.sha256(canonical.encode()).hexdigest()[:16]
        if "kept" in vector:
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


def check_error_text(result, words=""):
    """An error for a model is told once, in one text."""
    assert result["isError"] is True
    assert result.keys() & {"structuredContent"} == set()
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
    """What a door answered.

    Attributes:
        outcomes: By vector: `{"result": ...}`, `{"error": ...}` or, if the client threw, `{"thrown": ...}`.
        unknown: The outcomes of calls of a tool that is not there: plain, projected, with a refused request.
        runs: How often the tool of each vector ran.
        tools: As listed, by name.
    """

    outcomes: dict[str, dict[str, Any]]
    unknown: list[dict[str, Any]]
    runs: Counter[str]
    tools: dict[str, dict[str, Any]]


async def converse(target, era, vectors, as_argument):
    with anyio.fail_after(CONVERSATION_S):
        async with Client(target, mode=MODES[era]) as client:
            assert client.protocol_version == era
            listed = await send(client, "tools/list", {})
            before = await runs_of(client)
            outcomes: dict[str, dict[str, Any]] = {}
            for vector in vectors:
                params = {"name": vector["id"], **asked_by(vector, as_argument)}
                outcomes[vector["id"]] = await outcome(client, params)
            runs = await runs_of(client) - before
            wrong = {"mode": "include", "fields": ["a."]}
            unknown = [
                await outcome(client, {"name": "no-such-tool", "arguments": {}, "_meta": meta})
                for meta in ({}, {"projection": {"mode": "include", "fields": ["a"]}}, {"projection": wrong})
            ]
    return Conversation(outcomes, unknown, runs, {tool["name"]: tool for tool in listed["tools"]})


def asked_by(vector, as_argument):
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


@pytest.fixture(scope="session")
def conversation(pytestconfig):
    """A function of a door to its conversation, which is held when first asked for: with the vectors of this tier."""
    deep = pytestconfig.option.deep
    held: dict[tuple[str, str], Conversation] = {}

    def hold(transport, era, target):
        called = [vector for vector in VECTORS if goes_through(vector, transport, era) and "hint" not in vector]
        vectors = [vector for vector in called if is_deep(vector, transport) == deep]
        held[transport, era] = anyio.run(converse, target, era, vectors, transport == "argument")

    def find(transport, era):
        if (transport, era) in held:
            return held[transport, era]
        if transport == "http":
            # One process for both revisions, as a server in the field has it.
            with http_process(SERVER) as (url, _):
                for each in MODES:
                    hold(transport, each, url)
        elif transport == "stdio":
            hold(transport, era, StdioServerParameters(command=PYTHON, args=[str(SERVER)]))
        else:
            hold(transport, era, build_server())
        return held[transport, era]

    return find


# The vectors as data.


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.name)
def test_a_file_of_vectors_has_the_form_of_its_schema(path):
    """Ours: `schemas/vector.schema.json`."""
    schema = json.loads((ROOT / "schemas" / "vector.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(path.read_text("utf-8")))


def test_every_vector_has_an_id_of_its_own():
    """Ours."""
    assert [name for name, count in Counter(vector["id"] for vector in VECTORS).items() if count > 1] == []


@pytest.mark.parametrize("vector", only(lambda vector: {"value", "schema"} <= vector.keys()))
def test_a_value_satisfies_the_schema_of_its_tool(vector):
    """Ours: nothing is promised of other values. What stands elsewhere is never fetched and says nothing."""
    dialect = vector["schema"].get("$schema")
    kind = Draft7Validator if dialect == "http://json-schema.org/draft-07/schema#" else Draft202012Validator
    check_form(kind, written(vector["schema"]))
    elsewhere = Registry(retrieve=lambda _: DRAFT202012.create_resource(True))
    assert kind(vector["schema"], registry=elsewhere).is_valid(vector["value"])


@pytest.mark.parametrize("vector", only(lambda vector: "kept" in vector and not same(vector["kept"], vector["value"])))
def test_the_checks_turn_an_unprojected_answer_down(vector):
    """Ours: a check that nothing fails proves nothing."""
    with pytest.raises(AssertionError):
        check_answer(vector, {**tool_result(vector), "_meta": {"projection": {"applied": True}}})


# The core.


def compiled(vector):
    projection = louver.Projection.from_wire(vector["request"])
    views = Views.read(vector.get("views", {}), vector.get("always", ()))
    plan = louver.compile_projection(projection, vector.get("schema"), views=views)
    # Where no schema is declared, an answer tells what was inferred from what is left of it.
    return plan if "schema" in vector else plan.knowing(infer([plan(vector["value"])]))


@pytest.mark.parametrize("vector", only(lambda vector: is_of_the_core(vector) and "kept" in vector))
def test_the_core_keeps_what_the_vector_says(vector):
    """Each vector names its source."""
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


@pytest.mark.parametrize("vector", only(lambda vector: is_of_the_core(vector) and "refusal" in vector))
def test_the_core_refuses_what_the_vector_refuses(vector):
    """Each vector names its source."""
    with pytest.raises(louver.LouverError) as refused:
        compiled(vector)
    check_members(refused.value.to_json(), vector["refusal"])


def is_shaped(vector):
    return "shaped" in vector.get("receipt", {})


@pytest.mark.parametrize(
    "vector", only(lambda vector: is_of_the_core(vector) and "kept" in vector and not is_shaped(vector))
)
def test_projecting_what_is_kept_keeps_it(vector):
    """Ours: projecting twice is projecting once. What is shaped has other names."""
    assert written(compiled(vector)(vector["kept"])) == written(vector["kept"])


# The wire.


@pytest.mark.parametrize(("door", "vector"), through(lambda vector: {"kept", "answer"} & vector.keys()))
def test_an_answer_is_what_the_vector_says(conversation, door, vector):
    """Each vector names its source; #1704 sections 3 and 4."""
    held = conversation(*door)
    assert held.outcomes[vector["id"]].keys() == {"result"}, held.outcomes[vector["id"]]
    by_argument = door[0] == "argument" or (
        "request" not in vector and not vector.keys().isdisjoint({"argument", "defaultView"})
    )
    check_answer(vector, held.outcomes[vector["id"]]["result"], by_argument=by_argument)
    assert held.runs[vector["id"]] == 1


@pytest.mark.parametrize(("door", "vector"), through(lambda vector: "refusal" in vector))
def test_a_refusal_comes_before_the_tool_runs(conversation, door, vector):
    """Ours: -32602 with the error as data, or by argument a result that the model reads."""
    held = conversation(*door)
    said = held.outcomes[vector["id"]]
    assert held.runs[vector["id"]] == 0
    if door[0] == "argument":
        check_error_text(said["result"])
    else:
        assert said.keys() == {"error"}, said
        assert said["error"]["code"] == types.INVALID_PARAMS
        error = said["error"]["data"]["error"]
        check_members(error, vector["refusal"])
        assert error["message"] == said["error"]["message"]


@pytest.mark.parametrize(("door", "vector"), through(lambda vector: "errorResult" in vector))
def test_what_is_no_fault_of_the_request_is_an_error_result(conversation, door, vector):
    """Ours: PROJECTION_REQUIRED, OUTPUT_INVALID, and all that comes by argument."""
    held = conversation(*door)
    result = held.outcomes[vector["id"]]["result"]
    if door[0] == "argument":
        check_error_text(result)
    else:
        check_error_result(vector["errorResult"], result)
    assert held.runs[vector["id"]] == vector.get("runs", 1)


@pytest.mark.parametrize(("door", "vector"), through(lambda vector: "errorText" in vector))
def test_what_a_model_reads_of_an_error(conversation, door, vector):
    """HOSTS.md: once, in one sentence."""
    held = conversation(*door)
    check_error_text(held.outcomes[vector["id"]]["result"], vector["errorText"])
    assert held.runs[vector["id"]] == vector.get("runs", 1)


@pytest.mark.parametrize(("door", "vector"), through(lambda vector: {"kept", "schema"} <= vector.keys()))
def test_the_listed_schema_accepts_the_full_value_and_what_is_kept(conversation, door, vector):
    """Ours: stock clients hold every answer against the listed schema."""
    listed = conversation(*door).tools[vector["id"]]["outputSchema"]
    for value in (vector["value"], vector["kept"]):
        assert Draft202012Validator(listed).is_valid(value)


@pytest.mark.parametrize(("door", "vector"), through(lambda vector: "hint" in vector))
def test_a_tool_tells_its_views(conversation, door, vector):
    """#1704 section 2: `recommendedViews`; the extension form is ours."""
    tool = conversation(*door).tools[vector["id"]]
    check_members(tool["_meta"]["dev.louver/projectionHint"], vector["hint"])
    literal = {member: vector["hint"].get(member) for member in ("supported", "recommendedViews")}
    assert tool["annotations"]["projectionHint"] == {
        member: value for member, value in literal.items() if value is not None
    }


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", MODES)
def test_a_projection_on_an_unknown_tool_is_answered_as_the_unknown_tool(conversation, transport, era):
    """PRIVACY, hostile inputs. A request that is none is refused alike for every tool, and so tells nothing of it."""
    plain, projected, refused = conversation(transport, era).unknown
    assert plain["error"]["message"] == "Unknown tool: no-such-tool"
    assert plain == projected
    assert refused["error"]["data"]["error"]["code"] == "INVALID_PROJECTION"


# Views that cannot be.


@pytest.mark.parametrize("vector", only(lambda vector: vector.get("refusal", {}).get("code") == "INVALID_VIEW"))
def test_a_wrong_view_is_refused_before_the_server_serves(vector):
    """Ours."""
    views, always = vector["views"], vector.get("always", ())
    doors = [lambda: Views.read(views, always), lambda: louver.hint(views, always)]
    if not always:
        doors.append(lambda: louver.attach(Server("any"), views={"tool": views}))
    for door in doors:
        with pytest.raises(louver.InvalidView) as refused:
            door()
        check_members(refused.value.to_json(), vector["refusal"])


# The command.


def options_of(vector, folder):
    """The command's options for a vector; its views and schema are written to files."""
    request = vector.get("request", {"mode": "view", "view": "a"})
    options = [f"--{request['mode']}={field}" for field in request.get("fields", ())]
    if request["mode"] == "view":
        options.append(f"--view={request['view']}")
    if "views" in vector or "always" in vector:
        file = {"tool": "t", "views": vector.get("views", {}), "always": vector.get("always", [])}
        options.append(f"--views={written_to(folder / 't.views.json', file)}")
    return options


def with_schema(vector, folder):
    return [f"--schema={written_to(folder / 'schema.json', vector['schema'])}"] if "schema" in vector else []


def written_to(path, value):
    path.write_text(json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize(
    "vector",
    only(lambda vector: is_of_the_command(vector) and "kept" in vector),
)
def test_the_command_keeps_what_the_vector_says(tmp_path, vector):
    """Ours: `louver project`."""
    arguments = ["project", *options_of(vector, tmp_path), *with_schema(vector, tmp_path)]
    status, out, _ = command(*arguments, stdin=vector["value"])
    assert status == 0
    assert written(json.loads(out)) == written(vector["kept"])


@pytest.mark.parametrize(
    "vector", only(lambda vector: is_of_the_command(vector) and {"kept", "schema"} <= vector.keys())
)
def test_the_command_derives_the_schema_of_what_is_kept(tmp_path, vector):
    """Ours: `louver derive`."""
    status, out, _ = command("derive", *options_of(vector, tmp_path), stdin=vector["schema"])
    assert status == 0
    check_schema(vector, json.loads(out))


@pytest.mark.parametrize(
    "vector",
    only(
        lambda vector: (
            vector.get("refusal", {}).get("code") == "INVALID_VIEW"
            or ("refusal" in vector and is_of_the_command(vector))
        )
    ),
)
def test_the_command_tells_what_it_refuses_and_where(tmp_path, vector):
    """Ours: exit status 2, nothing on standard output, the position on standard error."""
    arguments = ["project", *options_of(vector, tmp_path), *with_schema(vector, tmp_path)]
    status, out, err = command(*arguments, stdin=vector.get("value"))
    assert (status, out) == (2, "")
    assert err.startswith("louver: ")
    if "offset" in vector["refusal"]:
        assert f"at offset {vector['refusal']['offset']}" in err


AS_A_PROCESS = (
    "include-through-array",
    "include-everything",
    "exclude-at-every-depth",
    "path-name-beyond-bmp",
    "view-extends",
    "refuse-partial-wildcard",
    "view-cycle",
)


@pytest.mark.parametrize("vector", only(lambda vector: vector["id"] in AS_A_PROCESS))
def test_the_command_does_the_same_as_a_process_of_its_own(tmp_path, vector):
    """Ours: `python -m louver`."""
    arguments = ["project", *options_of(vector, tmp_path), *with_schema(vector, tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "louver", *arguments],
        input=json.dumps(vector.get("value")).encode(),
        capture_output=True,
        timeout=START_S,
        check=False,
    )
    if "kept" in vector:
        assert done.returncode == 0, done.stderr
        assert written(json.loads(done.stdout)) == written(vector["kept"])
    else:
        assert done.returncode == 2
        assert done.stdout == b""
        assert done.stderr.startswith(b"louver: ")
