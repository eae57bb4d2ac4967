"""Several servers of which one is slow, or not there: the others are served meanwhile, and it is told when it comes."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager
from urllib.parse import urlsplit

import pytest

from fixtures.failsafe import FAILSAFE_S, OF_FORKS
from gateway.gateways import LOUVER, listening
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at, config, fixture, serving

pytestmark = pytest.mark.anyio

CHANGED = "notifications/tools/list_changed"

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
every_front = pytest.mark.parametrize("front", ["stdio", "http"])


@asynccontextmanager
async def opened(arguments, front, era):
    """A client that listens to changes."""
    with ExitStack() as gateway:
        target = [*LOUVER, *arguments]
        if front == "http":
            target = gateway.enter_context(serving(*arguments)).url
        async with raw(target, era) as client:
            await listens(client)
            yield client


async def listens(client):
    if client.era == STATELESS:
        wanted = {"toolsListChanged": True, "resourcesListChanged": True}
        client.begin(client.request("subscriptions/listen", notifications=wanted))
        await client.hears("notifications/subscriptions/acknowledged")


async def servers(client):
    """The servers whose tools are listed."""
    return {tool["name"].partition("__")[0] for tool in (await client.result("tools/list"))["tools"]}


async def lists(client, *wanted):
    """Wait until the tools of these are listed: a list that lacks one is followed by a change."""
    while True:
        told = len(client.heard(CHANGED))
        if (listed := await servers(client)) == {*wanted}:
            return told
        assert listed < {*wanted}
        await client.hears(CHANGED, told + 1)


@pytest.fixture
def little_patience(monkeypatch):
    """Lists go on without slow servers, in forks."""
    monkeypatch.setenv(OF_FORKS.format("LEFT_OUT_S"), "0.2")


@pytest.mark.usefixtures("little_patience")
@every_front
@every_era
async def test_a_server_that_does_not_open_keeps_nobody_waiting_for_the_others(tmp_path, front, era):
    """GATEWAY.md: an upstream that dies at start shows as unhealthy, the rest serve; ours: so does one that hangs. What
    it has is told once it is there, and it may have anything."""
    come = tmp_path / "come"
    arguments = config(tmp_path, {"good": fixture("unruly"), "slow": fixture("unruly", "waits", come, "initialize")})
    async with opened(arguments, front, era) as client:
        told = await lists(client, "good")
        assert (await client.error("resources/read", uri="test://nothing"))["code"] == -32602
        assert {"prompts", "completions"} <= client.opening["capabilities"].keys()
        come.touch()
        await client.hears(CHANGED, told + 1)
        await lists(client, "good", "slow")
        assert (await client.call("slow__echo"))["params"]["name"] == "echo"


@pytest.mark.usefixtures("little_patience")
@every_front
@every_era
async def test_a_server_that_does_not_list_keeps_nobody_waiting_for_the_others(tmp_path, front, era):
    """GATEWAY.md: likewise, one that errors on `tools/list`. What it lists after all is told."""
    come = tmp_path / "come"
    arguments = config(tmp_path, {"good": fixture("unruly"), "slow": fixture("unruly", "waits", come, "tools/list")})
    async with opened(arguments, front, era) as client:
        told = await lists(client, "good")
        # It is asked already.
        assert await servers(client) == {"good"}
        come.touch()
        await client.hears(CHANGED, told + 1)
        await lists(client, "good", "slow")
        assert (await client.call("slow__echo"))["params"]["name"] == "echo"


@every_era
@pytest.mark.parametrize("isolation", ["shared", "session"])
async def test_a_server_that_comes_and_goes_is_told_and_tried_again_by_itself(tmp_path, era, isolation):
    """MCP, `list_changed`: that the list has changed. Ours: nobody need call a server for it to be started again."""
    there = tmp_path / "there"
    needs = fixture("unruly", "needs", there, isolation=isolation)
    arguments = config(tmp_path, {"good": fixture("unruly"), "needs": needs})
    async with opened(arguments, "http", era) as client:
        assert await servers(client) == {"good"}
        if era == HANDSHAKE:
            assert await client.result("logging/setLevel", level="error") == {}
        there.touch()
        await client.hears(CHANGED)
        assert await servers(client) == {"good", "needs"}
        if era == HANDSHAKE:
            seen = (await client.call("needs__wait_for", seen="logging/setLevel"))["seen"]
            assert [call["params"]["level"] for call in seen] == ["error"]
        there.unlink()
        assert (await client.call("needs__die"))["isError"] is True
        await client.hears(CHANGED, 2)
        assert await servers(client) == {"good"}
        there.touch()
        await client.hears(CHANGED, 3)
        assert await servers(client) == {"good", "needs"}


async def test_who_has_a_server_of_its_own_is_told_alone_that_it_goes(tmp_path):
    """GATEWAY.md, `isolation: session`: what a client's own server does is that client's."""
    with serving(*config(tmp_path, {"one": fixture("unruly"), "two": fixture("unruly")})) as served:
        async with raw(served.url) as client, raw(served.url) as other, raw(served.url, STATELESS) as modern:
            await listens(modern)
            for each in (client, other, modern):
                assert await servers(each) == {"one", "two"}
            assert (await client.call("one__die"))["isError"] is True
            await client.hears(CHANGED)
            await other.call("two__storm", times=1)
            await modern.call("two__storm", times=1)
            for each in (other, modern):
                assert len(await each.hears(CHANGED)) == 1


async def test_of_a_server_alone_nothing_is_told(tmp_path):
    """GATEWAY.md, "Transparency first": it has told nothing itself."""
    with serving(*config(tmp_path, {"one": fixture("unruly", isolation="shared")})) as served:
        async with raw(served.url) as client, raw(served.url, STATELESS) as modern:
            await listens(modern)
            assert (await client.call("echo"))["params"]["name"] == "echo"
            assert (await client.call("die"))["isError"] is True
            assert (await client.call("echo"))["params"]["name"] == "echo"
            await modern.call("storm", times=1)
            for each in (client, modern):
                assert len(await each.hears(CHANGED)) == 1


@every_era
async def test_a_server_at_a_url_that_is_started_again_is_told(tmp_path, era):
    """Ours: over HTTP a session does not end with the server; that it was left out of a list is known."""
    with ExitStack() as web:
        url = web.enter_context(listening(0))
        arguments = config(tmp_path, {"good": fixture("unruly"), "web": at(url, isolation="shared")})
        async with opened(arguments, "http", era) as client:
            assert await servers(client) == {"good", "web"}
            web.close()
            # What is kept of it counts until it is known that it is not there.
            async with asyncio.timeout(FAILSAFE_S):
                while "web" in await servers(client):
                    pass
            web.enter_context(listening(urlsplit(url).port))
            await client.hears(CHANGED, len(client.heard(CHANGED)) + 1)
            assert await servers(client) == {"good", "web"}
