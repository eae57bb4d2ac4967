"""One HTTP/1.1 connection to an upstream: one request after the other, with response bodies in pieces.

    -> POST /mcp HTTP/1.1, headers, body        one write
    <- HTTP/1.1 200 OK, headers                 `Response`
    <- a piece of the body, another one, ...    `Response.piece`; unread bytes are bounded, the upstream waits

A client library would take longer than the rest of a call (`benchmarks/README.md`).
"""

from __future__ import annotations

import asyncio
import select
import zlib
from functools import partial
from typing import TYPE_CHECKING, Final

from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamTooLarge, UpstreamUnavailable
from louver.http1.fast_heads import PlainHeads, plain_response
from louver.http1.lines import too_large
from louver.http1.parser import TRUNCATED, Head, PlainFirstParser
from louver.limits import MAX_UPSTREAM_BYTES, MAX_UPSTREAM_MEMBERS, MAX_UPSTREAM_PENDING, UPSTREAM_GOODBYE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from louver.concurrency.budget import Turnstile
    from louver.http1.parser import Part

MAX_UPSTREAM_REST = 64 * 1024
"""Bytes of a response that are read and discarded, as they came, so that its connection can be used again."""


# Most bytes that are decompressed at a time.
_MAX_PIECE: Final = 64 * 1024


# The first bytes of a gzip member.
_MAGIC: Final = b"\x1f\x8b"

_new_decompressor: Final = partial(zlib.decompressobj, wbits=16 + zlib.MAX_WBITS)


