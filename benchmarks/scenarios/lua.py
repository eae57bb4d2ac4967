"""Scripts: what `execute` costs, beside the gateway that has had it longest.

    nothing          a script that calls nothing, from the request to its answer
    start            likewise, of ours the 95th percentile
    one call         one call, of which one field is given back: 1 kB and 100 kB; ours also by the call's `fields`
    ten calls        likewise, one after the other
    beside bombs     the 99th percentile of other callers' calls: alone, and beside four scripts that run for ever,
                     two of which project

One client over HTTP, of 2025-11-25, which is what the peer speaks. What is behind answers what was prepared. The peer
is npm `my-cool-proxy`, which is installed when it is first used.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from random import Random
from statistics import quantiles
from threading import Event, Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

from benchmarks.conversation import HANDSHAKE, Conversation
from benchmarks.measuring import row
from benchmarks.payloads import ISSUES, SEED
from benchmarks.proxies import MY_COOL_PROXY, SCRIPTED, louver, started, upstream
from benchmarks.results import TWIN, Group, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.conversation import Request
    from benchmarks.scenarios import Setting

NOTHING = "result({total = 1})"
ONE = f"local r = {SCRIPTED}._%d({{}}):await() result({{total = r.total}})"
TEN = f"local r for n = 1, 10 do r = {SCRIPTED}._%d({{}}):await() end result({{total = r.total}})"
BY_FIELDS = f"local r = {SCRIPTED}._%d({{}}, {{fields = {{'total'}}}}):await() result({{total = r.total}})"
BOMB = "while true do end"
PROJECTING = """
local value, fields = {}, {}
for n = 1, 10000 do value[n] = {x = {y = {z = n}}} end
for n = 1, 24 do fields[n] = ("*."):rep(n % 4 + 1) .. "n" .. n end
while true do pcall(project, value, fields) end
"""

SCRIPTS = 200
"""Those whose 95th percentile is told."""

CALLS = 400
"""Those whose 99th percentile is told."""

BOMBS = (BOMB, BOMB, PROJECTING, PROJECTING)
CONNECTING_S = 20.0
"""How long a peer may take to find its server, in seconds, once it listens."""


def run(setting: Setting) -> Iterator[Group]:
    """All cases."""
    with ExitStack() as stack:
        behind = stack.enter_context(upstream())
        servers = {"louver": stack.enter_context(louver("--exposure", "discovery", "--url", behind.url))}
        servers |= started(stack, [MY_COOL_PROXY] if setting.peers and MY_COOL_PROXY.is_here else [], behind.url)
        clients = {name: Conversation(server.url, HANDSHAKE) for name, server in servers.items()}
        for client in clients.values():
            stack.callback(client.close)
            _ready(client, setting.sizes("100 kB"))
        yield _timed("nothing", 0, {name: _script(client, NOTHING) for name, client in clients.items()}, setting.rounds)
        nothing = _script(clients["louver"], NOTHING)
        starts = tuple(_percentile(nothing, SCRIPTS, 95, name) for name in ("louver", f"louver{TWIN}"))
        yield Group("start", "", 0, "s", "louver", starts)
        for case, script in (("one call", ONE), ("ten calls", TEN)):
            for size in setting.sizes("100 kB"):
                works = {name: _script(client, script % size) for name, client in clients.items()}
                if script is ONE:
                    works["louver, by fields"] = _script(clients["louver"], BY_FIELDS % size)
                yield _timed(case, size, works, setting.rounds)
    yield _beside_bombs()


def _beside_bombs() -> Group:
    """Calls of one client, while four others run a script each that never ends."""
    with ExitStack() as stack:
        behind = stack.enter_context(upstream())
        gateway = stack.enter_context(louver("--execute", "--url", behind.url))
        caller = Conversation(gateway.url, HANDSHAKE)
        stack.callback(caller.close)
        call = caller.request("tools/call", {"name": "1000", "arguments": {}})
        call.send()
        alone = _percentile(call, CALLS, 99, "alone")
        stop = Event()
        bombers = [Thread(target=_bomb, args=(gateway.url, script, stop)) for script in BOMBS]
        for bomber in bombers:
            bomber.start()
        # A script that is busy is busy for seconds.
        sleep(0.5)
        beside = _percentile(call, CALLS, 99, "beside bombs")
        stop.set()
        for bomber in bombers:
            bomber.join()
        again = _percentile(call, CALLS, 99, f"alone{TWIN}")
    return Group("beside bombs", "issues", 1_000, "s", "alone", (alone, beside, again))


def _bomb(url: str, script: str, stop: Event) -> None:
    client = Conversation(url, HANDSHAKE)
    bomb = _script(client, script)
    while not stop.is_set():
        assert bomb.result()["isError"], "a script that never ends is ended"
    client.close()


def _ready(client: Conversation, sizes: list[int]) -> None:
    """Go the way of an agent, until the server behind is found: some want details to be read before a call."""
    until = perf_counter() + CONNECTING_S
    for size in sizes:
        named = {"luaServerName": SCRIPTED, "luaToolName": f"_{size}"}
        details = client.request("tools/call", {"name": "tool-details", "arguments": named})
        script = _script(client, ONE % size)
        while details.result().get("isError") or script.result().get("isError"):
            assert perf_counter() < until, "the server behind was not found"
            sleep(0.1)


def _script(client: Conversation, script: str) -> Request:
    return client.request("tools/call", {"name": "execute", "arguments": {"script": script}})


def _timed(case: str, size: int, works: Mapping[str, Request], rounds: int) -> Group:
    rng = Random(SEED)
    wanted = {"total": 1} if not size else {"total": ISSUES.make(size)["total"]}
    for name, work in works.items():
        assert json.loads(work.result()["content"][0]["text"]) == wanted, f"{name} gives something else"
    turns: dict[str, Any] = {**works, f"louver{TWIN}": works["louver"]}
    times: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(rounds):
        for name in rng.sample(list(turns), len(turns)):
            for _ in range(5):
                begun = perf_counter()
                turns[name].send()
                times[name].append(perf_counter() - begun)
    rows = tuple(row(name, found) for name, found in times.items())
    return Group(case, "issues" if size else "", size, "s", "louver", rows)


def _percentile(work: Request, times: int, percent: int, name: str) -> Row:
    found: list[float] = []
    for _ in range(times):
        begun = perf_counter()
        work.send()
        found.append(perf_counter() - begun)
    return Row.exact(name, quantiles(found, n=100, method="inclusive")[percent - 1])
