"""One bad peer: what another client waits for while it attacks.

    median          of the calls of the other client, beside the attack and before it
    p99             likewise, the 99th percentile
    longest turn    of the gateway's event loop
    descriptors     of the gateway: open files and sockets

The peers are those of `tests/gateway`: servers that flood the gateway, each over one transport, clients that do, and
clients whose requests are much work: new paths each time, a long text under a policy, descriptions with many ends of
sentences, white space as a query. They are nice: what they compute themselves waits for all others.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.conversation import HANDSHAKE, MODERN, Conversation
from benchmarks.process_tree import usage
from benchmarks.proxies import louver
from benchmarks.results import TWIN, Group, Row
from tests.fixtures import floods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.scenarios import Setting

SECONDS = 0.2
"""How long the other client calls for each round: before, beside and after an attack."""

_TESTS = Path(__file__).parents[2] / "tests"
_NICE = ["nice", "-n", "19", sys.executable]
_TURNS = [sys.executable, "-m", "benchmarks.turns"]
_RULE = {"name": "all", "allow": ["*"], "deny": ["**.ssn"]}
_FLOODS = ("notifications", "cancellations", "resumptions", "subscriptions", "heads", "bodies", "initializes")
"""Those of clients; the last leaves sessions behind."""
PEERS: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("full", "broad"): {
        **{f"server, {kind}": ("flooded", floods.server_of(kind), "0.5", kind) for kind in floods.TOOLS},
        **{f"client, {kind}": ("bad_clients", "4", kind) for kind in ("new_paths", "long_text")},
        **{f"client, {kind}": ("bad_clients", "20", kind) for kind in _FLOODS},
    },
    ("minimal", "wordy"): {"client, descriptions": ("bad_clients", "4", "descriptions")},
    ("minimal", "broad"): {"client, white_space": ("bad_clients", "4", "white_space")},
}
"""Exposure, and what the server lists that a client attacks -> kind -> module of the peer and its arguments."""

_FIGURES = (
    ("median", "s", "before"),
    ("p99", "s", "before"),
    ("longest turn", "ms", None),
    ("descriptors", "descriptors", None),
)
_Seen = tuple[float, float, float, float]
"""The figures of the time in which the other client has called."""


def run(setting: Setting) -> Iterator[Group]:
    """A group a figure and kind."""
    found: dict[str, tuple[_Seen, _Seen, _Seen]] = {}
    for (exposure, listed), peers in PEERS.items():
        with _watched(exposure, listed, SECONDS * setting.rounds) as (url, seen):
            # The first calls wait for what is opened.
            seen()
            for kind, (module, *arguments) in peers.items():
                before = seen()
                with _attacking([*_NICE, "-m", f"gateway.{module}", url, *arguments]):
                    beside = seen()
                found[kind.replace("_", " ")] = before, beside, seen()
    for number, (case, unit, baseline) in enumerate(_FIGURES):
        names = ("before", "beside", f"before{TWIN}" if baseline else "after")
        for kind, times in found.items():
            rows = (Row.exact(name, each[number]) for name, each in zip(names, times, strict=True))
            yield Group(case, kind, 0, unit, baseline, tuple(rows))


@contextmanager
def _watched(exposure: str, listed: str, seconds: float) -> Iterator[tuple[str, Callable[[], _Seen]]]:
    """A gateway, and what has its other client call for so long."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        (folder / "policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": [_RULE]}}}))
        (folder / "mcp.json").write_text(json.dumps(_config(stack, listed)), encoding="utf-8")
        command = [*_TURNS, str(folder / "turns"), "serve"]
        options = ("--config", str(folder / "mcp.json"), "--exposure", exposure)
        gateway = stack.enter_context(louver(*options, command=command))
        turns = stack.enter_context((folder / "turns").open(encoding="utf-8"))
        client = Conversation(gateway.url, MODERN if exposure == "full" else HANDSHAKE)
        stack.callback(client.close)
        if exposure != "full":
            read = {"name": "get_tool_descriptions", "arguments": {"tools": ["good__echo"]}}
            client.request("tools/call", read).send()
        call = client.request("tools/call", {"name": "good__echo", "arguments": {}})

        def seen() -> _Seen:
            turns.read()
            calls: list[float] = []
            ends = perf_counter() + seconds
            while (begun := perf_counter()) < ends or len(calls) < 2:
                assert not call.result().get("isError"), "a call of others has failed"
                calls.append(perf_counter() - begun)
            p99 = quantiles(calls, n=100, method="inclusive")[98]
            turn_ms = 1e3 * max(map(float, turns), default=0.0)
            return median(calls), p99, turn_ms, usage(gateway.process).descriptors

        yield gateway.url, seen


def _config(stack: ExitStack, listed: str) -> dict[str, Any]:
    shared = {"isolation": "shared"}
    unruly, hostile = (str(_TESTS / "fixtures" / f"{name}.py") for name in ("unruly", "hostile"))
    nice, *python = _NICE
    servers = {
        "good": {"command": sys.executable, "args": [unruly], "louver": shared},
        "it": {"command": nice, "args": [*python, unruly, listed], "louver": {**shared, "policy": "policy.json"}},
        "pipe": {"command": nice, "args": [*python, hostile], "louver": shared},
        "web": {"url": stack.enter_context(_at_a_url(hostile, "--http"))},
        "modern": {"url": stack.enter_context(_at_a_url(hostile, "--http", "modern"))},
    }
    return {"mcpServers": servers, "louver": {"audit": {"file": "audit.db"}}}


@contextmanager
def _at_a_url(*arguments: str) -> Iterator[str]:
    with Popen([*_NICE, *arguments], stdout=PIPE, stderr=DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def _attacking(command: list[str]) -> Iterator[None]:
    with Popen(command, stdout=PIPE, cwd=_TESTS) as process:
        assert process.stdout is not None
        # It says so once it has begun.
        process.stdout.readline()
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
