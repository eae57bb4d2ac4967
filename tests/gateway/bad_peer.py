"""What one bad peer may do to the others: nothing that they notice.

    await withstand(served, attack, is_enough)    a peer attacks until it is; each call of a good client is answered

The peer is an upstream, whose tool is called by `attack`, or a client. What others wait for meanwhile is a figure of
`benchmarks`; that no turn of the loop takes long is seen by the stall guard (`fixtures/stalls.py`).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fixtures.failsafe import until
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import children

MAX_GROWTH = 96 * 2**20
"""Bytes by which the memory may have grown afterwards: allocators keep what they have had."""


@dataclass(frozen=True)
class Resources:
    """What a process has."""

    descriptors: int
    processes: int
    memory: int

    @classmethod
    def of(cls, pid):
        status = Path(f"/proc/{pid}/status").read_text()
        memory = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
        return cls(len(list(Path(f"/proc/{pid}/fd").iterdir())), len(children(pid)), int(memory) * 1024)

    def is_like(self, before):
        return (
            self.descriptors <= before.descriptors
            and self.processes <= before.processes
            and self.memory <= before.memory + MAX_GROWTH
        )


MIN_CALLS = 5
"""Calls of others that are answered while the attack goes on."""


async def withstand(served, attack, is_enough, *, tool="good__echo", is_gated=False, patience=1):
    """Have a peer attack: others are served, and the gateway afterwards has what it had before.

    With `is_gated` the description of the tool has to be read first, and a session remembers that. A peer with much to
    read on its own connections, for which the gateway waits, needs more `patience`, in fail-safes.
    """
    async with raw(served.url, HANDSHAKE if is_gated else STATELESS) as good:
        if is_gated:
            await good.call("get_tool_descriptions", tools=[tool])

        async def is_served():
            assert (await good.client.get(good.url.removesuffix("/mcp") + "/healthz")).status_code == 200
            result = await good.call(tool)
            assert not result.get("isError"), result

        await is_served()
        before, calls = Resources.of(served.pid), 0
        attacking = asyncio.create_task(attack)
        try:
            while calls < MIN_CALLS or not is_enough():
                await is_served()
                assert not attacking.done(), attacking.exception()
                calls += 1
        finally:
            attacking.cancel()
            await asyncio.gather(attacking, return_exceptions=True)
        for _ in range(patience):
            with suppress(TimeoutError):
                await until(lambda: Resources.of(served.pid).is_like(before))
                # Once is enough: what connects again has one more for a moment.
                return
        raise AssertionError(before, Resources.of(served.pid))
