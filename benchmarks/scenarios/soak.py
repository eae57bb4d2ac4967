"""Soak: what a gateway holds after minutes of calls under a policy, with audit and kept results.

    memory         RSS of the gateway, without the server behind
    descriptors    open files and sockets
    threads        of the gateway
    calls          answered until then, of all clients together

Four clients of each revision call as fast as they are answered. Of 50 calls 16 name fields, and the first, of a new
session, has an answer that is kept (at most a thousand are at once), of which the client reads a part. The figures are
taken ten times: rows are named by the share of the time.
"""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from benchmarks.chart import curves
from benchmarks.conversation import HANDSHAKE, MODERN, Conversation
from benchmarks.process_tree import usage
from benchmarks.proxies import STDIO_UPSTREAM, louver
from benchmarks.results import Group, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.process_tree import Usage
    from benchmarks.proxies import Serving
    from benchmarks.scenarios import Setting

CLIENTS = (MODERN, HANDSHAKE) * 4
SAMPLES = 10
_ROUND = 50
"""Calls after which a client begins a new session."""
_CALL: dict[str, Any] = {"name": "1000", "arguments": {}}
_NAMED: dict[str, Any] = {"_meta": {"projection": {"mode": "include", "fields": ["total", "items.*.title"]}}}
_RULE = {"name": "all", "allow": ["*"], "deny": ["items.*.user.login", "items.*.body"]}
_POLICY = {"version": "1", "tools": {name: {"rules": [_RULE]} for name in ("1000", "100000")}}
_SETTINGS = {"audit": {"file": "audit.db"}, "keepResults": 20_000}


def run(setting: Setting) -> Iterator[Group]:
    """A group a figure, with a row a sample."""
    with TemporaryDirectory() as made, louver("--config", str(_config(Path(made)))) as gateway:
        taken = {f"{100 * (number + 1) // SAMPLES} %": each for number, each in enumerate(_samples(gateway, setting))}
    payload = f"{setting.minutes:g} minutes"
    for case, unit in (("memory", "MB"), ("descriptors", "descriptors"), ("threads", "threads"), ("calls", "calls")):
        rows = [Row.exact(share, getattr(found, case, calls)) for share, (found, calls) in taken.items()]
        yield Group(case, payload, 0, unit, None, tuple(rows))


def chart(groups: Sequence[Group]) -> str:
    """A curve a figure, over the time."""
    panels = {group.case: (group.unit, [row.median for row in group.rows]) for group in groups}
    return curves(f"A gateway under policy and audit, {groups[0].payload} of calls in both revisions", panels)


def _config(folder: Path) -> Path:
    command, *arguments = STDIO_UPSTREAM
    (folder / "policy.json").write_text(json.dumps(_POLICY), encoding="utf-8")
    server = {"command": command, "args": arguments, "louver": {"policy": "policy.json"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"issues": server}, "louver": _SETTINGS}), "utf-8")
    return folder / "mcp.json"


def _samples(gateway: Serving, setting: Setting) -> Iterator[tuple[Usage, int]]:
    """What the gateway holds, and the calls so far, at each share of the time."""
    with ExitStack() as stack:
        clients = [_Client(gateway.url, version) for version in CLIENTS]
        for client in clients:
            stack.callback(client.end)
            client.start()
        began = monotonic()
        for number in range(1, SAMPLES + 1):
            ends = began + 60 * setting.minutes * number / SAMPLES
            clients[0].ended.wait(max(0.0, ends - monotonic()))
            assert all(client.is_alive() for client in clients), "a client has failed, see above"
            yield usage(gateway.process), sum(client.calls for client in clients)


class _Client(Thread):
    """A client that calls until it is ended."""

    def __init__(self, url: str, version: str) -> None:
        super().__init__(daemon=True)
        self._url, self._version = url, version
        self.ended = Event()
        self.calls = 0

    def run(self) -> None:
        while not self.ended.is_set():
            conversation = Conversation(self._url, self._version)
            for number in count():
                if number == _ROUND or self.ended.is_set():
                    break
                self._call(conversation, number)
            conversation.end()

    def end(self) -> None:
        self.ended.set()
        self.join()

    def _call(self, conversation: Conversation, number: int) -> None:
        if number == 0:
            self._read_kept(conversation)
        else:
            self._answer(conversation, "tools/call", {**_CALL, **(_NAMED if number % 3 == 0 else {})})
        self.calls += 1

    def _read_kept(self, conversation: Conversation) -> None:
        answer = self._answer(conversation, "tools/call", {"name": "100000", "arguments": {}})
        [handle] = set(re.findall(r'"handle": "([^"]+)"', "".join(block["text"] for block in answer["content"])))
        read = {"name": "read_result", "arguments": {"handle": handle, "fields": ["items.title"]}}
        self._answer(conversation, "tools/call", read)

    def _answer(self, conversation: Conversation, method: str, params: dict[str, Any]) -> dict[str, Any]:
        result = conversation.request(method, params).result()
        assert not result.get("isError"), result
        return result