class Connection(asyncio.Protocol):
    """One connection; it calls `on_idle` when it can be used again, and `on_lost` when it has ended."""

    def __init__(
        self, on_idle: Callable[[Connection], None], on_lost: Callable[[Connection], None], turnstile: Turnstile
    ) -> None:
        self.turnstile = turnstile
        self._on_idle = on_idle
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._readable = select.poll()
        self._heads = PlainHeads(plain_response)
        self._parser: PlainFirstParser | None = None  # of the response, once it has begun
        self._unread = 0
        self._waiter: asyncio.Future[None] | None = None
        self._fault: str | None = None
        self._is_busy = False

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent: as far as is known, the upstream has not closed the connection."""
        if self._fault is not None or self._transport is None:
            return False
        return not self._readable.poll(0)

    async def request(self, head: bytes, body: bytes) -> Response:
        """Send a request, and wait for the head of its response."""
        self._is_busy = True
        try:
            assert self._transport is not None, "a connection is used once it is made"
            self._transport.write(head + body)
            response_head = await self.next_part()
            assert isinstance(response_head, Head), "an answer begins with its head"
        except BaseException as error:  # after a cancellation the response would be for no request
            self.close()
            if isinstance(error, UpstreamUnavailable):
                # The request is sent, and may have reached the upstream.
                error.goes_on = True
            raise
        return Response(self, response_head)

    async def next_part(self) -> Part:
        """The next part of the response. Reading resumes once all received bytes are consumed."""
        while (parser := self._parser) is None or not parser.parts:
            if parser is not None and parser.fault is not None:
                self._set_fault(parser.fault)
                # Not `self._fault`: the connection may have ended before.
                raise UpstreamUnavailable(parser.fault)
            self._resume_reading()
            if self._fault is not None:
                raise UpstreamUnavailable(self._fault)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return parser.parts.popleft()

    def finish_response(self) -> None:
        """The end of the response has been read."""
        self._is_busy = False
        # Part of the request may be unsent: an upstream may respond early, and then read no more.
        is_sending = self._transport is not None and self._transport.get_write_buffer_size() > 0
        if self._parser is None or self._parser.is_last or is_sending:
            self.close()
        else:
            self._parser.end()
            self._parser = None
            self._resume_reading()
            self._on_idle(self)

    def close(self) -> None:
        self._set_fault(TRUNCATED)
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._readable.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        if not self._is_busy:
            self.close()  # data without a request
            return
        if (parser := self._parser) is None:
            parser = self._parser = PlainFirstParser(self._heads)
        parser.feed(data)
        self._unread += len(data)
        if self._unread >= MAX_UPSTREAM_PENDING and self._transport is not None:
            self._transport.pause_reading()
        elif parser.awaits_body:
            return
        self._wake()

    def eof_received(self) -> None:
        """The end of the connection is the end of some bodies."""
        if self._is_busy:
            if self._parser is None:
                self._parser = PlainFirstParser(self._heads)
            self._parser.feed(b"")
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._parser is not None:
            self._parser.end()
        self._set_fault(TRUNCATED)
        self._on_lost(self)

    # Internals

    def _resume_reading(self) -> None:
        self._unread = 0
        if self._transport is not None:
            self._transport.resume_reading()

    def _set_fault(self, fault: str) -> None:
        self._fault = self._fault or fault
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Response:
    """A response, open until it is closed or read to its end."""

    def __init__(self, connection: Connection, head: Head) -> None:
        self.status = head.status
        self._connection = connection
        self._headers = head.headers
        self.media_type = (self.header("content-type") or "").partition(";")[0].strip().lower()
        self._is_finished = False
        self._decoder = _DECODERS.get((self.header("content-encoding") or "identity").lower(), _UnsupportedEncoding)()
        self._pieces: Iterator[bytes] = iter(())

    def header(self, name: str) -> str | None:
        value = self._headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    async def piece(self) -> bytes | None:
        """The next decompressed bytes of the body; `None` at its end."""
        while (piece := next(self._pieces, None)) is None and not self._is_finished:
            if (part := await self._part()) is None:
                self._decoder.end()
            else:
                self._pieces = self._decoder.feed(part)
        if piece is not None and len(piece) == _MAX_PIECE:
            # There is more, which may have been received already.
            await self._connection.turnstile.wait()
        return piece

    async def body(self) -> bytes:
        """The whole body; beyond `MAX_UPSTREAM_BYTES` after decompression it is closed instead."""
        pieces: list[bytes] = []
        size = 0
        try:
            if (length := self.header("content-length") or "").isdigit() and int(length[:20]) > MAX_UPSTREAM_BYTES:
                raise too_large()
            while (piece := await self.piece()) is not None:
                pieces.append(piece)
                size += len(piece)
                if size > MAX_UPSTREAM_BYTES:
                    raise too_large()
        except BaseException:  # cancellation must close the response too
            self.close()
            raise
        return b"".join(pieces)

    async def finish(self) -> None:
        """Read the rest without decompressing it, if it is short, so that the connection can be reused."""
        left = MAX_UPSTREAM_REST
        try:
            async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                while left >= 0 and not self._is_finished:
                    left -= len(await self._part() or b"")
        except (TimeoutError, UpstreamError):
            pass  # the connection is closed instead
        finally:
            self.close()

    def close(self) -> None:
        """Discard the response; unless it was read to its end, the connection ends."""
        if not self._is_finished:
            self._is_finished = True
            self._connection.close()

    async def _part(self) -> bytes | None:
        """The next bytes of the body as they came; `None` at its end."""
        part = await self._connection.next_part()
        if isinstance(part, bytes):
            return part
        self._is_finished = True
        self._connection.finish_response()
        return None


class _Identity:
    def feed(self, raw: bytes) -> Iterator[bytes]:
        return iter((raw,))

    def end(self) -> None:
        pass


class _Gzip:
    """Decompresses a body of one or more members (RFC 1952, section 2.2), at most `_PIECE` bytes at a time."""

    def __init__(self) -> None:
        self._decompressor = _new_decompressor()
        self._has_begun = False
        self._members = 0
        self._padding = b""

    def feed(self, raw: bytes) -> Iterator[bytes]:
        self._has_begun = True
        while raw:
            if self._decompressor.eof:
                raw = self._padding + raw
                if not raw.startswith(_MAGIC):
                    # Some servers pad the body. Padding is not a member, and is ignored.
                    self._padding = raw[: len(_MAGIC)]
                    return
                self._padding = b""
                self._decompressor = _new_decompressor()
                self._members += 1
                if self._members == MAX_UPSTREAM_MEMBERS:
                    message = f"the upstream's answer is compressed in over {MAX_UPSTREAM_MEMBERS} members"
                    raise UpstreamTooLarge(message, limit=MAX_UPSTREAM_MEMBERS)
            try:
                piece = self._decompressor.decompress(raw, _MAX_PIECE)
            except zlib.error:
                raise _invalid_encoding() from None
            raw = self._decompressor.unused_data if self._decompressor.eof else self._decompressor.unconsumed_tail
            if piece:
                yield piece

    def end(self) -> None:
        if self._has_begun and not self._decompressor.eof:
            raise _invalid_encoding()


class _UnsupportedEncoding(_Identity):
    def feed(self, raw: bytes) -> Iterator[bytes]:
        raise UpstreamInvalidOutput("the upstream's answer is compressed in a way that was not asked for")


_DECODERS: Final[dict[str, type[_Identity | _Gzip]]] = {"identity": _Identity, "gzip": _Gzip, "x-gzip": _Gzip}


def _invalid_encoding() -> UpstreamInvalidOutput:
    return UpstreamInvalidOutput("the upstream's answer is not compressed as it says")
