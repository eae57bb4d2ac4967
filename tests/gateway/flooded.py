"""Clients of both eras that call hostile tools for ever, in a process of their own: what floods them is a lot to read.

python -m gateway.flooded URL SERVER SECONDS KIND...    each tool for so long, over and over, until SIGINT

Each client prints a kind when it begins with it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from itertools import cycle

import httpx2

from gateway.raw import HANDSHAKE, PROGRAM, STATELESS, raw

ASKED = {**PROGRAM, "elicitation": {}, "sampling": {}, "roots": {}}
ANSWERS = {"roots/list": {"roots": []}, "elicitation/create": {"action": "decline"}}


async def call(url, era, server, kinds, seconds, stop):
    """Call the tools, whatever becomes of it."""
    async with raw(url, era, capabilities=ASKED, answers=ANSWERS) as client:
        for kind in cycle(kinds):
            print(kind, flush=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while not stop.is_set():
                        arguments = {"name": f"{server}__{kind}", "arguments": {"seconds": seconds / 2}}
                        with suppress(AssertionError, httpx2.HTTPError):
                            await client.request("tools/call", **arguments, _meta={"progressToken": 1})
                        client.notes.clear()
                        client.questions.clear()
            if stop.is_set():
                break
        if era == HANDSHAKE:
            await client.end()


async def main(url, server, seconds, *kinds):
    # Not by cancellation, which HTTP clients lose now and then while they connect.
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    async with asyncio.TaskGroup() as calls:
        for era in (HANDSHAKE, STATELESS):
            calls.create_task(call(url, era, server, kinds, float(seconds), stop))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
