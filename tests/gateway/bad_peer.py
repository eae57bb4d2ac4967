"""What one bad peer may do to the others: nothing that they notice.

    async def attack(): ...                      a peer attacks until this is cancelled
    await withstand(served, good, attack, 10)    meanwhile the calls of a good client are answered as before

The peer is an upstream, whose tool is called by `attack`, or a client. One that keeps the interpreter of the tests busy
belongs in a process of its own: the good client runs here.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fixtures.failsafe import until
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import children

MAX_STALL_S = 0.25
"""PRIVACY.md: the event loop never stalls over 250 ms."""

MAX_FACTOR, ALLOWANCE_S = 2, 0.1
"""TRUST.md: the 99th percentile of others at most doubles; tiny values may grow by so much, as turns of the loop do."""

MIN_CALLS = 5
"""Calls that are measured, also where the machine is busy."""

MAX_GROWTH = 96 * 2**20
"""Bytes by which the memory may have grown afterwards: allocators keep what they have had."""

TRIES = 3
"""How often others are looked at: what happens each time is the peer's doing, and not that of a busy machine."""


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


def processor_time(pid):
    """The seconds that a process has been on a processor."""
    # The clock of another process: clock_getcpuclockid(3).
    return time.clock_gettime((~pid << 3) | 2)


class Times:
    """How long requests took, by the processor time of the gateway, whatever else the machine does."""

    def __init__(self, pid):
        self._pid = pid
        self.busy = []

    async def take(self, waiting):
        began, cpu_began = time.perf_counter(), processor_time(self._pid)
        result = await waiting
        # What its threads do at once counts once.
        self.busy.append(min(time.perf_counter() - began, processor_time(self._pid) - cpu_began))
        return result

    @property
    def p99(self):
        return sorted(self.busy)[int(len(self.busy) * 0.99)]


class GoodClient:
    """A client that calls a tool of the good upstream, one call after the other, and asks for the gateway's health.

    It is best of 2026-07-28, and subscribes to nothing: what floods other clients does not keep the interpreter of the
    tests busy, which would count as a wait.
    """

    def __init__(self, client, pid, tool):
        self._client = client
        self._pid = pid
        self._tool = tool
        self._health = client.url.removesuffix("/mcp") + "/healthz"

    async def works(self, seconds):
        """The times of calls, and of looks at its health, which take few turns of the loop, for as long as that."""
        calls, looks = Times(self._pid), Times(self._pid)
        over = asyncio.create_task(asyncio.sleep(seconds))
        while not over.done() or len(calls.busy) < MIN_CALLS:
            assert (await looks.take(self._client.client.get(self._health))).status_code == 200
            result = await calls.take(self._client.call(self._tool))
            assert not result.get("isError"), result
        return calls, looks


async def withstand(served, attack, seconds, *, tool="good__echo", is_gated=False):
    """Have a peer attack for so long: the others, and what the gateway has, are as before.

    With `is_gated` the description of the tool has to be read first, and a session remembers that.
    """
    async with raw(served.url, HANDSHAKE if is_gated else STATELESS) as client:
        if is_gated:
            await client.call("get_tool_descriptions", tools=[tool])
        good = GoodClient(client, served.pid, tool)
        calm, _ = await good.works(min(seconds, 5) / 2)
        before = Resources.of(served.pid)
        attacking = asyncio.create_task(attack())
        try:
            for _ in range(TRIES):
                calls, looks = await good.works(seconds)
                assert not attacking.done() or attacking.exception() is None, attacking.exception()
                if max(looks.busy) < MAX_STALL_S and calls.p99 < MAX_FACTOR * calm.p99 + ALLOWANCE_S:
                    break
        finally:
            attacking.cancel()
            await asyncio.gather(attacking, return_exceptions=True)
        with suppress(TimeoutError):
            await until(lambda: Resources.of(served.pid).is_like(before))
        after = Resources.of(served.pid)
    assert max(looks.busy) < MAX_STALL_S, max(looks.busy)
    assert calls.p99 < MAX_FACTOR * calm.p99 + ALLOWANCE_S, (calm.p99, calls.p99)
    assert after.is_like(before), (before, after)
