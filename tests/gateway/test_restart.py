"""An upstream that ends and is started anew: how soon, and that it is asked again for what clients want to be told."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.gateways import listening
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at, config, fixture, serving
from louver.concurrency.backoff import MAX_FAILURES, Backoff
from louver.errors import UpstreamUnavailable
from louver.gateway.back.fan_out.subscribers import Subscribers
from louver.gateway.back.lists.tool_pins import ToolPins
from louver.gateway.back.session import Session, SessionSettings
from louver.gateway.clients.revisions import GATEWAY_IDENTITY
from louver.limits import MAX_BACKOFF_S, MIN_BACKOFF_S

pytestmark = pytest.mark.anyio

UPDATED = "notifications/resources/updated"
CHANGED = "notifications/prompts/list_changed"

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])


def error_of(result):
    assert result["isError"] is True
    return json.loads(result["content"][0]["text"])["error"]


async def seen(client, method, number=1):
    """What the upstream, as it is now, has got of that method, once it was so many."""
    found = []
    async with asyncio.timeout(FAILSAFE_S):
        while len(found) < number:
            found = (await client.call("wait_for", seen=method)).get("seen", [])
    return found


async def dies(client):
    """Have the upstream end in the middle of a call."""
    assert error_of(await client.call("die"))["code"] == "UPSTREAM_UNAVAILABLE"


# How soon


def test_the_wait_doubles_and_is_bounded():
    """GATEWAY.md: 0.25 -> 30 s, five failures open a breaker; however many there are."""
    backoff = Backoff()
    assert backoff.wait_s == 0
    waits = []
    for _ in range(2000):
        backoff.record_failure("it is broken")
        waits.append(backoff.wait_s)
    expected = [MIN_BACKOFF_S * 2**number for number in range(MAX_FAILURES - 1)]
    assert waits[: len(expected)] == pytest.approx(expected, rel=0.1)
    assert waits[len(expected) :] == pytest.approx([MAX_BACKOFF_S] * (2000 - len(expected)), rel=0.1)
    backoff.reset()
    assert backoff.wait_s == 0
    backoff.record_failure("again")
    assert backoff.wait_s <= MIN_BACKOFF_S


@every_era
async def test_an_upstream_that_opens_and_ends_at_once_is_tried_later_each_time(tmp_path, era):
    """GATEWAY.md: restart with backoff; ours: to have opened is not to have been there."""
    servers = {
        "good": fixture("everything", isolation="shared"),
        "brief": fixture("unruly", "leaves", str(tmp_path / "runs"), isolation="shared"),
    }
    runs, errors = tmp_path / "runs", []
    with serving(*config(tmp_path, servers)) as served:
        async with raw(served.url, era) as client:
            async with asyncio.timeout(FAILSAFE_S):
                # A hundred calls can be over before the first wait is.
                while len(errors) < 100 or len(runs.read_text().splitlines()) < 2:
                    errors.append(error_of(await client.call("brief__echo")))
            assert (await client.call("good__test_simple_text"))["content"]
    assert {error["code"] for error in errors} == {"UPSTREAM_UNAVAILABLE"}
    assert 1 < len(runs.read_text().splitlines()) <= 10
    assert [error for error in errors if "it is tried again in" in error["message"]]


async def test_who_ends_their_own_process_at_once_waits_alone(tmp_path):
    """Ours: with a process for each client, one that ends at once is no failure of the others."""
    with serving(*config(tmp_path, {"one": fixture("unruly")})) as served:
        async with raw(served.url) as first, raw(served.url) as second:
            said = ""
            while "it is tried again in" not in said:
                said = error_of(await first.call("die"))["message"]
            assert (await second.call("echo"))["params"]["name"] == "echo"
            async with asyncio.timeout(FAILSAFE_S):
                while (await first.call("echo")).get("isError"):
                    pass
            # It has answered: that it ends now is no reason to wait.
            await dies(first)
            assert (await first.call("echo"))["params"]["name"] == "echo"


async def test_who_is_refused_by_a_server_keeps_nobody_else_out(tmp_path):
    """Ours: what is answered to a client's own `initialize` is no failure of the others, however often it tries."""
    said = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "unwelcome", "version": "1"}}
    with serving(*config(tmp_path, {"one": fixture("unruly", "choosy")})) as served:
        async with raw(served.url) as client:
            for _ in range(MAX_FAILURES):
                error = await client.error("initialize", **said)
                assert error["data"]["error"]["code"] == "UPSTREAM_UNAVAILABLE"
                assert "it refuses this client, with error -32602" in error["message"]
            async with raw(served.url) as other:
                assert (await other.call("echo"))["params"]["name"] == "echo"
    assert "canary" not in "".join(served.said)


