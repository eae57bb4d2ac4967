"""A server under a policy, behind the gateway: what is read again, what is not served, and who is answered."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import ExitStack

import anyio
import pytest
from mcp import Client, MCPError

from fixtures.failsafe import FAILSAFE_S
from fixtures.tattled import SECRET
from gateway.gateways import LOUVER
from gateway.raw import raw
from gateway.served import config, fixture, serving
from louver.errors import InvalidPolicy
from louver.gateway.back.lists.list_cache import ListCache
from louver.gateway.back.policy_guard import Guard
from louver.gateway.clients.client import GatewayCaller
from louver.gateway.clients.client import GatewayClient as Served
from louver.gateway.clients.revisions import GATEWAY_IDENTITY
from louver.gateway.config.read import read_config
from louver.policy.policy import Policy
from louver.policy.principal import NOBODY
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.steps.policy.raw import Visible
from louver.wire.jsonrpc.errors import JsonRpcError
from policy.behind import ADMIN, RULES, inside, leaks, policy
from steps.wire import NEW, OLD

pytestmark = pytest.mark.anyio

TURN = GatewayCaller(Served(NEW, GATEWAY_IDENTITY))
LOOSE, TIGHT = {"name": "all", "deny": ["**.ssn"]}, {"name": "all", "allow": ["id"]}


def of(*rules):
    return json.dumps({"version": "1", "tools": {"*": {"rules": list(rules)}}})


async def seen(client):
    return (await client.call_tool("get_person", {})).structured_content


async def test_a_policy_that_changes_counts_from_then_on(tmp_path):
    """PRIVACY.md, "Policy file": swapped whole; a wrong one changes nothing and is logged, and the next one counts."""
    path = tmp_path / "it.policy.json"
    path.write_text(of(LOOSE))
    options = config(tmp_path, {"it": fixture("tattling", policy="it.policy.json")})
    with serving(*options) as served:
        async with Client(served.url) as client:
            assert (await seen(client))["name"] == "Ann"
            path.write_text('{"version": "1",\n "tools": {"*": {"rules": [{"name": "all", "deny": []}]}}}')
            told = served.says("stays as it was")
            assert f"{path}:2: 'deny' names one field or more" in told.string
            assert (await seen(client))["name"] == "Ann"
            path.write_text(of(TIGHT))
            async with asyncio.timeout(FAILSAFE_S):
                while await seen(client) != {"id": 1}:
                    pass
            path.unlink()
            served.says("the file of policy cannot be read")
            assert await seen(client) == {"id": 1}
    assert SECRET not in "".join(served.said)


@pytest.mark.parametrize("era", [OLD, NEW])
@pytest.mark.parametrize("server", ["old", "new"])
async def test_callers_are_answered_by_their_rules(tmp_path, era, server):
    """PRIVACY.md, "Policy file": selected by what the principal is."""
    for who, sees in ((ADMIN, True), (NOBODY, False)):
        async with inside(tmp_path, era, who, servers=[server]) as wire:
            assert leaks(await wire.call("get_person")) is sees
            assert ("ssn" in json.dumps((await wire.tools())["get_person"]["outputSchema"])) is sees


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_a_tool_that_the_policy_does_not_name_is_as_one_that_there_is_not(tmp_path, era):
    """PRIVACY.md, "Policy file": fail closed."""
    only = policy() | {"tools": {"twins": {"rules": RULES}}}
    async with inside(tmp_path, era, ADMIN, policy=only, servers=["old"]) as wire:
        assert list(await wire.tools()) == ["twins"]
        errors = []
        for name in ("get_person", "get_persom"):
            with pytest.raises(MCPError) as refused:
                await wire.call(name)
            errors.append(refused.value.error)
        assert errors[0] == errors[1]


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_a_caller_who_meets_no_rule_is_served_as_if_there_was_no_tool(tmp_path, era):
    """TRUST.md, row 5: one rule for admins showed everything to everybody."""
    only = policy() | {"tools": {"get_person": {"rules": RULES[:1]}, "twins": {"rules": RULES}}}
    async with inside(tmp_path, era, ADMIN, policy=only, servers=["old"]) as wire:
        assert set(await wire.tools()) == {"get_person", "twins"}
        assert leaks(await wire.call("get_person"))
    async with inside(tmp_path, era, policy=only, servers=["old"]) as wire:
        assert list(await wire.tools()) == ["twins"]
        errors = []
        for name in ("get_person", "get_persom"):
            with pytest.raises(MCPError) as refused:
                await wire.call(name)
            errors.append(refused.value.error)
        assert errors[0] == errors[1]


@pytest.mark.parametrize("kind", ["http", "stdio"])
async def test_a_request_without_an_id_reaches_no_server(tmp_path, kind):
    """Ours: to JSON-RPC it is a notification, but a server may serve it, and no rule on calls has been looked at."""
    options = config(tmp_path, {"it": fixture("faulty")})
    with ExitStack() as stack:
        target = stack.enter_context(serving(*options)).url if kind == "http" else [*LOUVER, *options]
        async with raw(target) as client:
            await client.notify("tools/call", name="echo", arguments={})
            await client.notify("notifications/x")
            # Notifications keep their order.
            assert len((await client.call("wait_for", seen="notifications/x"))["seen"]) == 1
            calls = (await client.call("wait_for", seen="tools/call"))["seen"]
            assert {call["params"]["name"] for call in calls} == {"wait_for"}


async def test_a_hidden_tool_is_looked_for_as_long_as_one_that_there_is_not(tmp_path):
    """PRIVACY.md, P8: the time that a refusal takes tells nothing."""
    rules = {"open": RULES, "hidden": RULES[:1]}
    path = tmp_path / "it.policy.json"
    path.write_text(json.dumps({"version": "1", "tools": {name: {"rules": each} for name, each in rules.items()}}))
    guard, session = Guard(PolicyEnforcer("it", Policy.read(path))), Listed("open", "hidden")

    async def answer(turn, params):
        return {"content": []}

    async def call(name):
        return await guard.send(session, TURN, "tools/call", {"name": name}, answer)

    await call("open")
    for name in ("hidden", "missing", "hidden", "missing"):
        before = session.asked
        with pytest.raises(JsonRpcError, match="Unknown tool"):
            await call(name)
        assert session.asked == before + 1
    before = session.asked
    await call("open")
    assert session.asked == before


class Listed:
    """The session of a server that has these tools; it counts how often it is asked for them."""

    def __init__(self, *names):
        self.lists = ListCache()
        self.asked = 0
        self._names = names

    async def tools(self):
        self.asked += 1
        return [{"name": name, "inputSchema": {"type": "object"}} for name in self._names]


async def test_fields_are_masked_and_hashed_with_their_schema(tmp_path):
    """PRIVACY.md, "Policy file": a client that validates can do so."""
    rule = {"name": "all", "mask": ["**.ssn"], "hash": ["name"]}
    async with inside(tmp_path, NEW, policy=policy(rule), servers=["old"]) as wire:
        schema = (await wire.tools())["get_person"]["outputSchema"]["properties"]
        answer = (await wire.call("get_person"))["structuredContent"]
        assert schema["ssn"] == {"const": "[masked]"}
        assert answer["ssn"] == answer["friends"][0]["ssn"] == "[masked]"
        assert answer["name"].startswith("p:")
        assert not leaks(answer)
        again = (await wire.call("tell_person"))["content"][0]["text"]
        assert json.loads(again)["name"] == answer["name"]


async def test_only_servers_under_a_policy_are_under_one(tmp_path):
    """GATEWAY.md, "Transparency first"."""
    (tmp_path / "it.policy.json").write_text(of(LOOSE))
    servers = {"free": fixture("tattling"), "it": fixture("tattling", policy="it.policy.json")}
    with serving(*config(tmp_path, servers)) as served:
        async with Client(served.url) as client:
            for name, tells in (("free", True), ("it", False)):
                result = await client.call_tool(f"{name}__get_person", {})
                assert leaks(result.model_dump(mode="json")) is tells


def test_a_wrong_policy_keeps_a_gateway_from_starting(tmp_path):
    """PRIVACY.md, "Policy file": validated at start."""
    (tmp_path / "it.policy.json").write_text(of({"name": "all", "hash": ["id"]}))
    options = config(tmp_path, {"it": fixture("tattling", policy="it.policy.json")})
    with pytest.raises(InvalidPolicy, match="'hash' needs a secret key"):
        read_config(tmp_path / "mcp.json")
    assert options[0] == "--config"


async def test_lists_are_made_visible_in_the_order_in_which_they_came():
    """Ours: a schema that is derived in a thread is derived once, and what was listed last counts."""
    begun, go_on = asyncio.Event(), threading.Event()
    made = []

    class Slow:
        """A policy under which the first list takes longer."""

        def check_client_request(self, method, params):
            return None

        def visible_list(self, method, raw, principal, look):
            number = raw.unpruned["number"]
            if number == 1:
                loop.call_soon_threadsafe(begun.set)
                assert go_on.wait(FAILSAFE_S)
            made.append(number)
            return Visible(raw.unpruned)

    async def ask(turn, params):
        return params

    async def list_of(what, number):
        return await guard.send(None, TURN, f"{what}/list", {"number": number}, ask)

    loop, guard = asyncio.get_running_loop(), Guard(Slow())
    first = asyncio.create_task(list_of("tools", 1))
    async with asyncio.timeout(FAILSAFE_S):
        await begun.wait()
    second = asyncio.create_task(list_of("tools", 2))
    for _ in range(20):
        await asyncio.sleep(0)
    assert made == []
    async with asyncio.timeout(FAILSAFE_S):
        # Nothing is derived for others.
        assert await list_of("resources", 3) == {"number": 3}
    go_on.set()
    assert await asyncio.gather(first, second) == [{"number": 1}, {"number": 2}]
    assert made == [3, 1, 2]


async def test_a_list_that_is_given_up_stops_before_the_next_tool(tmp_path):
    """Ours: else a process that is told to end would wait until all are made visible, for nobody."""
    loop, begun, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    path = tmp_path / "it.policy.json"
    path.write_text(of(LOOSE))
    guard = Guard(PolicyEnforcer("it", Policy.read(path)))
    shown, seen = [], guard.enforcer.listed_definition

    def show(tool, principal):
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(FAILSAFE_S)
        shown.append(tool["name"])
        return seen(tool, principal)

    guard.enforcer.listed_definition = show

    async def ask(turn, params):
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in "abc"]}

    async def ask_all():
        # As the list of several servers is asked for.
        async with anyio.create_task_group() as asking:
            asking.start_soon(guard.send, None, TURN, "tools/list", {}, ask)

    listing = asyncio.create_task(ask_all())
    async with asyncio.timeout(FAILSAFE_S):
        await begun.wait()
        listing.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.wait([listing])
    assert shown == ["a"]
