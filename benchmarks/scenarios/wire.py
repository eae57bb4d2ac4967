"""A call over HTTP: a projecting lowlevel server against the same server without projection.

    http            the tool answers what was prepared, so what is timed is the serving alone
    http, written   the tool writes its text anew for every call, as most tools do

Two processes on this machine, one client that reads the whole answer and does nothing with it; the
time from the request to the last byte, of protocol 2026-07-28. The rules of measuring are those of
the engine, but for the clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.measuring import row
from benchmarks.payloads import ISSUES, SEED
from benchmarks.results import TWIN, Group
from benchmarks.wire_server import WRITTEN
from louver import Projection, compile_projection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.scenarios import Setting

PROJECTION = {"mode": "include", "fields": list(ISSUES.include)}
CALLS_A_ROUND = 5
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmarks", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def run(setting: Setting) -> Iterator[Group]:
    """Answers of 1 kB to 1 MB."""
    with _serving() as plain, _serving("--attach") as attached:
        for size in setting.sizes("1 MB"):
            for case, tool in (("http", str(size)), ("http, written", f"{size}{WRITTEN}")):
                works = {
                    "whole": partial(_call, plain, tool),
                    "whole" + TWIN: partial(_call, plain, tool),
                    "projected": partial(_call, attached, tool, PROJECTION),
                    "attached, not asked": partial(_call, attached, tool),
                }
                _compare(works, size)
                yield Group(case, "issues", size, "s", "whole", _timed(works, setting.rounds * CALLS_A_ROUND))


def _compare(works: dict[str, Callable[[], bytes]], size: int) -> None:
    value = ISSUES.make(size)
    kept = compile_projection(Projection.from_wire(PROJECTION), ISSUES.schema)(value)
    for name, work in works.items():
        answer = json.loads(work())["result"]["structuredContent"]
        assert answer == (kept if name == "projected" else value), f"{name} gives another answer"


def _timed(works: dict[str, Callable[[], Any]], rounds: int) -> tuple[Any, ...]:
    rng = Random(SEED)
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name in rng.sample(list(works), len(works)):
            started = perf_counter()
            works[name]()
            times[name].append(perf_counter() - started)
    return tuple(row(name, samples) for name, samples in times.items())


def _call(server: HTTPConnection, tool: str, projection: dict[str, Any] | None = None) -> bytes:
    """The body of the answer to one call."""
    meta = _META if projection is None else {**_META, "projection": projection}
    params = {"name": tool, "arguments": {}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    server.request("POST", "/mcp", body, headers)
    return server.getresponse().read()


@contextmanager
def _serving(*arguments: str) -> Iterator[HTTPConnection]:
    command = [sys.executable, "-m", "benchmarks.wire_server", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        connection = HTTPConnection("127.0.0.1", int(process.stdout.readline()))
        # Leaving the block closes its standard input, at which it ends.
        yield connection
        connection.close()
