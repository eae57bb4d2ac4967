"""What the gateway costs in each revision, with many clients, and at its start.

    processor time           of the gateway's process for a call of 1 kB, in each revision
    16 clients, 2026-07-28   seconds a call of 1 kB, past the gateway and through it
    16 clients, 2025-11-25   likewise
    start                    from the start of the process to the answer of `tools/list`: of a server of the SDK, and of
                             the gateway before one that takes 3 s to start, with a kept catalogue

The server behind is one of the SDK over HTTP, and answers what was prepared. The rounds are turns, in a new order each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from subprocess import DEVNULL, PIPE
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Protocol, TypeVar

from benchmarks.conversation import HANDSHAKE, MODERN, OPENING, Conversation
from benchmarks.measuring import row
from benchmarks.payloads import SEED
from benchmarks.process_tree import processor_s
from benchmarks.proxies import LOUVER, STDIO_UPSTREAM, louver, upstream
from benchmarks.results import TWIN, Group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.conversation import Request
    from benchmarks.proxies import Serving
    from benchmarks.scenarios import Setting

Work = TypeVar("Work")

CALLS = 500
"""Of a turn: the kernel counts processor time in hundredths of a second."""

CLIENTS = 16
CALLS_OF_CLIENT = 20
STARTS = 9
"""At most so many rounds of processes that are started."""

SLOW_START_S = 3
"""How long the server behind takes to start, as `npx` does."""

_SLOWLY = f"""
import runpy, sys, time
time.sleep({SLOW_START_S})
sys.argv = ["benchmarks.gateway_server", "--stdio"]
runpy.run_module("benchmarks.gateway_server", run_name="__main__", alter_sys=True)
"""


def run(setting: Setting) -> Iterator[Group]:
    """All cases."""
    with upstream() as behind, louver("--url", behind.url) as gateway:
        yield _processor_time(setting, gateway)
        for version in (MODERN, HANDSHAKE):
            yield _many_clients(setting, version, {"direct": behind, "louver": gateway})
    yield _start(setting)


def _processor_time(setting: Setting, gateway: Serving) -> Group:
    with ExitStack() as stack:
        works = {version: _call(stack, gateway, version) for version in (MODERN, HANDSHAKE)}
        used_s = partial(processor_s, gateway.process)
        turns = {name: turn_of(used_s, work, CALLS) for name, work in with_twin(works, MODERN).items()}
        return measured("processor time", "issues", 1_000, MODERN, turns, setting.rounds)


def turn_of(used_s: Callable[[], float], request: Request, calls: int) -> Callable[[], float]:
    """Gives the processor time of a call, in seconds; `used_s` is what was used so far."""

    def turn() -> float:
        before = used_s()
        for _ in range(calls):
            request.send()
        return (used_s() - before) / calls

    return turn


def _many_clients(setting: Setting, version: str, servers: Mapping[str, Serving]) -> Group:
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        works = {name: [_call(stack, server, version) for _ in range(CLIENTS)] for name, server in servers.items()}
        turns = {name: seconds_together(pool, calls) for name, calls in with_twin(works, "direct").items()}
        return measured(f"{CLIENTS} clients, {version}", "issues", 1_000, "direct", turns, setting.rounds)


class _Work(Protocol):
    def send(self) -> object: ...


def seconds_together(pool: ThreadPoolExecutor, works: Sequence[_Work]) -> Callable[[], float]:
    """The seconds a call of clients that all call at once."""

    def client(work: _Work) -> None:
        for _ in range(CALLS_OF_CLIENT):
            work.send()

    def turn() -> float:
        began = perf_counter()
        list(pool.map(client, works))
        return (perf_counter() - began) / (CLIENTS * CALLS_OF_CLIENT)

    return turn


def _call(stack: ExitStack, server: Serving, version: str) -> Request:
    client = Conversation(server.url, version)
    stack.callback(client.close)
    client.tools()
    work = client.request("tools/call", {"name": "1000", "arguments": {}})
    work.send()
    return work


def _start(setting: Setting) -> Group:
    with TemporaryDirectory() as state:
        environment = {**os.environ, "XDG_STATE_HOME": state}
        commands = {"SDK": STDIO_UPSTREAM, "louver": [*LOUVER, "--", sys.executable, "-c", _SLOWLY]}
        with _listed(commands["louver"], environment) as process:
            while not any(Path(state).rglob("*.json")):
                assert process.poll() is None, "the catalogue is kept while the gateway runs"
                sleep(0.05)
        turns = {name: _seconds_to_list(command, environment) for name, command in with_twin(commands, "SDK").items()}
        return measured("start", "tools", 0, "SDK", turns, min(STARTS, setting.rounds))


def _seconds_to_list(command: list[str], environment: Mapping[str, str]) -> Callable[[], float]:
    def turn() -> float:
        began = perf_counter()
        with _listed(command, environment):
            return perf_counter() - began

    return turn


@contextmanager
def _listed(command: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process over stdio that has answered `tools/list`."""
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in (
            {"id": 0, "method": "initialize", "params": OPENING},
            {"method": "notifications/initialized"},
            {"id": 1, "method": "tools/list"},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                assert b'"result"' in process.stdout.readline(), "it does not answer"
        try:
            yield process
        finally:
            process.terminate()


def with_twin(works: Mapping[str, Work], baseline: str) -> dict[str, Work]:
    return {**works, baseline + TWIN: works[baseline]}


def measured(
    case: str, payload: str, size: int, baseline: str, turns: Mapping[str, Callable[[], float]], rounds: int
) -> Group:
    rng = Random(SEED)
    found: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(rounds):
        for name in rng.sample(list(turns), len(turns)):
            found[name].append(turns[name]())
    return Group(case, payload, size, "s", baseline, tuple(row(name, seconds) for name, seconds in found.items()))
