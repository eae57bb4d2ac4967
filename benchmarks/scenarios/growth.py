"""What each tool and each session costs a gateway, where there are few and where there are many.

    tool       read from the server and listed once, of 1,000 and of 10,000
    session    of a 2025-11-25 client that has opened it and made one call, of 500 and of 2,000 in front of one shared
               session with the server

Time is of the gateway's processor; a gateway with ten tools, or one session, is taken off.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.conversation import HANDSHAKE, MODERN, Conversation
from benchmarks.process_tree import processor_s
from benchmarks.proxies import louver, upstream
from benchmarks.results import Group, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.scenarios import Setting

TOOLS: Final = (10, 1_000, 10_000)
SESSIONS: Final = (1, 500, 2_000)
SESSIONS_OF_ADDRESS: Final = 500
"""No client has more than 1,000."""


class _Cost(NamedTuple):
    processor_s: float
    memory_mb: float


def run(_: Setting) -> Iterator[Group]:
    """All cases, each once: they are sums over many."""
    yield from _a_unit("tool", TOOLS, _with_tools)
    yield from _a_unit("session", SESSIONS, _with_sessions)


def _a_unit(case: str, counts: tuple[int, ...], cost_of: Callable[[int], _Cost]) -> Iterator[Group]:
    least, *more = counts
    base = cost_of(least)
    costs = {count: cost_of(count) for count in more}
    for name, unit, each in (
        (case, "s", {count: (cost.processor_s - base.processor_s) for count, cost in costs.items()}),
        (f"{case}, memory", "kB", {count: (cost.memory_mb - base.memory_mb) * 1e3 for count, cost in costs.items()}),
    ):
        rows = (Row.exact(f"of {count:,}", total / (count - least)) for count, total in each.items())
        yield Group(name, f"{case}s", 0, unit, None, tuple(rows))


def _with_tools(count: int) -> _Cost:
    with upstream("--tools", str(count)) as behind, louver("--url", behind.url) as gateway:
        client = Conversation(gateway.url, MODERN)
        # The gateway serves before it has read the list.
        while len(client.tools()) < count:
            time.sleep(0.1)
        client.close()
        return _Cost(processor_s(gateway.process), gateway.rss_mb())


def _with_sessions(count: int) -> _Cost:
    with upstream() as behind, TemporaryDirectory() as folder, ExitStack() as stack:
        config = Path(folder) / "mcp.json"
        server = {"url": behind.url, "louver": {"isolation": "shared"}}
        config.write_text(json.dumps({"mcpServers": {"issues": server}}), encoding="utf-8")
        gateway = stack.enter_context(louver("--config", str(config)))
        for number in range(count):
            source = f"127.0.0.{1 + number // SESSIONS_OF_ADDRESS}"
            client = Conversation(gateway.url, HANDSHAKE, source=source)
            client.request("tools/call", {"name": "1000", "arguments": {}}).send()
            # The session stays, not the connection.
            client.close()
        return _Cost(processor_s(gateway.process), gateway.rss_mb())
