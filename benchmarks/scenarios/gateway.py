"""What a gateway costs: through Louver, through its peers, and past them all to the server behind.

    call, call 2025            1 kB and 100 kB over HTTP, in both eras; in 2026 also projected to two fields
    call, stdio behind         likewise, to a server over stdio, which is all that some peers know
    tools/list                 of many tools
    call among tools           1 kB, through Louver: of a server with ten tools, and of one with very many
    RSS                        the memory of each one's own process after the calls, without what it has started
    first call, stdio          from the start of the process to the first answer

One client that reads the whole answer and does nothing with it. What is behind answers what was prepared.
Candidates take turns of several calls in a row. The same program is some percent faster after one start than after
another, for as long as it runs. So for `call` and `call 2025` all processes are started anew for every round, and times
are compared within a round. A turn is short there (20 calls of 1 kB take 20 ms), and what it is of direct varies by a
seventh from turn to turn: each has several in a round, whose median counts. Each has processes of its own, also behind
it: a server that others call too in their turns answers faster than one that waits meanwhile. Peers need a network when
they are first used.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack, contextmanager
from random import Random
from statistics import median
from subprocess import DEVNULL, PIPE
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.conversation import HANDSHAKE, MODERN, OPENING, Conversation
from benchmarks.measuring import row
from benchmarks.payloads import ISSUES, SEED
from benchmarks.proxies import FASTMCP, LOUVER, NPM, PYPI, STDIO_UPSTREAM, fastmcp_command, louver, started, upstream
from benchmarks.results import TWIN, Group, Row
from louver import Projection, compile_projection
from louver.core.json import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from benchmarks.conversation import Request
    from benchmarks.proxies import Peer, Serving
    from benchmarks.scenarios import Setting

FEW = 10
MANY = 1_000
VERY_MANY = 10_000
CALLS = 20
TURNS = 5
"""Of each candidate in a round, where its processes are started for that round alone."""

CALLS_BEFORE_MEMORY = 300
STARTS = 9
"""At most so many rounds of processes that are started, which take seconds."""

TWO_FIELDS = {"mode": "include", "fields": ["items.number", "items.title"]}
TWO = "louver, two fields"


def run(setting: Setting) -> Iterator[Group]:
    """All cases."""
    peers = [peer for peer in (FASTMCP, NPM, PYPI) if setting.peers and peer.is_here]
    yield from _over_http(setting, [peer for peer in peers if peer is FASTMCP])
    yield _memory_over_http(setting, [peer for peer in peers if peer is FASTMCP])
    yield from _over_stdio(setting, peers)
    yield _memory_over_stdio(setting, peers)
    yield from _lists(setting, [peer for peer in peers if peer is FASTMCP])
    yield _among_tools(setting)
    yield _first_call(setting, [peer for peer in peers if peer is FASTMCP])


def _over_http(setting: Setting, peers: list[Peer]) -> Iterator[Group]:
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    rng = Random(SEED)
    for _ in range(setting.rounds):
        for case, size, works in _launched(setting, peers):
            found.setdefault((case, size), []).append(_middle([_round(works, CALLS, rng) for _ in range(TURNS)]))
    for (case, size), rounds in found.items():
        yield _group(case, "issues", size, "direct", _as_usual("direct", rounds))


def _middle(turns: list[dict[str, float]]) -> dict[str, float]:
    """The median of each candidate's turns."""
    return {name: median(taken[name] for taken in turns) for name in turns[0]}


def _as_usual(baseline: str, rounds: list[dict[str, float]]) -> list[dict[str, float]]:
    """The times of each round as if the baseline had taken its median there; its own as they are."""
    usual = median(taken[baseline] for taken in rounds)
    return [
        {name: time if name == baseline else time / taken[baseline] * usual for name, time in taken.items()}
        for taken in rounds
    ]


