"""`python -m tests.policy.wire_canaries --cases N --seed S`: `canaries.py` over real sockets; 1 if a token got out.

A gateway with tokens serves over HTTP, in front of a server over HTTP. In each case somebody who sees everything opens
a session and calls; then the policy is reloaded, or a token of the same subject without rights tries all that a client
can send: that session, events of its streams, results that were kept, a session and a call of its own, and calls that
break off. What comes to it, read by h11 and by httptools, is searched for every token that it must not see.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import socket
import sys
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import h11
import httptools

from louver.gateway.config.auth import Auth, Tokens
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.front.auth.authenticated import AuthMiddleware
from louver.gateway.front.endpoint import McpEndpoint
from louver.gateway.front.http import serve
from louver.gateway.gateway import Gateway
from louver.steps.results.results import KeptResults
from tests.fixtures.failsafe import FAILSAFE_S
from tests.policy.canaries import escaped
from tests.policy.cases import TOOL, Case, Cases

if TYPE_CHECKING:
    from louver.policy.policy import Policy, ToolPolicy

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
INFO = {"name": "canaries", "version": "1"}
CALL = {"name": TOOL, "arguments": {}, "_meta": {"progressToken": 7}}
PROGRAM = {"extensions": {"dev.louver/projection": {}}}
ADMIN, PLAIN = "the-token-of-an-admin", "the-token-of-a-guest"
SUBJECT = {"subject": "ann", "client": "desk"}
AT_ONCE_S = 0.02


class Server:
    """The server behind: one tool, whose answers come as JSON or as a stream, in pieces; a call may be held back."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.case: Case
        self.is_held = False
        self.reached, self.released = asyncio.Event(), asyncio.Event()
        self._serving: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    async def close(self) -> None:
        """End all connections."""
        for task, writer in self._serving.items():
            task.cancel()
            writer.close()
        await asyncio.gather(
            *self._serving, *(each.wait_closed() for each in self._serving.values()), return_exceptions=True
        )

    def hold(self) -> None:
        """Hold the next call back, until it is released."""
        self.is_held = True
        self.reached, self.released = asyncio.Event(), asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = writer
        task.add_done_callback(self._serving.pop)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = re.search(rb"content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                await self._answer(writer, head, json.loads(body) if body else {})
        writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, head: bytes, message: dict[str, Any]) -> None:
        if not head.startswith(b"post"):
            writer.write(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")
            return
        if "id" not in message:
            writer.write(b"HTTP/1.1 202 OK\r\ncontent-length: 0\r\n\r\n")
            return
        said = {"jsonrpc": "2.0", "id": message["id"], **self._said(message["method"])}
        if message["method"] != "tools/call" or self.rng.random() < 0.5:
            body = json.dumps(said).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body))
        else:
            # What is told on the way makes a stream of the response in a session.
            progress = {"progressToken": message["params"].get("_meta", {}).get("progressToken"), "progress": 1}
            told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
            body = b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in (told, said))
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body)
            )
        if message["method"] == "tools/call" and self.is_held:
            self.is_held = False
            self.reached.set()
            await self.released.wait()
        cut = self.rng.randrange(len(body))
        for piece in (body[:cut], body[cut:]):
            writer.write(piece)
            await writer.drain()

    def _said(self, method: str) -> dict[str, Any]:
        if method == "initialize":
            capabilities = {"tools": {"listChanged": True}}
            return {"result": {"protocolVersion": HANDSHAKE, "capabilities": capabilities, "serverInfo": INFO}}
        if method == "tools/list":
            return {"result": {"tools": [self.case.tool]}}
        if method != "tools/call":
            return {"error": {"code": -32601, "message": "Method not found"}}
        if self.case.result is None:
            return {"error": {"code": -32001, "message": json.dumps([self.case.tool, self.case.denied])}}
        return {"result": self.case.result}


