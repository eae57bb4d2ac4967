"""The HTTP/1.1 that clients are spoken to in: uvicorn's, with what it writes sent together.

    <- HTTP/1.1 200 OK, headers                 two writes of uvicorn's, one of the socket's:
    <- {"jsonrpc": "2.0", "id": 3, ...}         sending is what takes long

httptools reads, where it is installed, and h11 else. uvicorn lets it keep the space after a header's value, and takes a
head of any length; here it does neither.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from louver.limits import MAX_HTTP_HEAD

_AT_ONCE: Final = 64 * 1024
"""What is sent without waiting for more, in bytes: as much as makes asyncio tell a writer to wait."""


class Together:
    """A transport that sends together what is written in one turn of the event loop.

    Args:
        transport: The one that sends.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []
        self._size = 0
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's own."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send something, at the latest before the loop's next turn."""
        if not self._parts:
            asyncio.get_running_loop().call_soon(self._send)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _AT_ONCE:
            self._send()

    def close(self) -> None:
        """Send what was written, and end."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._parts:
            self._transport.writelines(self._parts)
            self._parts = []
            self._size = 0


def front() -> type[asyncio.Protocol]:
    """What speaks with one client."""
    try:
        return _by_httptools()
    except ImportError:
        return _by_h11()


# Each is imported only where it speaks: both together take two megabytes.


def _by_httptools() -> type[asyncio.Protocol]:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class ByHttptools(HttpToolsProtocol):
        _fruitless = 0
        _has_read = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(Together(transport))  # type: ignore[arg-type]

        def data_received(self, data: bytes) -> None:
            self._has_read = False
            super().data_received(data)
            self._fruitless = 0 if self._has_read else self._fruitless + len(data)
            if self._fruitless > MAX_HTTP_HEAD and not self.transport.is_closing():
                self.send_400_response("Invalid HTTP request received.")

        def on_headers_complete(self) -> None:
            self._has_read = True
            self.headers[:] = [(name, value.rstrip(b" \t")) for name, value in self.headers]
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._has_read = True
            super().on_body(body)

    return ByHttptools


def _by_h11() -> type[asyncio.Protocol]:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class ByH11(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(Together(transport))  # type: ignore[arg-type]

    return ByH11