def _launched(setting: Setting, peers: list[Peer]) -> Iterator[tuple[str, int, dict[str, Request]]]:
    with ExitStack() as stack:

        def behind() -> Serving:
            return stack.enter_context(upstream())

        servers = {name: behind() for name in ("direct", "direct" + TWIN)}
        servers |= {name: stack.enter_context(louver("--url", behind().url)) for name in ("louver", TWO)}
        for peer in peers:
            servers |= started(stack, [peer], behind().url)
        for version, case in ((MODERN, "call"), (HANDSHAKE, "call 2025")):
            with _opened(servers, version) as clients:
                for size in setting.sizes("100 kB"):
                    works = {name: _call(client, size) for name, client in clients.items() if name != TWO}
                    _compare(works, size)
                    if version == MODERN:
                        works[TWO] = _call(clients[TWO], size, TWO_FIELDS)
                        _compare_kept(works[TWO], size)
                    _send(works.values(), CALLS)
                    yield case, size, works


def _memory_over_http(setting: Setting, peers: list[Peer]) -> Group:
    """Memory after the same calls of all; and of Louver's gateway also after projected ones, which no other can do."""
    with ExitStack() as stack:
        behind = stack.enter_context(upstream())
        gateway = stack.enter_context(louver("--url", behind.url))
        servers = {"direct": behind, "louver": gateway, **started(stack, peers, behind.url)}
        for version in (MODERN, HANDSHAKE):
            with _opened(servers, version) as clients:
                for client in clients.values():
                    _send([_call(client, size) for size in setting.sizes("100 kB")], CALLS_BEFORE_MEMORY)
        rows = _held(servers)
        with _opened({"louver": gateway}, MODERN) as clients:
            works = [_call(clients["louver"], size, TWO_FIELDS) for size in setting.sizes("100 kB")]
            _send(works, CALLS_BEFORE_MEMORY)
        return _memory("over HTTP", [*rows, *_held({TWO: gateway})])


def _send(works: Iterable[Request], calls: int) -> None:
    for work in works:
        for _ in range(calls):
            work.send()


def _over_stdio(setting: Setting, peers: list[Peer]) -> Iterator[Group]:
    with ExitStack() as stack:
        servers = {"louver": stack.enter_context(louver("--", *STDIO_UPSTREAM))}
        servers |= started(stack, peers, *STDIO_UPSTREAM)
        with _opened(servers, HANDSHAKE) as clients:
            for size in setting.sizes("100 kB"):
                works = {name: _call(client, size) for name, client in clients.items()}
                _compare(works, size)
                yield _timed("call, stdio behind", "issues", size, "louver", works, setting.rounds)


def _memory_over_stdio(setting: Setting, peers: list[Peer]) -> Group:
    """Memory after the same calls of all."""
    with ExitStack() as stack:
        servers = {"louver": stack.enter_context(louver("--", *STDIO_UPSTREAM))}
        servers |= started(stack, peers, *STDIO_UPSTREAM)
        with _opened(servers, HANDSHAKE) as clients:
            for client in clients.values():
                _send([_call(client, size) for size in setting.sizes("100 kB")], CALLS_BEFORE_MEMORY)
        return _memory("over stdio", _held(servers))


def _lists(setting: Setting, peers: list[Peer]) -> Iterator[Group]:
    with ExitStack() as stack:
        behind = stack.enter_context(upstream("--tools", str(MANY)))
        servers = {"direct": behind, "louver": stack.enter_context(louver("--url", behind.url))}
        servers |= started(stack, peers, behind.url)
        with _opened(servers, MODERN) as clients:
            names = {name: [tool["name"] for tool in client.tools()] for name, client in clients.items()}
            _same(names)
            works = {name: client.request("tools/list", {}) for name, client in clients.items()}
            yield _timed("tools/list", f"{MANY:,} tools", 0, "direct", works, setting.rounds, calls=3)


def _among_tools(setting: Setting) -> Group:
    with ExitStack() as stack:
        servers: dict[str, Serving] = {}
        for count in (FEW, VERY_MANY):
            behind = stack.enter_context(upstream("--tools", str(count)))
            servers["among few" if count == FEW else "among many"] = stack.enter_context(louver("--url", behind.url))
        with _opened(servers, MODERN) as clients:
            works = {name: _call(client, 1_000) for name, client in clients.items()}
            _compare(works, 1_000)
            return _timed("call among tools", f"{FEW} and {VERY_MANY:,}", 1_000, "among few", works, setting.rounds)


