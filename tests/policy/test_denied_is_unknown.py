"""A path that is denied and one that does not exist are one: answers are the same, byte for byte, but for the name.

Each pair of requests differs in one name.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, contextmanager
from random import Random
from types import SimpleNamespace

import pytest
from mcp import MCPError

from fixtures.tattled import SECRET
from gateway.front.auth.guarded import bearing, token_file
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import config, fixture, serving
from louver.core.paths.path import FieldPath
from louver.core.policy.visibility import Fields
from louver.policy.policy import Policy, Rule, ToolPolicy, Who
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.wire.jsonrpc.errors import HEADER_MISMATCH
from policy.behind import client_of, gateway, written
from tests.policy.canaries import Pipeline, patched
from tests.policy.cases import TOOL, Case
from tests.steps.wire import NEW, connect

pytestmark = pytest.mark.anyio

DENIED, UNKNOWN = "qqq", "qqr"
"""Two names of one length, between which no other name sorts."""

STRING = {"type": "string"}


def schemas(rng, name):
    """A schema of one shape, with a member of that name in all objects: closed or open, in a union, wrapped, a list."""
    item = {"type": "object", "properties": {"id": STRING, name: STRING, "zz": True}}
    if rng.random() < 0.5:
        item["additionalProperties"] = False
    if rng.random() < 0.4:
        item["required"] = rng.sample(["id", name], rng.choice((1, 2)))
    shape = rng.randrange(6)
    if shape == 0:
        return item
    if shape == 1:
        return {"type": "object", "oneOf": [item, {"type": "object", "properties": {"k": STRING}, "required": ["k"]}]}
    if shape == 2:
        return {"type": "object", "properties": {"rows": {"type": "array", "items": item}, name: item}}
    if shape == 3:
        return {"type": "object", "properties": {"result": {"type": "array", "items": item}}, "required": ["result"]}
    if shape == 4:
        return {"type": "object", "properties": {"a": {"$ref": "#/$defs/i"}, "b": {"$ref": "#"}}, "$defs": {"i": item}}
    return {"type": "object", "patternProperties": {f"^{name}": item, "^a": item}, "propertyNames": {"minLength": 1}}


def value(rng, name, depth=2):
    """A value with members of that name wherever there are some; it may fit the schema or not."""
    if depth == 0 or rng.random() < 0.2:
        return "s"
    inner = [value(rng, name, depth - 1) for _ in range(4)]
    row = {"id": "1", name: SECRET, "zz": inner[0]}
    return rng.choice(
        (
            row,
            {"rows": [row, row], name: row},
            {"result": [row]},
            {"a": row, "b": {"a": row}},
            {"k": "k", name: SECRET},
            {name: {name: inner[1], "id": SECRET}, "id": "2"},
        )
    )


def requests(rng, path):
    """A request that names a path, in any of the ways that there are: what stands in `_meta`, and the arguments."""
    fields = [path] if rng.random() < 0.5 else ["id", path]
    mode = rng.choice(("include", "exclude", "strict", "argument", "short", "view", "deep", "none"))
    if mode == "strict":
        return {"projection": {"mode": rng.choice(("include", "exclude")), "fields": fields, "strict": True}}, {}
    if mode == "argument":
        return {}, {"output_fields": {"mode": rng.choice(("include", "exclude")), "fields": fields}}
    if mode == "short":
        return {}, {"output_fields": fields}
    if mode == "view":
        return {"projection": {"mode": "view", "view": f"only_{path}"}}, {}
    if mode == "deep":
        return {"projection": {"mode": "exclude", "fields": [f"**.{path.rpartition('.')[2]}"]}}, {}
    if mode == "none":
        return {"projection": {"mode": "include", "fields": fields, "schema": "none"}}, {}
    return {"projection": {"mode": mode, "fields": fields}}, {}


def prefix(rng):
    return rng.choice(("", "", "rows.", "rows.*.", "a.", "b.a.", "*.", "result.", "result.*.", "k.", f"{DENIED}."))


class Pairs:
    """Random pairs, each answered by one tool under one policy."""

    def __init__(self, seed):
        self.rng = Random(seed)
        self.pipeline = Pipeline()

    def case(self):
        rng = self.rng
        schema = None if rng.random() < 0.2 else schemas(rng, DENIED)
        if rng.random() < 0.3:
            fields = Fields(allow=tuple(FieldPath.parse(text) for text in ("id", "rows.id", "result.id", "a.id", "k")))
        else:
            fields = Fields(deny=(FieldPath((DENIED,), deep=True),))
        said = value(rng, DENIED)
        seat = rng.random()
        result = {"structuredContent": said, "content": []}
        if seat < 0.2:
            result = {"content": [{"type": "text", "text": json.dumps(said)}]}
        rules = (Rule("admins", Who(roles=frozenset({"admin"})), Fields()), Rule("all", Who(), fields))
        tool = {"name": TOOL, "inputSchema": {"type": "object"}}
        views = {f"only_{DENIED}": [DENIED]}
        policy = Policy("1", {TOOL: ToolPolicy(rules, is_for_others=True)})
        return Case(policy, tool if schema is None else {**tool, "outputSchema": schema}, result, {}, views, {})

    async def pair(self, wire):
        """The answers to both requests of a pair."""
        path = f"{prefix(self.rng)}{DENIED}"
        meta, arguments = requests(self.rng, path)
        asked = {"name": TOOL, "arguments": arguments, **({"_meta": meta} if meta else {})}
        other = json.loads(json.dumps(asked).replace(DENIED, UNKNOWN))
        return [await answered(wire.request, params) for params in (asked, other)]


async def answered(ask, params):
    """The answer to a call."""
    try:
        return json.dumps(await ask("tools/call", params))
    except MCPError as error:
        return json.dumps([error.error.code, error.error.message, error.error.data])


def differ(one, other):
    """Whether two answers differ in more than the name."""
    return one.replace(DENIED, UNKNOWN) != other


async def run(pairs, number):
    """How many pairs differ, and what came of them."""
    found, came = [], set()
    pairs.pipeline.begin(pairs.case())
    async with connect(pairs.pipeline.server, NEW) as wire:
        for count in range(number):
            if count % 4 == 0:
                pairs.pipeline.begin(pairs.case())
                await wire.request("tools/list")
            one, other = await pairs.pair(wire)
            came.add((one[:1], "isError" in one, '"applied": true' in one))
            if differ(one, other) or SECRET in one:
                found.append((one, other))
    return found, came


@pytest.mark.parametrize(
    ("seed", "pairs"), [(0, 400), *(pytest.param(seed, 5_000, marks=pytest.mark.deep) for seed in (2, 3))]
)
async def test_no_answer_tells_a_denied_path_from_one_that_does_not_exist(seed, pairs):
    """PRIVACY.md, P8: in every mode."""
    found, came = await run(Pairs(seed), pairs)
    assert found == []
    # Answers, and refusals as protocol errors and as results.
    assert len(came) >= 3


async def test_without_a_policy_they_are_told_apart():
    """Ours: that shows that the test bites."""

    def as_it_is(self, raw, *_):
        return SimpleNamespace(value=raw.unpruned)

    with patched(
        PolicyEnforcer, visible_call_result=as_it_is, visible_list=lambda self, method, raw, *_: as_it_is(self, raw)
    ):
        found, _ = await run(Pairs(0), 200)
    assert len(found) > 20


async def test_the_view_of_a_denied_field_is_an_unknown_view():
    """PRIVACY.md, P8; and it is told apart where views are not looked at."""
    pairs = Pairs(1)
    case = pairs.case()
    pairs.pipeline.begin(case)
    view = {"projection": {"mode": "view", "view": f"only_{DENIED}"}}
    other = json.loads(json.dumps(view).replace(DENIED, UNKNOWN))
    async with connect(pairs.pipeline.server, NEW) as wire:
        one, two = [
            await answered(wire.request, {"name": TOOL, "arguments": {}, "_meta": meta}) for meta in (view, other)
        ]
    assert not differ(one, two)


# Over real transports, before a real server

SAMPLE = 40


async def pairs_of(client, server):
    """Answers to pairs of requests that a real server's policy is asked with."""
    rng = Random(2)
    for _ in range(SAMPLE):
        path = rng.choice(("ssn", "friends.ssn", "friends.*.ssn", "either.ssn", "*.ssn", "`ssn`.x"))
        tool = rng.choice(("get_person", "list_people", "tell_person", "twins", "odd_names", "long"))
        meta, arguments = requests(rng, path)
        asked = {"name": f"{server}{tool}", "arguments": arguments, **({"_meta": meta} if meta else {})}
        yield [
            without_id(await client.request("tools/call", **json.loads(json.dumps(asked).replace("ssn", name))))
            for name in ("ssn", "sso")
        ]