class OpenRequests:
    """An ASGI wrapper that knows when no request is being answered."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._open = 0
        self._idle = asyncio.Event()

    async def __call__(self, *arguments: Any) -> None:
        self._open += 1
        self._idle.clear()
        try:
            await self._app(*arguments)
        finally:
            self._open -= 1
            if self._open <= 1:  # the lifespan
                self._idle.set()

    async def until_none(self) -> None:
        async with asyncio.timeout(FAILSAFE_S):
            await self._idle.wait()


class Client:
    """Somebody with a token; `heard` is all that came."""

    def __init__(self, port: int, token: str) -> None:
        self.heard: list[bytes] = []
        self.session: str | None = None
        self._port = port
        self._token = token

    async def open(self) -> None:
        """Open a session."""
        opening = {"protocolVersion": HANDSHAKE, "capabilities": PROGRAM, "clientInfo": INFO}
        head, _ = await self.post("initialize", opening)
        self.session = head.get(b"mcp-session-id", b"").decode()
        await self.send("POST", {"method": "notifications/initialized"}, self._of_session())

    async def close(self) -> None:
        """End the session, if there is one."""
        if self.session:
            await self.send("DELETE", None, self._of_session())

    async def post(self, method: str, params: dict[str, Any], *, session: str | None = None, stop: int | None = None):
        """Send a request in a session, one's own by default; at most `stop` bytes of the response are read."""
        message = {"id": 7, "method": method, "params": params}
        return await self.send("POST", message, self._of_session(session), stop=stop)

    async def modern(self, method: str, params: dict[str, Any], *, stop: int | None = None):
        """Send a request of 2026-07-28."""
        envelope = {
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": INFO,
            "io.modelcontextprotocol/clientCapabilities": PROGRAM,
        }
        params = {**params, "_meta": {**params.get("_meta", {}), **envelope}}
        named = params.get("name", params.get("uri"))
        headers = {"mcp-protocol-version": STATELESS, "mcp-method": method, **({"mcp-name": named} if named else {})}
        return await self.send("POST", {"id": 7, "method": method, "params": params}, headers, stop=stop)

    async def resume(self, session: str | None, last: str):
        """Ask for what came after an event."""
        return await self.send("GET", None, {**self._of_session(session), "last-event-id": last}, whole=False)

    async def send(
        self,
        verb: str,
        message: dict[str, Any] | None,
        headers: dict[str, str],
        *,
        stop: int | None = None,
        whole: bool = True,
    ) -> tuple[dict[bytes, bytes], bytes]:
        """The head and the body of the response; of a stream without an end what is there at once."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            body = b"" if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
            fields = {
                "host": f"127.0.0.1:{self._port}",
                "authorization": f"Bearer {self._token}",
                "accept": "application/json, text/event-stream",
                "content-type": "application/json",
                "content-length": str(len(body)),
                "connection": "close",
                **headers,
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            writer.write(f"{verb} /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
            raw = await self._read(reader, stop, whole=whole)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        self.heard.append(raw)
        head, body = by_h11(verb, raw)
        self.heard += [body, by_httptools(raw)]
        return head, body

    async def _read(self, reader: asyncio.StreamReader, stop: int | None, *, whole: bool) -> bytes:
        if stop is not None:
            return await reader.read(stop)
        raw = b""
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(FAILSAFE_S) as deadline:
                while piece := await reader.read(2**16):
                    raw += piece
                    if not whole:
                        # What is there to be resumed comes right behind the head.
                        deadline.reschedule(asyncio.get_running_loop().time() + AT_ONCE_S)
        return raw

    def _of_session(self, session: str | None = None) -> dict[str, str]:
        session = session or self.session
        return {"mcp-protocol-version": HANDSHAKE, **({"mcp-session-id": session} if session else {})}


def event_ids(body: bytes) -> list[str]:
    """The ids of events, each once."""
    return list(dict.fromkeys(found.decode() for found in re.findall(rb"(?m)^id: *(\d+)", body)))


def by_h11(verb: str, raw: bytes) -> tuple[dict[bytes, bytes], bytes]:
    """The head and the body, as h11 reads them."""
    http = h11.Connection(h11.CLIENT)
    http.send(h11.Request(method=verb, target="/", headers=[("host", "h")]))
    http.send(h11.EndOfMessage())
    head, body = {}, b""
    if not raw:
        return head, body
    http.receive_data(raw)
    while (event := http.next_event()) not in (h11.NEED_DATA, h11.PAUSED) and not isinstance(event, h11.EndOfMessage):
        if isinstance(event, h11.Response):
            head = dict(event.headers)
        elif isinstance(event, h11.Data):
            body += event.data
    return head, body


def by_httptools(raw: bytes) -> bytes:
    """The body, as httptools reads it."""
    pieces: list[bytes] = []

    class Reader:
        def on_body(self, piece: bytes) -> None:
            pieces.append(piece)

    with suppress(httptools.HttpParserError):
        httptools.HttpResponseParser(Reader()).feed_data(raw)
    return b"".join(pieces)


class Run:
    """One run: what was counted, and what got out."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = Random(seed)
        self.counts: Counter[str] = Counter()
        self.found: list[tuple[str, str]] = []
        self.example = ""

    async def cases(self, number: int, *, enough: int | None = None) -> Run:
        """So many cases, or until so many tokens have got out."""
        made = Cases(self.rng)
        self.behind = Server(self.rng)
        self.behind.case = made.case()
        async with await asyncio.start_server(self.behind.serve, "127.0.0.1", 0) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
            with TemporaryDirectory() as folder:
                async with self._gateway(Path(folder)) as self.port:
                    for _ in range(number):
                        await self._case(made.case())
                        if enough is not None and len(self.found) >= enough:
                            break
            await self.behind.close()
            server.close()
        return self

    @asynccontextmanager
    async def _gateway(self, folder: Path):
        entries = {ADMIN: {**SUBJECT, "roles": ["admin"]}, PLAIN: SUBJECT}
        tokens = folder / "tokens.json"
        digests = {hashlib.sha256(token.encode()).hexdigest(): entry for token, entry in entries.items()}
        tokens.write_text(json.dumps({"tokens": digests}))
        tokens.chmod(0o600)
        self.gateway = Gateway(self._config(self.behind.case.policy), single_client=False)
        self.open_requests = OpenRequests(AuthMiddleware(McpEndpoint(self.gateway), Auth(Tokens(tokens))))
        end = []
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(
                serve(
                    self.open_requests,
                    listening,
                    ready=end.append,
                    end_streams=self.gateway.listen_streams.close,
                    close_upstreams=self.gateway.end,
                )
            )
            try:
                yield listening.getsockname()[1]
            finally:
                end[0]()
                await serving
                await self.gateway.close()

    def _config(self, policy: Policy) -> Config:
        policy = replace(policy, allowed_features=frozenset({"progress"}))
        upstream = UpstreamConfig("it", "http", url=self.url, policy=policy)
        return Config((upstream,), argument="all", keep_results=KeptResults(over_bytes=200))

    async def _case(self, case: Case) -> None:
        rng, behind = self.rng, self.behind
        self.counts["cases"] += 1
        behind.case = case
        await self.gateway.reconfigure(self._config(case.policy))
        admin, guest = Client(self.port, ADMIN), Client(self.port, PLAIN)
        await admin.open()
        stop = rng.choice((None, None, 400, 1200))
        _, answer = await admin.post("tools/call", CALL, stop=stop)
        # A call of a session goes on without its client.
        await self.open_requests.until_none()
        _, listed = await admin.post("tools/list", {})
        events = event_ids(answer + listed)
        if rng.random() < 0.5:
            answer += (await admin.modern("tools/call", {"name": TOOL, "arguments": {}}))[1]
        kept = [found.decode() for found in re.findall(rb'louver://[^"\\\s]+', answer)]
        if rng.random() < 0.3:
            await self._reload(case, admin)
            self.counts["reloaded"] += 1
            guest.heard += admin.heard
        for attempt in rng.sample(ATTEMPTS, rng.choice((2, 3, 4))):
            await attempt(self, case, guest, admin.session, events, kept)
            self.counts[attempt.__name__.strip("_")] += 1
        for client in (admin, guest):
            await client.close()
        self.counts["denied tokens"] += len(case.denied)
        self.counts["answered"] += any(b'"tools"' in heard or b'"content"' in heard for heard in guest.heard)
        out = [heard.decode("utf-8", "replace") for heard in guest.heard]
        for token, what in escaped(out, case.denied):
            self.counts[f"OUT {what}"] += 1
            self.found.append((token, what))
            if len(self.found) == 1:
                where = [text[max(0, text.find(token) - 300) :][:600] for text in out if token in text]
                rules = [rule.fields for rule in case.policy.tools[TOOL].rules]
                self.example = "\n".join(map(str, (token, what, *where, *rules, case.tool, case.result)))

    async def _reload(self, case: Case, admin: Client) -> None:
        """Take the rights of the admin away, while a call is under way in half of the cases."""
        stricter = replace(case.policy, version="2", tools={TOOL: _without_admins(case.policy.tools[TOOL])})
        session, before = admin.session, admin.heard
        call: asyncio.Task[Any] | None = None
        if self.rng.random() < 0.5:
            self.behind.hold()
            call = asyncio.create_task(admin.post("tools/call", CALL))
            async with asyncio.timeout(FAILSAFE_S):
                await self.behind.reached.wait()
        admin.heard = []
        await self.gateway.reconfigure(self._config(stricter))
        self.behind.released.set()
        if call is not None:
            await call
        for event in event_ids(b"".join(before)):
            await admin.resume(session, event)
        await admin.post("tools/call", CALL)
        for uri in re.findall(rb'louver://[^"\\\s]+', b"".join(before))[:2]:
            await admin.post("resources/read", {"uri": uri.decode()})

    # What somebody without rights tries

    async def _resumes_the_session(self, case, guest, session, events, kept) -> None:
        for event in events:
            await guest.resume(session, event)

    async def _calls_in_the_session(self, case, guest, session, events, kept) -> None:
        await guest.post("tools/list", {}, session=session)
        await guest.post("tools/call", CALL, session=session)

    async def _resumes_in_its_own(self, case, guest, session, events, kept) -> None:
        await guest.open()
        await guest.post("tools/call", {"name": TOOL, "arguments": {}, "_meta": case.meta})
        for event in events:
            await guest.resume(guest.session, event)

    async def _calls(self, case, guest, session, events, kept) -> None:
        await guest.modern("tools/list", {})
        await guest.modern("tools/call", {"name": TOOL, "arguments": {}, "_meta": case.meta})

    async def _reads_what_is_kept(self, case, guest, session, events, kept) -> None:
        for uri in kept[:2]:
            await guest.modern("resources/read", {"uri": uri})

    async def _breaks_off(self, case, guest, session, events, kept) -> None:
        """Its answer is not that of whoever comes next on the connection to the server."""
        self.behind.hold()
        admin = Client(self.port, ADMIN)
        call = asyncio.create_task(admin.modern("tools/call", {"name": TOOL, "arguments": {}}))
        # After a reload the admin may see nothing: the call is refused then.
        reached = asyncio.create_task(self.behind.reached.wait())
        await asyncio.wait({call, reached}, return_when=asyncio.FIRST_COMPLETED)
        for task in (call, reached):
            task.cancel()
        await asyncio.gather(call, reached, return_exceptions=True)
        await self.open_requests.until_none()
        # The answer comes on that connection, if it is still used, once the next request is on it.
        asyncio.get_running_loop().call_later(AT_ONCE_S, self.behind.released.set)
        await guest.modern("tools/call", {"name": TOOL, "arguments": {}, "_meta": case.meta})


ATTEMPTS = [
    Run._resumes_the_session,
    Run._calls_in_the_session,
    Run._resumes_in_its_own,
    Run._calls,
    Run._reads_what_is_kept,
    Run._breaks_off,
]


def _without_admins(tool: ToolPolicy) -> ToolPolicy:
    return replace(tool, rules=tuple(rule for rule in tool.rules if rule.name != "admins"))


def main() -> int:
    """Run, print, and say whether nothing got out."""
    parser = argparse.ArgumentParser(prog="python -m tests.policy.wire_canaries", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = perf_counter()
    run = asyncio.run(Run(options.seed).cases(options.cases))
    for name, count in sorted(run.counts.items()):
        print(f"{count:>9}  {name}")
    print(f"{run.counts['cases'] / (perf_counter() - start):>9.0f}  cases a second")
    if run.found:
        print(run.example)
    return 1 if run.found else 0


if __name__ == "__main__":
    sys.exit(main())