def _first_call(setting: Setting, peers: list[Peer]) -> Group:
    commands = {"direct": STDIO_UPSTREAM, "louver": [*LOUVER, "--", *STDIO_UPSTREAM]}
    commands |= {peer.name: fastmcp_command("stdio", *STDIO_UPSTREAM) for peer in peers}
    works = {name: _Start(command) for name, command in commands.items()}
    with ExitStack() as stack:
        for work in works.values():
            stack.callback(work.end)
        _compare(works, 1_000)
        return _timed("first call, stdio", "issues", 1_000, "direct", works, min(STARTS, setting.rounds), calls=1)


class _Start:
    """The start of a server over stdio, up to its first answer; its end is not of that time."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def send(self) -> bytes:
        """That answer; the server runs on."""
        process = self._process = subprocess.Popen(self._command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        assert process.stdin is not None
        assert process.stdout is not None
        answer = b""
        for message in (
            {"id": 0, "method": "initialize", "params": OPENING},
            {"method": "notifications/initialized"},
            {"id": 1, "method": "tools/call", "params": {"name": "1000", "arguments": {}}},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                answer = process.stdout.readline()
        return answer

    def end(self) -> None:
        """End the server, if one runs."""
        if self._process is not None:
            with self._process as process:
                process.terminate()
            self._process = None

    def result(self) -> dict[str, Any]:
        """What it answers."""
        answer = self.send()
        self.end()
        return json.loads(answer)["result"]


@contextmanager
def _opened(servers: Mapping[str, Serving], version: str) -> Iterator[dict[str, Conversation]]:
    clients = {name: Conversation(server.url, version) for name, server in servers.items()}
    try:
        for client in clients.values():
            # As clients do: and what a proxy keeps of it, it has.
            client.tools()
        yield clients
    finally:
        for client in clients.values():
            client.close()


def _call(client: Conversation, size: int, projection: dict[str, Any] | None = None) -> Request:
    meta = {} if projection is None else {"_meta": {"projection": projection}}
    return client.request("tools/call", {"name": str(size), "arguments": {}, **meta})


def _compare(works: Mapping[str, Request | _Start], size: int) -> None:
    value = ISSUES.make(size)
    _same({"prepared": [value, value], **{name: _answer(work) for name, work in works.items()}})


def _compare_kept(work: Request, size: int) -> None:
    kept = compile_projection(Projection.from_wire(TWO_FIELDS), ISSUES.schema)(ISSUES.make(size))
    _same({"kept": kept, TWO: work.result()["structuredContent"]})


def _answer(work: Request | _Start) -> list[Any]:
    result = work.result()
    [block] = result["content"]
    # White space may differ: Louver writes none.
    return [json.loads(block["text"]), result["structuredContent"]]


def _same(answers: Mapping[str, Any]) -> None:
    told = {name: canonical(answer) for name, answer in answers.items()}
    first = next(iter(told))
    for name, answer in told.items():
        assert answer == told[first], f"{name} does not give the answer of {first}"


def _timed(
    case: str,
    payload: str,
    size: int,
    baseline: str,
    works: Mapping[str, Request | _Start],
    rounds: int,
    calls: int = CALLS,
) -> Group:
    rng = Random(SEED)
    turns = {**works, baseline + TWIN: works[baseline]}
    return _group(case, payload, size, baseline, [_round(turns, calls, rng) for _ in range(rounds)])


def _round(works: Mapping[str, Request | _Start], calls: int, rng: Random) -> dict[str, float]:
    """The seconds that a call took, when each had its turn."""
    taken = dict.fromkeys(works, 0.0)
    for name in rng.sample(list(works), len(works)):
        work = works[name]
        started = perf_counter()
        for _ in range(calls):
            work.send()
        taken[name] = (perf_counter() - started) / calls
        if isinstance(work, _Start):
            work.end()
    return taken


def _group(case: str, payload: str, size: int, baseline: str, rounds: list[dict[str, float]]) -> Group:
    """What was measured in all rounds; a peer may not have started in each."""
    names = dict.fromkeys(name for taken in rounds for name in taken)
    rows = (row(name, [taken[name] for taken in rounds if name in taken]) for name in names)
    return Group(case, payload, size, "s", baseline, tuple(rows))


def _held(servers: Mapping[str, Serving]) -> list[Row]:
    return [Row.exact(name, server.rss_mb()) for name, server in servers.items()]


def _memory(payload: str, rows: list[Row]) -> Group:
    return Group("RSS", payload, 0, "MB", "louver", tuple(rows))