def without_id(answer):
    return json.dumps(answer["result"] if "result" in answer else answer["error"])


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_nor_does_any_over_http(tmp_path, era):
    """PRIVACY.md, P8."""
    with gateway(tmp_path) as served:
        async with client_of(served.url, era) as client:
            for server in ("old__", "new__"):
                async for one, other in pairs_of(client, server):
                    assert one.replace("ssn", "sso") == other


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_nor_does_any_over_stdio(tmp_path, era):
    """PRIVACY.md, P8."""
    command = [*LOUVER, *written(tmp_path, servers=["old"])]
    async with raw(command, era) as client:
        async for one, other in pairs_of(client, ""):
            assert one.replace("ssn", "sso") == other


@contextmanager
def for_admins(folder, *options, guest="bob"):
    """A gateway whose tools are for admins alone, with the tokens `t-admin` of Ann and `t-guest`."""
    rules = [{"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]}]
    (folder / "it.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    tokens = {"t-admin": {"subject": "ann", "roles": ["admin"]}, "t-guest": {"subject": guest}}
    servers = {"it": fixture("everything", policy="it.policy.json")}
    written = config(folder, servers, auth={"tokens": token_file(folder, tokens)})
    with serving(*written, *options, no_auth=False) as served:
        yield served


@asynccontextmanager
async def as_two(url):
    """Clients with the two tokens."""
    async with bearing(url, "t-admin", STATELESS) as admin, bearing(url, "t-guest", STATELESS) as guest:
        yield admin, guest


THERE, MISSING = "test_x_mcp_header", "test_y_mcp_header"


async def test_nor_does_a_header_that_repeats_an_argument(tmp_path):
    """PRIVACY.md, P8 and P16: headers are checked by what their sender was listed, not by what somebody else was."""
    with for_admins(tmp_path) as served:
        async with as_two(served.url) as (admin, guest):
            assert THERE in json.dumps(await admin.result("tools/list"))
            asked = [{"name": name, "arguments": {"region": "eu"}} for name in (THERE, MISSING)]
            assert (await admin.error("tools/call", **asked[0]))["code"] == HEADER_MISMATCH
            one, other = [await guest.error("tools/call", **each) for each in asked]
            assert one == other


async def test_nor_does_a_script_of_the_same_subject_with_fewer_roles(tmp_path):
    """PRIVACY.md, P8 and P16: names of tools are kept for those who have the same rights, not for a subject."""
    with for_admins(tmp_path, "--exposure", "discovery", guest="ann") as served:
        async with as_two(served.url) as (admin, guest):
            scripts = [f"result(it.{name}({{}}):await())" for name in (THERE, MISSING)]
            assert "region=None" in json.dumps(await admin.call("execute", script=scripts[0]))
            one, other = [json.dumps(await guest.call("execute", script=each)) for each in scripts]
            assert one.replace(THERE, MISSING) == other
