"""The response of an HTTP upstream: one message, an event stream, or an error status.

    200 application/json, or text/event-stream    one message, or events until it ends
    404 in a session                              the session is over
    4xx, 5xx with a JSON-RPC error as the body    that error; with 401, 429 and others it concerns all requests

Beyond `MAX_UPSTREAM_BYTES` after decompression it is not read, and the connection is closed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from louver.core.cached import cached_property
from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamUnavailable
from louver.gateway.transports.transport import RefusesAllRequests
from louver.http1.sse import SseDecoder
from louver.jsonrpc import codec, strict_json
from louver.jsonrpc.errors import JsonRpcError
from louver.limits import MAX_UPSTREAM_BYTES, UPSTREAM_GOODBYE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.http1.connection import RawResponse
    from louver.http1.sse import Event
    from louver.jsonrpc.codec import Message

_REFUSALS = {
    **dict.fromkeys((401, 403), "the upstream does not take the gateway's credentials:"),
    **dict.fromkeys((301, 302, 303, 307, 308), "the upstream redirects, which is not followed:"),
}

# Statuses that concern the gateway or the whole upstream, not one request.
_GLOBAL_STATUSES = frozenset({401, 403, 407, 429, 502, 503, 504})


class Response:
    def __init__(self, reply: RawResponse) -> None:
        self._reply = reply
        self._media_type = (self.header("content-type") or "").partition(";")[0].strip().lower()
        self._events: Iterator[Event] = iter(())

    @cached_property
    def _reader(self) -> SseDecoder:
        return SseDecoder()

    @property
    def status(self) -> int:
        return self._reply.status

    @property
    def is_stream(self) -> bool:
        return self._media_type == "text/event-stream"

    def header(self, name: str) -> str | None:
        return self._reply.header(name)

    async def message(self) -> Message:
        if self._media_type != "application/json":
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
        return await codec.read_in_thread(b"".join(pieces))

    async def event(self) -> Event | None:
        """The next event; `None` if the stream or the connection has ended."""
        while (event := next(self._events, None)) is None:
            try:
                piece = await self._reply.piece()
            except UpstreamUnavailable:
                return None
            if piece is None:
                return None
            self._events = self._reader.feed(piece)
            # A piece that was already there is not waited for: give other tasks a turn.
            await asyncio.sleep(0)
        return event

    async def refusal(self) -> JsonRpcError | UpstreamError:
        problem = f"{_REFUSALS.get(self.status, 'the upstream answers with')} HTTP {self.status}"
        if self.status >= 400 and (error := await self._error()) is not None:
            return RefusesAllRequests(error, problem) if self.status in _GLOBAL_STATUSES else error
        if self.status < 300:
            return UpstreamInvalidOutput("the upstream accepts a request without answering it")
        return UpstreamUnavailable(problem, status=self.status)

    async def finish(self) -> None:
        """Read the rest, if it is short, so that the connection can be reused."""
        try:
            async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                while await self._reply.piece() is not None:
                    pass
        except (TimeoutError, UpstreamError):
            pass  # the connection is closed instead
        finally:
            self.close()

    def close(self) -> None:
        self._reply.close()

    async def _error(self) -> JsonRpcError | None:
        try:
            (await self.message()).result()
        except JsonRpcError as error:
            return error
        except UpstreamError:
            pass
        return None
