"""Clients of both eras that call hostile tools for ever, in a process of their own: what floods them is a lot to read.

python -m gateway.flooded URL SERVER SECONDS KIND...    each tool for so long, over and over, until SIGINT
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from itertools import cycle

import httpx2

from gateway.raw import HANDSHAKE, PROGRAM, STATELESS, raw

ASKED = {**PROGRAM, "elicitation": {}, "sampling": {}, "roots": {}}
ANSWERS = {"roots/list": {"roots": []}, "elicitation/create": {"action": "decline"}}


async def call(url, era, server, kinds, seconds):
    """Call the tools, whatever becomes of it."""
    async with raw(url, era, capabilities=ASKED, answers=ANSWERS) as client:
        try:
            for kind in cycle(kinds):
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        while True:
                            arguments = {"name": f"{server}__{kind}", "arguments": {"seconds": seconds / 2}}
                            with suppress(AssertionError, httpx2.HTTPError):
                                await client.request("tools/call", **arguments, _meta={"progressToken": 1})
                            client.notes.clear()
                            client.questions.clear()
        finally:
            if era == HANDSHAKE:
                await client.end()


async def main(url, server, seconds, *kinds):
    # Not `gather`: it would not wait for the session's end.
    async with asyncio.TaskGroup() as calls:
        for era in (HANDSHAKE, STATELESS):
            calls.create_task(call(url, era, server, kinds, float(seconds)))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(main(*sys.argv[1:]))
