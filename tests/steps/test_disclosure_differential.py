"""With the layer taken out, everybody may do what they may with it: it leads the way and guards nothing."""

import json
import random
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp_types import INVALID_PARAMS

import louver
from steps.profiles import PROFILE, SCHEMA, lowlevel, structured, text, tool
from steps.reading import URI, grants_in, read, required
from steps.test_callers import caller
from steps.test_transparency import CALLS, bytes_of
from steps.wire import NEW, OLD, connect
from tests.fixtures.company import build_server

pytestmark = pytest.mark.anyio

ROLES = {"clerk": ("read",), "manager": ("read", "pay"), "guest": ()}
CALLERS = list(ROLES)
PLENTY = 1_000_000


def guarded():
    """A server that lists to each caller what it may see, and checks again when it is called.

    `audit` is listed to nobody and served to managers; `export` is listed to all and refused to guests.
    """

    def scopes():
        token = get_access_token()
        return [] if token is None else token.scopes

    def only(scope):
        def answer(arguments):
            if scope not in scopes():
                raise MCPError(code=INVALID_PARAMS, message="not for you")
            return structured({**PROFILE, "id": arguments.get("n", 7)})

        return answer

    made = lowlevel(export=tool(SCHEMA, only("read")), prose=tool(None, text("words")))
    hidden = {"pay": ("pay", tool(SCHEMA, only("pay"))), "read": ("read", tool(SCHEMA, only("read")))}
    made.tools["audit"] = tool(SCHEMA, only("pay"))
    everything = {**made.tools, **{name: each for name, (_, each) in hidden.items()}}

    def before_listing():
        seen = {name: each for name, (scope, each) in hidden.items() if scope in scopes()}
        made.tools = {"export": everything["export"], "prose": everything["prose"], **seen}

    made.before_listing = before_listing
    made.everything = everything
    return made


async def answered(wire, name, arguments, grants=None):
    """What a call is answered, as bytes."""
    params = {"name": name, "arguments": {**arguments, **(grants or {})}}
    return await bytes_of(wire, "tools/call", params)


async def learn(wire, names):
    """The arguments that descriptions ask to copy, of the tools that there are."""
    found, _ = await read(wire, f"{URI}?tools={','.join(names)}")
    return {name: grants_in(described) if "inputSchema" in described else {} for name, described in found.items()}


async def test_every_call_of_the_example_is_answered_as_without(era):
    """000 section 10.1: once read, byte for byte; whether it succeeds, fails, or is of no tool."""
    server = build_server()
    louver.attach(server, disclosure="enforce")
    async with connect(build_server(), era) as plain, connect(server, era) as wire:
        grants = await learn(wire, {name: None for name, _ in CALLS})
        for name, arguments in CALLS:
            assert await answered(wire, name, arguments, grants[name]) == await answered(plain, name, arguments)


async def said(server, era, calls, *, disclosed):
    """What each call of each caller is answered, read or not; the roles as they are given."""
    found = []
    async with connect(server, era) as wire:
        for who, name, arguments in calls:
            with caller(who, *ROLES[who]):
                grants = await learn(wire, [name]) if disclosed else {}
                found.append(await answered(wire, name, arguments, grants.get(name)))
    return found


@pytest.mark.parametrize("era", [OLD, NEW])
@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(CALLERS),
            st.sampled_from(["export", "prose", "pay", "read", "audit", "nope", "Export"]),
            st.sampled_from([{}, {"n": 1}]),
        ),
        max_size=8,
    ),
    mode=st.sampled_from(["enforce", "on-error"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
async def test_whoever_reads_first_may_do_just_what_it_may_without(era, calls, mode):
    """000 sections 5.3 and 10.1, a law: other authorisation stands, before and behind."""
    plain, made = guarded(), guarded()
    plain.tools = made.tools = dict(plain.everything)
    served(plain)
    served(made)
    louver.attach(made.server, disclosure=mode, reads_per_minute=PLENTY)
    assert await said(made.server, era, calls, disclosed=True) == await said(plain.server, era, calls, disclosed=False)
    assert made.calls == plain.calls


def served(made):
    """Have every tool served, whatever was listed last."""
    inner = made.server._request_handlers["tools/call"].handler

    async def call(ctx, params):
        made.tools = made.everything
        if params.name not in made.tools:
            raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
        return await inner(ctx, params)

    made.server.add_request_handler("tools/call", made.server._request_handlers["tools/call"].params_type, call)


async def test_reading_gives_nobody_a_tool(era):
    """000 section 10.1: a description grants no access, to a tool that is seen or to one that is not."""
    made = guarded()
    served(made)
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, era) as wire:
        with caller("guest"):
            found, _ = await read(wire, f"{URI}?tools=export,pay,audit")
            assert found.keys() == {"export", "pay", "audit"}
            assert "error" in found["pay"]
            assert "error" in found["audit"]
            for name in found:
                grants = grants_in(found[name]) if "inputSchema" in found[name] else {}
                answer = json.loads(await answered(wire, name, {}, grants))
                assert answer["message"] == "not for you"


async def test_a_refused_call_has_run_nothing(era):
    """Ours: neither the tool, nor anything of the server's but its list."""
    made = lowlevel(t=tool(SCHEMA, lambda _: structured(deepcopy(PROFILE))))
    methods = []

    async def look(ctx, call_next):
        if ctx.request_id is not None:
            methods.append(ctx.method)
        return await call_next(ctx)

    louver.attach(made.server, disclosure="enforce")
    made.server.middleware.append(look)
    dice = random.Random(7)
    async with connect(made.server, era) as wire:
        methods.clear()
        for _ in range(10):
            arguments = dice.choice([{}, {"user_id": 1}, {"grant": "x"}, {"output_fields": ["a"]}])
            assert required(await wire.call("t", arguments))
    assert set(methods) == {"tools/list"}
    assert made.calls == []
