"""What an HTTP upstream answers: a body, a stream of events, or a refusal by its status.

    200 application/json        one message
    200 text/event-stream       events, until it ends
    3xx                         not followed
    401, 403                    the gateway's credentials are not taken
    404 to a known session      the session is over
    4xx, 5xx with a JSON-RPC error as the body     that error; with 401, 429 and others it is of nobody's request

What is read is counted after decompression, and stops at `MAX_UPSTREAM_BYTES`; the connection is closed then.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp import MCPError

from louver.core.cached import cached_property
from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamUnavailable
from louver.gateway.transports.transport import RefusesAll
from louver.http1.sse import Events
from louver.jsonrpc import codec, strict_json
from louver.limits import MAX_UPSTREAM_BYTES, UPSTREAM_GOODBYE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.http1.connection import Reply
    from louver.http1.sse import Event
    from louver.jsonrpc.codec import Message

_REFUSALS = {
    **dict.fromkeys((401, 403), "the upstream does not take the gateway's credentials:"),
    **dict.fromkeys((301, 302, 303, 307, 308), "the upstream redirects, which is not followed:"),
}

_OF_ALL = frozenset({401, 403, 407, 429, 502, 503, 504})
"""What says nothing of a request, but of the gateway, or of the upstream itself."""


class Response:
    """One answer, open until it is closed or read to its end.

    Args:
        reply: Its head; its body has not been read.
    """

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._kind = (self.header("content-type") or "").partition(";")[0].strip().lower()
        self._events: Iterator[Event] = iter(())

    @cached_property
    def _reader(self) -> Events:
        return Events()

    @property
    def status(self) -> int:
        """Its status code."""
        return self._reply.status

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of events."""
        return self._kind == "text/event-stream"

    def header(self, name: str) -> str | None:
        """One of its headers, named in lower case."""
        return self._reply.header(name)

    async def message(self) -> Message:
        """The message that its body is.

        Raises:
            UpstreamUnavailable: The connection ended before it did.
            UpstreamTooLarge: It is too large.
            UpstreamInvalidOutput: It is no message, or not strictly JSON.
        """
        if self._kind != "application/json":
            raise UpstreamInvalidOutput("the upstream answers with neither JSON nor a stream of events")
        if (length := self.header("content-length") or "").isdigit() and int(length[:20]) > MAX_UPSTREAM_BYTES:
            raise strict_json.too_large()
        pieces: list[bytes] = []
        size = 0
        while (piece := await self._reply.piece()) is not None:
            pieces.append(piece)
            size += len(piece)
            if size > MAX_UPSTREAM_BYTES:
                raise strict_json.too_large()
        return await codec.read_aside(b"".join(pieces))

    async def event(self) -> Event | None:
        """The next event; `None` when the stream has ended, or the connection.

        Raises:
            UpstreamTooLarge: It is too large.
        """
        while (event := next(self._events, None)) is None:
            try:
                piece = await self._reply.piece()
            except UpstreamUnavailable:
                return None
            if piece is None:
                return None
            self._events = self._reader.feed(piece)
            # Of a piece that was waiting nothing has been awaited: others have their turn.
            await asyncio.sleep(0)
        return event

    async def refusal(self) -> MCPError | UpstreamError:
        """What a status other than of success says."""
        problem = f"{_REFUSALS.get(self.status, 'the upstream answers with')} HTTP {self.status}"
        if self.status >= 400 and (error := await self._error()) is not None:
            return RefusesAll(error, problem) if self.status in _OF_ALL else error
        if self.status < 300:
            return UpstreamInvalidOutput("the upstream accepts a request without answering it")
        return UpstreamUnavailable(problem, status=self.status)

    async def finish(self) -> None:
        """Read what is left of it, if that is little, so that its connection can be used again."""
        try:
            async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                while await self._reply.piece() is not None:
                    pass
        except (TimeoutError, UpstreamError):
            pass  # the connection is closed instead
        finally:
            self.close()

    def close(self) -> None:
        """Nobody wants it any more; unless it has been read, its connection ends."""
        self._reply.close()

    async def _error(self) -> MCPError | None:
        """The error that is its body, if that is one."""
        try:
            (await self.message()).result()
        except MCPError as error:
            return error
        except UpstreamError:
            pass
        return None
