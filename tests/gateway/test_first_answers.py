"""A client that asks while servers are opening: lists are whole, and no call runs on a tool that is not known yet."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from mcp import MCPError

from fixtures.failsafe import OF_FORKS
from gateway.back.test_kept_catalogue import Starting, opened, run_before, tools
from gateway.raw import HANDSHAKE, STATELESS
from gateway.served import config
from louver.gateway.builtin import behind
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.gateway.routing import aggregate, dispatch, slow_lists
from steps.reading import descriptions, grants_in, required
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

every_era = pytest.mark.parametrize("era", [OLD, NEW])
OUTPUT = {"outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}}}


@pytest.fixture
def impatient(monkeypatch):
    """Clients that wait next to nothing for an opening."""
    for module in (aggregate, dispatch, slow_lists):
        monkeypatch.setattr(module, "LEFT_OUT_S", 0.05, raising=False)
    monkeypatch.setattr(behind, "SERVER_LOOK_S", 0.05)


@asynccontextmanager
async def before(folder, servers, era, *, kept=None, **louver):
    """A connection to a gateway in front of such servers, which all may keep a client waiting."""
    config(folder, {name: server.entry for name, server in servers.items()}, **louver)
    gateway = Gateway(read_config(folder / "mcp.json"), catalogues=kept)
    try:
        async with connect(sdk_server(gateway.answer), era) as wire:
            yield wire, gateway
    finally:
        await gateway.close()


def two(folder):
    return {name: Starting(folder, name=name) for name in ("good", "slow")}


@pytest.mark.usefixtures("impatient")
@every_era
async def test_a_call_of_a_tool_that_is_not_known_yet_is_gated(tmp_path, era):
    """TRUST.md, row 18: the gate waits for the server of a tool that it does not know, and for no other one."""
    servers = two(tmp_path)
    servers["slow"].waits()
    async with before(tmp_path, servers, era, exposure="minimal", disclosure="enforce") as (wire, _):
        assert "slow__read" not in await wire.tools()
        assert required(await wire.call("good__read"))
        servers["slow"].go()
        assert required(await wire.call("slow__read"))
        given = grants_in((await descriptions(wire, "slow__read"))["slow__read"])
        assert not required(await wire.call("slow__read", given))


@pytest.mark.usefixtures("impatient")
@every_era
async def test_a_call_of_a_tool_whose_server_does_not_open_is_refused(tmp_path, era):
    """Ours: with what is wrong, and not run."""
    servers = two(tmp_path)
    servers["slow"].waits()
    (servers["slow"].folder / "broken").touch()
    async with before(tmp_path, servers, era, exposure="minimal", disclosure="enforce") as (wire, _):
        await wire.tools()
        servers["slow"].go()
        with pytest.raises(MCPError, match="upstream 'slow' is not there") as refused:
            await wire.call("slow__read")
        assert refused.value.error.data["error"]["code"] == "UPSTREAM_UNAVAILABLE"


@pytest.mark.usefixtures("impatient")
@every_era
async def test_fields_of_a_tool_that_is_not_known_yet_are_named(tmp_path, era):
    """TRUST.md, "Unknown is not allowed": the server does not get the argument, nor the client the other fields."""
    servers = two(tmp_path)
    slow = servers["slow"]
    slow.lists(read=OUTPUT)
    (slow.folder / "output").write_text(json.dumps({"id": 7, "note": "long"}))
    slow.waits()
    async with before(tmp_path, servers, era) as (wire, _):
        assert "slow__read" not in await wire.tools()
        slow.go()
        answer = await wire.call("slow__read", {"output_fields": ["id"]})
        assert answer["structuredContent"] == {"id": 7}


@every_era
async def test_a_kept_definition_is_replaced_before_the_first_call(tmp_path, era):
    """Step 19: the server has another version by now, whose tool takes the argument; the call waits for its list."""
    server, kept = Starting(tmp_path), tmp_path / "kept"
    async with before(tmp_path, {"it": server}, era, kept=kept) as (wire, gateway):
        await wire.tools()
        await gateway.upstreams["it"].catalogue_kept()
    server.waits()
    server.lists(read=OUTPUT)
    (server.folder / "version").write_text("2")
    (server.folder / "output").write_text(json.dumps({"id": 7, "note": "long"}))
    async with before(tmp_path, {"it": server}, era, kept=kept) as (wire, _):
        assert "outputSchema" not in (await wire.tools())["read"]
        server.go()
        answer = await wire.call("read", {"output_fields": ["id"]})
        assert answer["structuredContent"] == {"id": 7}
        # Without having heard of a change: the next list is the server's own.
        assert "outputSchema" in (await wire.tools())["read"]


@asynccontextmanager
async def measured(folder, servers, era, **louver):
    """A gateway that starts where doctor, or another client, has had its servers before: which are slow by now."""
    kept = folder / "kept"
    async with before(folder, servers, era, kept=kept, **louver) as (_, gateway):
        # As doctor does it.
        await gateway.open()
        for upstream in gateway.upstreams.values():
            await upstream.catalogue_kept()
    for server in servers.values():
        server.waits()
        (server.folder / "version").write_text("2")
    async with before(folder, servers, era, kept=kept, **louver) as (wire, _):
        yield wire


@pytest.mark.usefixtures("impatient")
@every_era
@pytest.mark.parametrize("names", [("one",), ("one", "two")])
async def test_a_first_list_has_the_tools_of_a_server_that_is_slow(tmp_path, era, names):
    """Step 19: by doctor's measurement, for a client that nothing is kept for; the next list is the server's own."""
    servers = {name: Starting(tmp_path, name=name) for name in names}
    async with measured(tmp_path, servers, era) as wire:
        listed = {f"{name}__read" for name in names} if len(names) > 1 else {"read"}
        assert set(await wire.tools()) == listed
        assert not any(server.is_up for server in servers.values())
        for server in servers.values():
            server.lists(write="Write.")
            server.go()
        last = f"{names[-1]}__write" if len(names) > 1 else "write"
        await wire.call(last)
        assert last in await wire.tools()


@pytest.mark.usefixtures("impatient")
@every_era
async def test_servers_that_are_opening_are_named_and_searched(tmp_path, era):
    """Step 19: `list-servers` says that they start, and what they said of themselves; a search finds their tools."""
    servers = {name: Starting(tmp_path, name=name) for name in ("one", "two")}
    async with measured(tmp_path, servers, era, exposure="discovery", execute="off") as wire:
        answer = await wire.call("list-servers")
        for server in answer["structuredContent"]["servers"]:
            assert (server["state"], server["description"], server["instructions"]) == ("starting", "It starts.", "old")
        assert "Not there" not in answer["content"][0]["text"]
        found = (await wire.call("search-tools", {"needs": ["read"]}))["structuredContent"]["needs"]
        assert {tool["server"] for need in found for tool in need["tools"]} == {"one", "two"}
        assert not any(server.is_up for server in servers.values())


@pytest.mark.parametrize("wrong", ["damaged", "of another name", "gone"])
async def test_what_is_kept_of_something_else_is_not_served_for_long(tmp_path, wrong, monkeypatch):
    """Ours: damaged, it counts as absent; of another server, it is replaced by the first call."""
    for module in (aggregate, dispatch):
        monkeypatch.setattr(module, "LEFT_OUT_S", 0.05, raising=False)
    servers = two(tmp_path)
    async with measured(tmp_path, servers, OLD) as _:
        for file in (tmp_path / "kept").glob("*.json"):
            content = {"damaged": "{", "of another name": file.read_text().replace('"starting"', '"other"')}
            file.write_text(content[wrong]) if wrong in content else file.unlink()
    async with before(tmp_path, servers, OLD, kept=tmp_path / "kept") as (wire, gateway):
        assert len(await wire.tools()) == (2 if wrong == "of another name" else 0)
        for server in servers.values():
            server.go()
        await wire.call("good__read")
        await wire.call("slow__read")
        assert set(await wire.tools()) == {"good__read", "slow__read"}
        for upstream in gateway.upstreams.values():
            await upstream.catalogue_kept()
    # For each server that of this client, and that of the configuration.
    assert sum('"starting"' in file.read_text() for file in (tmp_path / "kept").glob("*.json")) == 4


async def test_a_tool_that_has_changed_over_a_restart_is_blocked(tmp_path):
    """TRUST.md, "Unknown is not allowed": a new session has listed nothing yet, and is no way around `onChange`."""
    server = Starting(tmp_path)
    server.entry["louver"] = {"onChange": "block"}
    async with before(tmp_path, {"it": server}, OLD) as (wire, gateway):
        await wire.tools()
        server.lists(read="Read, and send it.")
        upstream = gateway.upstreams["it"]
        (slot,) = (each for each in upstream._slots.values() if each.session is not None)
        upstream._end_idle(slot)
        answer = await wire.call("read")
        assert answer["isError"] is True
        assert answer["_meta"]["dev.louver/error"]["code"] == "TOOL_CHANGED"


@pytest.mark.parametrize("front", ["stdio", "http"])
@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_a_host_that_never_lists_again_has_every_tool(monkeypatch, tmp_path, era, front):
    """Step 19: in processes; nothing is kept of this client, but of another one."""
    servers = two(tmp_path)
    shared = {"louver": {"isolation": "shared"}}
    options = config(tmp_path, {name: {**server.entry, **shared} for name, server in servers.items()})
    other = "http" if front == "stdio" else "stdio"
    await run_before(options, era, files=2, front=other)
    servers["slow"].waits()
    monkeypatch.setenv(OF_FORKS.format("LEFT_OUT_S"), "0.2")
    async with opened(options, era, front) as client:
        assert set(await tools(client)) == {"good__read", "slow__read"}
        assert not servers["slow"].is_up
        servers["slow"].go()
        assert (await client.call("slow__read"))["content"][0]["text"] == "read"
