"""One bad upstream: whatever it floods the gateway with, nobody else notices.

Everything is a process of its own: the gateway, a good upstream, and a hostile one over each transport.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import httpx2
import pytest

from fixtures import floods
from gateway.bad_peer import withstand
from gateway.gateways import LOUVER_ITSELF
from gateway.raw import HANDSHAKE, PROGRAM, STATELESS, raw
from gateway.served import at, at_a_url, config, fixture, serving

pytestmark = pytest.mark.anyio

ASKED = {**PROGRAM, "elicitation": {}, "sampling": {}, "roots": {}}
SECONDS = 0.6
DEEP_SECONDS = 10

ATTACKS = [
    *(("web", kind) for kind in (*floods.MESSAGES, *floods.HTTP_ONLY)),
    *(("modern", kind) for kind in (*floods.MESSAGES, *floods.HTTP_ONLY)),
    *(("pipe", kind) for kind in (*floods.MESSAGES, *floods.STDIO_ONLY)),
]


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
        with serving(*config(tmp_path_factory.mktemp("hostile"), servers), command=LOUVER_ITSELF) as served:
            yield served
            assert "Traceback" not in "".join(served.said)


async def _call(url, era, tool, seconds):
    """Call a tool for ever, whatever becomes of it."""
    answers = {"roots/list": {"roots": []}, "elicitation/create": {"action": "decline"}}
    async with raw(url, era, capabilities=ASKED, answers=answers) as client:
        try:
            while True:
                meta = {"progressToken": 1}
                with suppress(AssertionError, httpx2.HTTPError):
                    await client.request("tools/call", name=tool, arguments={"seconds": seconds}, _meta=meta)
        finally:
            if era == HANDSHAKE:
                await client.end()


def attack(url, tool, seconds):
    async def attacking():
        await asyncio.gather(*(_call(url, era, tool, seconds) for era in (HANDSHAKE, STATELESS)))

    return attacking


@pytest.mark.parametrize(("server", "kind"), ATTACKS)
async def test_nobody_else_notices_a_hostile_upstream(gateway, server, kind):
    """TRUST.md, "one bad peer"."""
    await withstand(gateway, attack(gateway.url, f"{server}__{kind}", SECONDS), SECONDS)


@pytest.mark.deep
@pytest.mark.parametrize(("server", "kind"), ATTACKS)
async def test_nobody_else_notices_for_long(gateway, server, kind):
    """TRUST.md: ten minutes in all."""
    await withstand(gateway, attack(gateway.url, f"{server}__{kind}", DEEP_SECONDS / 2), DEEP_SECONDS)
