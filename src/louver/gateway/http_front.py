"""The HTTP/1.1 that clients are spoken to in: uvicorn's, by h11, with what it writes sent together.

    <- HTTP/1.1 200 OK, headers                 two writes of uvicorn's, one of the socket's:
    <- {"jsonrpc": "2.0", "id": 3, ...}         sending is what takes long

httptools would be faster, but there uvicorn takes the fields behind a body for headers, a request that asks for another
protocol for one without a body, and what names no host: all of which a proxy before it may see otherwise. And it reads
requests before those that came first are answered, without a bound; who runs is then not told that its client has gone.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

_AT_ONCE: Final = 64 * 1024
"""What is sent without waiting for more, in bytes: as much as makes asyncio tell a writer to wait."""


class Front(H11Protocol):
    """What speaks with one client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The client is there."""
        self._together = Together(transport)
        super().connection_made(self._together)  # type: ignore[arg-type]

    def on_response_complete(self) -> None:
        """All of an answer is written."""
        self._together.flush()
        super().on_response_complete()


class Together:
    """A transport, as far as uvicorn uses it, that sends together what is written until it is told that this is all.

    At the latest it sends in the event loop's next turn.

    Args:
        transport: The one that sends.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self._transport = transport
        self._parts: list[Any] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send something, soon."""
        if not data:
            return
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _AT_ONCE:
            self.flush()

    def close(self) -> None:
        """Send what was written, and end."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Send what was written."""
        if self._parts:
            parts, self._parts, self._size = self._parts, [], 0
            # Not `writelines`, which from Python 3.12 on does not tell a writer to wait.
            self._transport.write(b"".join(parts))
