"""Processes: 200 clients of 2025-11-25 over HTTP before five servers over stdio, which share them or have their own.

    shared           one process of each server for all clients
    session          one of each server for each client
    session, 200     the same, with `maxProcesses` 200: further clients are refused

Each client has a token of its own, opens a session, lists the tools and calls each server once. All stay connected
until the figures are taken: the processes below the gateway, their memory (PSS, with the gateway's), the time from
`initialize` to its answer, and the clients that every server has answered. The servers are scripts without imports to
speak of, so that 1,000 fit. What a process of the SDK takes is measured with fewer clients.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.conversation import HANDSHAKE, Conversation, Refused
from benchmarks.process_tree import pss_mb, tree
from benchmarks.proxies import STDIO_UPSTREAM, louver
from benchmarks.results import Group, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.proxies import Serving
    from benchmarks.scenarios import Setting

CLIENTS = 200
SERVERS = 5
AT_ONCE = 8
"""So many clients open at the same time."""

BOUND = 200
"""Processes that the bounded gateway may run."""

SDK_CLIENTS = 5


class _Server(NamedTuple):
    command: list[str]
    tool: str


_SCRIPT = _Server(
    [sys.executable, str(Path(__file__).parents[2] / "tests" / "fixtures" / "named.py"), '["greet"]'], "greet"
)
_SDK = _Server(STDIO_UPSTREAM, "1000")


@dataclass(frozen=True, slots=True)
class Counted:
    """What one gateway took, and how its clients fared.

    Args:
        processes: Below the gateway.
        memory_mb: Of all of them and the gateway.
        process_mb: Of one of them, on average.
        openings: The seconds that each client that was not refused waited for its session.
        served: Clients that every server has answered.
    """

    processes: int
    memory_mb: float
    process_mb: float
    openings: list[float]
    served: int


def run(_: Setting) -> Iterator[Group]:
    """All figures, of one turn each: what is counted does not vary, and the openings are many."""
    own = {"isolation": "session", "maxProcesses": 2 * CLIENTS * SERVERS}
    counted = {
        "shared": _counted({"isolation": "shared"}, _SCRIPT, CLIENTS),
        "session": _counted(own, _SCRIPT, CLIENTS),
        f"session, {BOUND}": _counted({**own, "maxProcesses": BOUND}, _SCRIPT, CLIENTS),
    }
    sdk = _counted(own, _SDK, SDK_CLIENTS)
    payload = f"{CLIENTS} clients"
    for case, unit, rows in (
        ("processes", "processes", [Row.exact(name, each.processes) for name, each in counted.items()]),
        ("memory", "MB", [Row.exact(name, each.memory_mb) for name, each in counted.items()]),
        ("opening", "s", [Row.over(name, each.openings) for name, each in counted.items()]),
        ("opening, 95th percentile", "s", [Row.exact(name, _p95(each.openings)) for name, each in counted.items()]),
        ("served", "clients", [Row.exact(name, each.served) for name, each in counted.items()]),
    ):
        yield Group(case, payload, 0, unit, None, tuple(rows))
    each = {"script": counted["session"].process_mb, "SDK for Python": sdk.process_mb}
    yield Group("memory of a process", "servers", 0, "MB", None, tuple(Row.exact(*row) for row in each.items()))


def _p95(seconds: list[float]) -> float:
    return quantiles(seconds, n=20)[-1] if len(seconds) > 1 else median(seconds)


def _counted(settings: dict[str, Any], server: _Server, client_count: int) -> Counted:
    with TemporaryDirectory() as made:
        tokens = [f"token-of-client-{number:04}" for number in range(client_count)]
        config = _config(Path(made), tokens, settings, server)
        with louver("--config", str(config), has_tokens=True) as gateway, ThreadPoolExecutor(AT_ONCE) as pool:
            clients = list(pool.map(lambda token: _Client(gateway, token, server.tool), tokens))
            own_mb, *processes_mb = map(pss_mb, tree(gateway.process))
            found = Counted(
                len(processes_mb),
                own_mb + sum(processes_mb),
                fmean(processes_mb),
                [each.opening_s for each in clients if each.conversation is not None],
                sum(each.answers == SERVERS for each in clients),
            )
            for each in clients:
                each.close()
            return found


def _config(folder: Path, tokens: list[str], settings: dict[str, Any], server: _Server) -> Path:
    known = {sha256(token.encode()).hexdigest(): {"subject": token} for token in tokens}
    (folder / "tokens.json").touch(mode=0o600)
    (folder / "tokens.json").write_text(json.dumps({"tokens": known}), encoding="utf-8")
    command, *arguments = server.command
    servers = {f"server{number}": {"command": command, "args": arguments} for number in range(SERVERS)}
    # Kept lists would answer before a server has started.
    settings = {**settings, "catalogue": "live", "auth": {"tokens": "tokens.json"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers, "louver": settings}), encoding="utf-8")
    return folder / "mcp.json"


class _Client:
    """One that has opened its session, listed the tools and called each server; or was refused."""

    def __init__(self, gateway: Serving, token: str, tool: str) -> None:
        self.conversation: Conversation | None = None
        self.answers = 0
        began = perf_counter()
        with suppress(Refused):
            self.conversation = Conversation(gateway.url, HANDSHAKE, token)
            self.opening_s = perf_counter() - began
            self.conversation.tools()
            for number in range(SERVERS):
                call = self.conversation.request("tools/call", {"name": f"server{number}__{tool}", "arguments": {}})
                self.answers += not call.result().get("isError", False)

    def close(self) -> None:
        if self.conversation is not None:
            self.conversation.close()
