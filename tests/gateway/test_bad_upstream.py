"""One bad upstream: whatever it floods the gateway with, nobody else notices.

Everything is a process of its own: the gateway, a good upstream, and a hostile one over each transport.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from fixtures import floods
from fixtures.failsafe import FAILSAFE_S, OF_FORKS, until
from fixtures.forking import PYTHON
from gateway.bad_peer import withstand
from gateway.flooded import ASKED
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at, at_a_url, config, fixture, serving

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[1]
SECONDS = 0.2
DEEP_SECONDS = 3

ATTACKS = [
    *(pytest.param(server, kinds, SECONDS, id=server) for server, kinds in floods.SERVERS.items()),
    *(
        pytest.param(floods.server_of(kind), [kind], DEEP_SECONDS, id=kind, marks=pytest.mark.deep)
        for kind in floods.TOOLS
    ),
]
"""Each kind for a short time, one after the other; and each alone, over one of the transports."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """A gateway before a good upstream, and three that are hostile."""
    with at_a_url("hostile", "--http") as web, at_a_url("hostile", "--http", "modern") as modern:
        servers = {
            "good": fixture("unruly", isolation="shared"),
            "web": at(web),
            "modern": at(modern),
            "pipe": fixture("hostile", isolation="shared"),
        }
        # Those that read nothing are left alone after that: what they have taken is given back.
        env = {**os.environ, OF_FORKS.format("UPSTREAM_SEND_SECONDS"): "0.2"}
        with serving(*config(tmp_path_factory.mktemp("hostile"), servers), env=env) as served:
            yield served
            assert "Traceback" not in "".join(served.said)


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
@pytest.mark.parametrize("server", floods.SERVERS)
async def test_a_ping_of_an_upstream_reaches_no_client(gateway, era, server):
    """TRUST.md, row 11: a 2026-07-28 client got `input_required`."""
    async with raw(gateway.url, era, capabilities=ASKED) as client:
        result = await client.call(f"{server}__pings", seconds=0)
        assert "inputRequests" not in result
        assert result["content"] == []
        assert client.questions == []


@pytest.mark.parametrize(("server", "kinds", "seconds"), ATTACKS)
async def test_nobody_else_notices_a_hostile_upstream(gateway, server, kinds, seconds):
    """TRUST.md, "one bad peer"."""

    command = [PYTHON, "-m", "gateway.flooded", gateway.url, server, str(seconds), *kinds]
    turns = Counter()

    async def attack():
        flooded = await asyncio.create_subprocess_exec(*command, cwd=TESTS, stdout=asyncio.subprocess.PIPE)
        try:
            async for kind in flooded.stdout:
                turns[kind] += 1
        finally:
            # It ends its session.
            flooded.send_signal(signal.SIGINT)
            async with asyncio.timeout(FAILSAFE_S):
                await flooded.wait()

    # A server that the last attack ended is there again before anything is counted.
    async with raw(gateway.url) as client:
        for each in floods.SERVERS:
            await until(lambda tool=f"{each}__echo": _answers(client, tool))
    # The client of one era, if not that of the other, has gone through all of them.
    patience = 5 if seconds == DEEP_SECONDS else 1
    await withstand(gateway, attack(), lambda: turns.total() > 2 * len(kinds), patience=patience)


async def _answers(client, tool):
    return not (await client.call(tool)).get("isError")
