"""Workers: the throughput of one, two and four worker processes, and the memory of one.

    16 clients, 2026-07-28    seconds a call of 1 kB, all clients together
    16 clients, 2025-11-25    likewise
    memory of a worker        PSS after the calls, without the server behind

Each worker starts the server behind once, a script over stdio that answers what was prepared. The clients are threads
of one process on the same machine, so what they and the servers take is not left for workers.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.conversation import HANDSHAKE, MODERN, Conversation
from benchmarks.payloads import ISSUES
from benchmarks.process_tree import pss_mb, tree
from benchmarks.proxies import louver
from benchmarks.results import Group, Row
from benchmarks.scenarios.serving import measured, seconds_together, with_twin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.conversation import Request
    from benchmarks.proxies import Serving
    from benchmarks.scenarios import Setting

WORKERS = (1, 2, 4)
CLIENTS = 16
_PIECE = 65_536

_OPENING = {
    "protocolVersion": HANDSHAKE,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "prepared", "version": "1"},
}
_SERVER = """
import json, sys
answers = json.loads(sys.argv[1])
for message in map(json.loads, sys.stdin):
    if "id" in message:
        result = answers.get(message["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def run(setting: Setting) -> Iterator[Group]:
    """All figures."""
    with ExitStack() as stack:
        gateways = {_name(count): stack.enter_context(_gateway(count)) for count in WORKERS}
        pool = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        for version in (MODERN, HANDSHAKE):
            works = {name: [_call(stack, each, version) for _ in range(CLIENTS)] for name, each in gateways.items()}
            turns = {name: seconds_together(pool, calls) for name, calls in with_twin(works, _name(1)).items()}
            yield measured(f"{CLIENTS} clients, {version}", "issues", 1_000, _name(1), turns, setting.rounds)
        rows = [Row.over(name, _memory_mb(gateway)) for name, gateway in gateways.items()]
        yield Group("memory of a worker", "issues", 1_000, "MB", None, tuple(rows))


def _name(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


@contextmanager
def _gateway(count: int) -> Iterator[Serving]:
    issues = ISSUES.make(1_000)
    result = {"structuredContent": issues, "content": [{"type": "text", "text": json.dumps(issues)}]}
    tool = {"name": "issues", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
    answers = json.dumps({"initialize": _OPENING, "tools/list": {"tools": [tool]}, "tools/call": result})
    server = {"command": sys.executable, "args": ["-c", _SERVER, answers]}
    with TemporaryDirectory() as made:
        config = Path(made) / "mcp.json"
        content = {"mcpServers": {"prepared": server}, "louver": {"isolation": "shared"}}
        config.write_text(json.dumps(content), encoding="utf-8")
        with louver("--config", str(config), "--workers", str(count)) as gateway:
            yield gateway


class _Prepared:
    """A call on a connection of its own, whose bytes are ready: a client that takes next to no time itself."""

    def __init__(self, url: str, call: Request) -> None:
        address = urlsplit(url)
        body = call.body.encode()
        headers = {**call.headers, "host": address.netloc, "content-length": str(len(body))}
        lines = [f"POST {address.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self._bytes = "\r\n".join(lines).encode() + body
        self._address = (address.hostname, address.port)
        self._connect()

    def send(self) -> bytes:
        """The response, read to its end."""
        try:
            response = self._response()
        except ConnectionError:
            # The gateway ends what was idle for some seconds: here, while others had their turns.
            self.close()
            self._connect()
            response = self._response()
        assert response.startswith(b"HTTP/1.1 200"), response[:200]
        return response

    def _connect(self) -> None:
        self._socket = create_connection(self._address)
        self._socket.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)

    def _response(self) -> bytes:
        self._socket.sendall(self._bytes)
        response = b""
        while not _is_whole(response):
            if not (piece := self._socket.recv(_PIECE)):
                raise ConnectionResetError
            response += piece
        return response

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


def _is_whole(response: bytes) -> bool:
    head, end, body = response.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return bool(end) and len(body) == int(length)


def _call(stack: ExitStack, gateway: Serving, version: str) -> _Prepared:
    client = Conversation(gateway.url, version)
    stack.callback(client.close)
    client.tools()
    work = _Prepared(gateway.url, client.request("tools/call", {"name": "issues", "arguments": {}}))
    stack.callback(work.close)
    work.send()
    return work


def _memory_mb(gateway: Serving) -> list[float]:
    """Of each process that serves: those above the servers."""
    first, *below = tree(gateway.process)
    serving = [pid for pid in below if len(tree(pid)) > 1] or [first]
    return [pss_mb(pid) for pid in serving]
