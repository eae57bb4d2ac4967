"""A call over HTTP: a projecting lowlevel server against the same server without projection.

    http, CPU               the CPU time of the server's process
    http                    the time from the request to the last byte, as the client sees it
    http, written           likewise, of a tool that writes its text anew for every call, as most tools do

Two processes on this machine, one client that reads the whole answer and does nothing with it, protocol 2026-07-28.
The tool answers what was prepared, so what is timed is the serving alone. Candidates take turns of several calls
in a row: a server that answers once in a while has to warm up for each answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from http.client import HTTPConnection
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.measuring import row
from benchmarks.payloads import ISSUES, SEED
from benchmarks.results import TWIN, Group, Row
from benchmarks.wire_server import WRITTEN
from louver import Projection, compile_projection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.scenarios import Setting

PROJECTION = {"mode": "include", "fields": list(ISSUES.include)}
CALLS = 20
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmarks", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def run(setting: Setting) -> Iterator[Group]:
    """Answers of 1 kB to 1 MB."""
    with _serving() as plain, _serving("--attach") as attached:
        for size in setting.sizes("1 MB"):
            for written in (False, True):
                tool = f"{size}{WRITTEN}" if written else str(size)
                works = {
                    "whole": _Work(plain, tool),
                    "whole" + TWIN: _Work(plain, tool),
                    "projected": _Work(attached, tool, PROJECTION),
                    "attached, not asked": _Work(attached, tool),
                }
                _compare(works, size)
                latency, cpu = _timed(works, setting.rounds)
                if written:
                    yield Group("http, written", "issues", size, "s", "whole", latency)
                else:
                    yield Group("http, CPU", "issues", size, "s", "whole", cpu)
                    yield Group("http", "issues", size, "s", "whole", latency)


def _compare(works: dict[str, _Work], size: int) -> None:
    value = ISSUES.make(size)
    kept = compile_projection(Projection.from_wire(PROJECTION), ISSUES.schema)(value)
    for name, work in works.items():
        answer = json.loads(work.call())["result"]["structuredContent"]
        assert answer == (kept if name == "projected" else value), f"{name} gives another answer"


def _timed(works: dict[str, _Work], rounds: int) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The seconds that a call takes, and the CPU seconds of the server in it."""
    rng = Random(SEED)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(rounds):
        for name in rng.sample(list(works), len(works)):
            times[name].append(works[name].turn())
    rows = [[row(name, list(samples)) for samples in zip(*found, strict=True)] for name, found in times.items()]
    latency, cpu = zip(*rows, strict=True)
    return latency, cpu


class _Work:
    """Calls of one tool at one server."""

    def __init__(self, server: _Server, tool: str, projection: dict[str, Any] | None = None) -> None:
        self._server = server
        meta = _META if projection is None else {**_META, "projection": projection}
        params = {"name": tool, "arguments": {}, "_meta": meta}
        self._body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": tool,
        }

    def call(self) -> bytes:
        """The body of the answer to one call."""
        self._server.connection.request("POST", "/mcp", self._body, self._headers)
        return self._server.connection.getresponse().read()

    def turn(self) -> tuple[float, float]:
        """The seconds a call of several in a row, and the CPU seconds of the server."""
        used, started = self._server.cpu_s(), perf_counter()
        for _ in range(CALLS):
            self.call()
        return (perf_counter() - started) / CALLS, (self._server.cpu_s() - used) / CALLS


class _Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self.connection = HTTPConnection("127.0.0.1", int(self._output.readline()))

    def cpu_s(self) -> float:
        """The CPU time that it has used so far, in seconds."""
        self._input.write("\n")
        self._input.flush()
        return float(self._output.readline())


@contextmanager
def _serving(*arguments: str) -> Iterator[_Server]:
    command = [sys.executable, "-m", "benchmarks.wire_server", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        server = _Server(process)
        # Leaving the block closes its standard input, at which it ends.
        yield server
        server.connection.close()
