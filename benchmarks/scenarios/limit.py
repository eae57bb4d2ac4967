"""What a call through the gateway costs beside the least that a gateway in Python can cost, and beside its peers.

    call, call 2025          1 kB, 100 kB and 1 MB: the gateway of forty lines (`benchmarks.limit`), Louver, also
                             projected to two fields, and peers over HTTP
    16 clients, ... 2025     likewise of 1 kB, for clients that call at once
    stdio behind             1 kB and 100 kB, to a server over stdio, which is all that some peers know
    features                 1 kB, of Louver alone: projected, without savings, with a policy and an audit
    spelling                 100 kB, of Louver alone: as orjson, Go and Python spell JSON

Seconds are of processor time, of the gateway with all that it has started but the server behind.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.conversation import HANDSHAKE, MODERN, Conversation, Refused
from benchmarks.process_tree import processor_s, tree
from benchmarks.proxies import (
    COMPRESSOR,
    FASTMCP,
    NPM,
    STDIO_UPSTREAM,
    SUPERGATEWAY,
    Serving,
    louver,
    serving,
    started,
    upstream,
)
from benchmarks.scenarios.serving import CLIENTS, measured, turn_of, with_twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from benchmarks.conversation import Request
    from benchmarks.results import Group
    from benchmarks.scenarios import Setting

LIMIT = "limit"
CALLS: Final = {1_000: 100, 100_000: 20, 1_000_000: 4}
"""Of a turn, by the size of the answer."""

TWO_FIELDS: Final = {"mode": "include", "fields": ["items.number", "items.title"]}
POLICY: Final = {"version": "1", "tools": {"*": {"rules": [{"name": "all", "allow": ["*"], "deny": ["items.body"]}]}}}


def run(setting: Setting) -> Iterator[Group]:
    """All cases."""
    with (
        upstream() as behind,
        _module("limit", behind.url) as limit,
        louver("--url", behind.url) as gateway,
        ExitStack() as stack,
    ):
        peers = started(stack, [FASTMCP, COMPRESSOR] if setting.peers else [], behind.url)
        for version in (MODERN, HANDSHAKE):
            servers = {LIMIT: limit, "louver": gateway, **peers}
            for size in CALLS:
                yield _alone(setting, version, size, servers)
            yield _together(setting, version, servers)
    if setting.peers:
        yield from _stdio_behind(setting)
    yield _features(setting)
    yield _spelling(setting)


def _module(name: str, *arguments: str) -> AbstractContextManager[Serving]:
    return serving(sys.executable, "-m", f"benchmarks.{name}", *arguments)


def _case(name: str, version: str) -> str:
    return name if version == MODERN else f"{name} 2025"


def _alone(setting: Setting, version: str, size: int, servers: Mapping[str, Serving], case: str = "call") -> Group:
    baseline = next(iter(servers))
    with ExitStack() as stack:
        turns: dict[str, Callable[[], float]] = {}
        for name, server in servers.items():
            requests = {name: _request(stack, server, version, size)}
            if name in (LIMIT, "louver"):
                requests[f"{name}, two fields"] = _request(stack, server, version, size, TWO_FIELDS)
            turns |= {
                each: _turn(server, request, CALLS[size]) for each, request in requests.items() if request is not None
            }
        return measured(_case(case, version), "issues", size, baseline, with_twin(turns, baseline), setting.rounds)


def _together(setting: Setting, version: str, servers: Mapping[str, Serving]) -> Group:
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        turns: dict[str, Callable[[], float]] = {}
        for name, server in servers.items():
            requests = [_request(stack, server, version, 1_000) for _ in range(CLIENTS)]
            if None not in requests:
                turns[name] = _turn_of_many(pool, server, [each for each in requests if each is not None])
        case = _case(f"{CLIENTS} clients", version)
        return measured(case, "issues", 1_000, LIMIT, with_twin(turns, LIMIT), setting.rounds)


def _stdio_behind(setting: Setting) -> Iterator[Group]:
    with louver("--", *STDIO_UPSTREAM) as gateway, ExitStack() as stack:
        peers = started(stack, [NPM, SUPERGATEWAY, COMPRESSOR], *STDIO_UPSTREAM)
        for size in (1_000, 100_000):
            yield _alone(setting, HANDSHAKE, size, {"louver": gateway, **peers}, "stdio behind")


def _features(setting: Setting) -> Group:
    with upstream() as behind, TemporaryDirectory() as folder, ExitStack() as stack:
        plain = stack.enter_context(louver("--url", behind.url))
        turns: dict[str, Callable[[], float]] = {
            "plain": _turn(plain, _sure(stack, plain), CALLS[1_000]),
            "two fields": _turn(plain, _sure(stack, plain, TWO_FIELDS), CALLS[1_000]),
        }
        for name, gateway, server in (
            ("without savings", {"savings": False}, {}),
            ("policy and audit", {"audit": {"file": "audit.db"}}, {"policy": "policy.json"}),
        ):
            config = Path(folder) / f"{name}.json"  # one each: a gateway reads it again when it changes
            (Path(folder) / "policy.json").write_text(json.dumps(POLICY), encoding="utf-8")
            servers = {"issues": {"url": behind.url, "louver": server}}
            config.write_text(json.dumps({"mcpServers": servers, "louver": gateway}), encoding="utf-8")
            serving = stack.enter_context(louver("--config", str(config)))
            turns[name] = _turn(serving, _sure(stack, serving), CALLS[1_000])
        return measured("features", "issues", 1_000, "plain", with_twin(turns, "plain"), setting.rounds)


def _spelling(setting: Setting) -> Group:
    with ExitStack() as stack:
        turns: dict[str, Callable[[], float]] = {}
        for spelling in ("orjson", "Go", "Python"):
            behind = stack.enter_context(_module("prepared_server", spelling))
            gateway = stack.enter_context(louver("--url", behind.url))
            turns[spelling] = _turn(gateway, _sure(stack, gateway, size=100_000), CALLS[100_000])
        return measured("spelling", "issues", 100_000, "orjson", with_twin(turns, "orjson"), setting.rounds)


def _sure(stack: ExitStack, server: Serving, projection: dict[str, Any] | None = None, size: int = 1_000) -> Request:
    request = _request(stack, server, MODERN, size, projection)
    assert request is not None, "our own gateway answers"
    return request


def _request(
    stack: ExitStack, server: Serving, version: str, size: int, projection: dict[str, Any] | None = None
) -> Request | None:
    """A call that has been answered once; `None` if it cannot be made there, which is told."""
    try:
        client = Conversation(server.url, version)
        stack.callback(client.close)
        names = [tool["name"] for tool in client.tools()]
        params: dict[str, Any] = {"name": str(size), "arguments": {}}
        if str(size) not in names:
            invoke = next(name for name in names if name.endswith("invoke_tool"))
            params = {"name": invoke, "arguments": {"tool_name": str(size), "tool_input": {}}}
        meta = {} if projection is None else {"_meta": {"projection": projection}}
        request = client.request("tools/call", {**params, **meta})
        if (result := request.result()).get("isError"):
            raise Refused(str(result["content"])[:200])
    except (AssertionError, Refused, StopIteration, OSError) as error:
        print(f"{server.url}, {version}, {size}: left out: {error!r}", file=sys.stderr)
        return None
    return request


def _turn(server: Serving, request: Request | None, calls: int) -> Callable[[], float]:
    assert request is not None, "it is left out"
    return turn_of(partial(_processor_s, server), request, calls)


def _turn_of_many(pool: ThreadPoolExecutor, server: Serving, requests: list[Request]) -> Callable[[], float]:
    calls = CALLS[1_000] // 10

    def client(request: Request) -> None:
        for _ in range(calls):
            request.send()

    def turn() -> float:
        before = _processor_s(server)
        list(pool.map(client, requests))
        return (_processor_s(server) - before) / (calls * len(requests))

    return turn


def _processor_s(server: Serving) -> float:
    """What a server and what it has started have used, without the server behind."""
    return sum(map(processor_s, filter(_is_own, tree(server.process))))


def _is_own(process: int) -> bool:
    command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return command[1:3] != [b"-m", b"benchmarks.gateway_server"]