async def test_an_upstream_that_ends_while_it_opens_has_not_opened():
    """Ours: its end may be read in one go with its first answer, before anybody could be told of it."""

    class Gone:
        """A link whose upstream says goodbye with its answer."""

        wants_headers = False

        def __init__(self, listener):
            self.listener = listener
            self.is_closed = False

        async def open(self):
            pass

        def set_version(self, version):
            pass

        async def call(self, call):
            self.listener.on_closed("it has ended")
            return {"supportedVersions": [STATELESS], "capabilities": {}}

        async def close(self):
            self.is_closed = True

    links, ends = [], []

    def link(listener):
        links.append(Gone(listener))
        return links[-1]

    async def told(method, params):
        pass

    settings = SessionSettings(
        "one", link, 1, ToolPins("one", "warn"), lambda *end: ends.append(end), lambda change: None
    )
    session = Session(settings, GATEWAY_IDENTITY, Subscribers(), told)
    with pytest.raises(UpstreamUnavailable, match="it has ended"):
        await session.open()
    assert links[0].is_closed


# What is asked for again


@pytest.mark.parametrize("kind", ["", "modern"], ids=[HANDSHAKE, STATELESS])
async def test_what_was_watched_is_watched_again(tmp_path, kind):
    """MCP, subscriptions: 2025-11-25 by requests, 2026-07-28 by its stream, on both sides; ours: also anew."""
    subscribing = "subscriptions/listen" if kind else "resources/subscribe"
    arguments = [kind] if kind else []
    with serving(*config(tmp_path, {"one": fixture("unruly", *arguments, isolation="shared")})) as served:
        async with raw(served.url) as first, raw(served.url) as second, raw(served.url, STATELESS) as modern:
            await first.result("resources/subscribe", uri="test://a")
            listening = modern.begin(
                modern.request("subscriptions/listen", notifications={"resourceSubscriptions": ["test://b"]})
            )
            await modern.hears("notifications/subscriptions/acknowledged")
            await seen(second, subscribing, 2)
            before = (await second.call("pid"))["pid"]
            await dies(second)
            assert (await second.call("pid"))["pid"] != before
            await seen(second, subscribing, 1 if kind else 2)
            for uri in ("test://a", "test://b"):
                await second.call("touch", uri=uri)
            assert [note["uri"] for note in await first.hears(UPDATED)] == ["test://a"]
            assert [note["uri"] for note in await modern.hears(UPDATED)] == ["test://b"]
            assert second.notes == []
            # What nobody watches any more is told to the upstream that is there now.
            listening.cancel()
            await first.result("resources/unsubscribe", uri="test://a")
            if kind:
                wanted = [call["params"]["notifications"] for call in await seen(second, subscribing, 3)]
                assert "resourceSubscriptions" not in wanted[-1]
            else:
                given_up = await seen(second, "resources/unsubscribe", 2)
                assert sorted(call["params"]["uri"] for call in given_up) == ["test://a", "test://b"]


async def test_what_is_given_up_meanwhile_is_not_asked_for(tmp_path):
    """Ours: also where there was no upstream to tell it."""
    with serving(*config(tmp_path, {"one": fixture("unruly", isolation="shared")})) as served:
        async with raw(served.url) as client, raw(served.url) as other:
            for each, uri in ((client, "test://a"), (other, "test://b")):
                await each.result("resources/subscribe", uri=uri)
            await dies(client)
            await other.end()
            await seen(client, "resources/subscribe")
            await client.result("resources/subscribe", uri="test://c")
            asked = await seen(client, "resources/subscribe", 2)
            assert [call["params"]["uri"] for call in asked] == ["test://a", "test://c"]


async def test_a_refusal_is_logged_without_content_and_nobody_is_told(tmp_path):
    """Ours: and an upstream that takes a later subscription is asked for it."""
    server = fixture("unruly", "changes", str(tmp_path / "runs"), isolation="shared")
    with serving(*config(tmp_path, {"one": server})) as served:
        async with raw(served.url) as client:
            await client.result("resources/subscribe", uri="test://a")
            await client.result("logging/setLevel", level="info")
            await dies(client)
            assert len(await seen(client, "resources/subscribe")) == 1
            for method in ("resources/subscribe", "logging/setLevel"):
                await asyncio.to_thread(
                    served.says, f"upstream 'one' refuses '{method}' after its restart: error -32601"
                )
            assert client.notes == []
            assert (await client.error("resources/subscribe", uri="test://a"))["code"] == -32601
        said = "".join(served.said)
    assert not [word for word in ("canary", "test://a", "Traceback") if word in said], said


async def test_a_stream_that_breaks_is_taken_up_again(tmp_path):
    """MCP 2026-07-28, subscriptions: an upstream over HTTP starts anew without a word."""
    wanted = {"promptsListChanged": True}
    with ExitStack() as upstream:
        url = upstream.enter_context(listening(0))
        with serving(*config(tmp_path, {"web": at(url)})) as served:
            async with raw(served.url, STATELESS) as client:
                client.begin(client.request("subscriptions/listen", notifications=wanted))
                await client.hears("notifications/subscriptions/acknowledged")
                await client.call("test_trigger_prompt_change")
                await client.hears(CHANGED)
                upstream.close()
                upstream.enter_context(listening(urlsplit(url).port))
                async with asyncio.timeout(FAILSAFE_S):
                    while len(client.heard(CHANGED)) < 2:
                        await client.call("test_trigger_prompt_change")
            assert served.find("upstream 'web' tells of no changes: the upstream")
