"""Where the browser returns after a login: an address of this machine, or a line that somebody pastes.

    GET http://127.0.0.1:54321/callback?code=...&state=...&iss=...

A request with another state is refused, and the wait goes on: any web page can send one.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from louver.errors import InvalidInput, LoginFailed
from louver.limits import LOGIN_WAIT_S, MAX_TOKEN_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_PATH: Final = "/callback"
_REQUEST_S: Final = 5.0
_DONE: Final = "You can close this page, and go back to the terminal."
_FOREIGN: Final = "This is not the answer to the login that is under way."


class Redirect:
    """One login's way back."""

    def __init__(self, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.uri = f"http://127.0.0.1:{port}{_PATH}"
        self._loop = loop
        self._state: str | None = None
        self._answer: asyncio.Future[dict[str, str] | None] = loop.create_future()

    def expect(self, url: str) -> None:
        """Take only the answer to this request for authorization."""
        self._state = _members(urlsplit(url).query).get("state")

    def take(self, query: str) -> bool:
        """Take the query of a redirect; `False` if it is of another login. Called in any thread."""
        members = _members(query)
        if self._state is None or not secrets.compare_digest(members.get("state", "").encode(), self._state.encode()):
            return False
        self._loop.call_soon_threadsafe(self._settle, members)
        return True

    def end(self) -> None:
        """Nobody can paste an address any more. Called in any thread."""
        # Without the loop the login is over.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, None)

    async def answer(self) -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(LOGIN_WAIT_S):
                members = await self._answer
        except TimeoutError:
            raise LoginFailed(f"nobody has logged in within {LOGIN_WAIT_S:.0f} s") from None
        if members is None:
            hint = "run it in a terminal, in a container by 'docker exec -it' or 'kubectl exec -it'"
            raise LoginFailed(f"standard input ended before the address was pasted: {hint}")
        if "code" not in members:
            reason = members.get("error", "")
            known = reason if reason.isascii() and reason.replace("_", "").isalpha() else "no code"
            raise LoginFailed(f"the authorization server does not grant the login: {known[:60]}")
        return AuthorizationCodeResult(code=members["code"], state=members.get("state"), iss=members.get("iss"))

    def _settle(self, members: dict[str, str] | None) -> None:
        if not self._answer.done():
            self._answer.set_result(members)


@contextmanager
def redirect(port: int, preferred_port: int | None) -> Generator[Redirect]:
    """Listen on a port of the loopback: the configured one, that of an earlier login, or any."""
    server = _listen(port, preferred_port)
    found = Redirect(server.server_address[1], asyncio.get_running_loop())
    server.RequestHandlerClass = _handler(found.take)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


def read_pasted(found: Redirect, complain: Callable[[], None]) -> None:
    """Read lines of standard input, in a thread of its own, until one is taken; its end is that of the login."""

    def read() -> None:
        while (line := _line()) is not None:
            # Not the code alone: without state and issuer it could be of another login.
            if found.take(line.partition("?")[2]):
                return
            complain()
        found.end()

    Thread(target=read, daemon=True).start()


def _listen(port: int, preferred_port: int | None) -> ThreadingHTTPServer:
    for each in (port,) if port else (preferred_port or 0, 0):
        try:
            server = ThreadingHTTPServer(("127.0.0.1", each), BaseHTTPRequestHandler)
        except OSError:
            continue
        server.daemon_threads = True
        return server
    raise InvalidInput(f"the port {port} of 127.0.0.1 is in use: the browser is to return there, by 'callbackPort'")


def _handler(take: Callable[[str], bool]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _REQUEST_S

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            is_taken = parts.path == _PATH and take(parts.query)
            body = (_DONE if is_taken else _FOREIGN).encode()
            self.send_response(200 if is_taken else 400)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the path has the code."""

    return Handler


def _members(query: str) -> dict[str, str]:
    try:
        return {name: values[0] for name, values in parse_qs(query, max_num_fields=32).items()}
    except ValueError:
        return {}


def _line() -> str | None:
    """A line of standard input, without the buffer that an ending interpreter waits for; `None` at its end."""
    data = b""
    while not data.endswith(b"\n") and len(data) < MAX_TOKEN_CHARACTERS:
        piece = os.read(0, 1)
        if not piece:
            break
        data += piece
    return data.decode("utf-8", "replace").strip() if data else None
