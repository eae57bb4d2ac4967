"""One HTTP/1.1 connection to an upstream: a request after the other, each with the pieces of its answer as they come.

    -> POST /mcp HTTP/1.1, headers, body        one write
    <- HTTP/1.1 200 OK, headers                 `Reply`
    <- a piece of the body, another one, ...    `Reply.piece`; what is unread is bounded, the upstream waits

What comes is read by `reading.py`. A client library would do the rest too, but takes more time for one request than all
else that the gateway does for a call (`docs/explanation/performance.md`).
"""

from __future__ import annotations

import asyncio
import select
import zlib
from functools import partial
from typing import TYPE_CHECKING, Final

from louver.errors import UpstreamInvalidOutput, UpstreamTooLarge, UpstreamUnavailable
from louver.http1.parser import Head, NotHttp, readers
from louver.limits import MAX_UPSTREAM_MEMBERS, MAX_UPSTREAM_PENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from louver.http1.parser import Part

_PIECE: Final = 64 * 1024
"""The most that is made of a compressed body at a time, in bytes."""

_PARTS_AT_ONCE: Final = 512
"""So many parts are read before others have their turn. Bodies in tiny pieces take time for each."""

_MAGIC: Final = b"\x1f\x8b"
"""How a member of a compressed body begins."""

_member: Final = partial(zlib.decompressobj, wbits=16 + zlib.MAX_WBITS)

_BROKEN: Final = "the upstream cannot be reached: its connection has ended before its answer did"
_NOT_HTTP: Final = "the upstream cannot be reached: its answer is not HTTP/1.1"


class Connection(asyncio.Protocol):
    """One connection.

    Args:
        free: Called when it can be used again.
        lost: Called when it has ended.
    """

    def __init__(self, free: Callable[[Connection], None], lost: Callable[[Connection], None]) -> None:
        self._free = free
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._coming = select.poll()
        self._next_reader = readers()
        self._reader = self._next_reader()
        self._unread = 0
        self._at_once = 0
        self._waiter: asyncio.Future[None] | None = None
        self._fault: str | None = None
        self._is_taken = False

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent: the upstream has not ended it meanwhile, as far as is known here."""
        if self._fault is not None or self._transport is None:
            return False
        return not self._coming.poll(0)

    async def request(self, head: bytes, body: bytes) -> Reply:
        """The head of the answer to a request, of which that is the head.

        Raises:
            UpstreamUnavailable: There is none.
        """
        self._is_taken = True
        try:
            assert self._transport is not None, "a connection is used once it is made"
            self._transport.write(head + body)
            answer = await self._part()
            assert isinstance(answer, Head), "an answer begins with its head"
        except BaseException as error:  # once a call is cancelled, the answer to come is for nobody
            self.close()
            if isinstance(error, UpstreamUnavailable):
                # It is sent, and nothing tells how much of it has come there.
                error.goes_on = True
            raise
        return Reply(self, answer)

    async def piece(self) -> bytes | None:
        """The next bytes of the body as they were sent; `None` when it has ended.

        Raises:
            UpstreamUnavailable: The connection has ended before it did.
        """
        part = await self._part()
        if isinstance(part, bytes):
            return part
        self._done()
        return None

    def close(self) -> None:
        """End it, in the midst of whatever it does."""
        self._ended(_BROKEN)
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is made."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._coming.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        if not self._is_taken:
            self.close()  # nobody has asked
            return
        self._reader.feed(data)
        self._unread += len(data)
        if self._unread >= MAX_UPSTREAM_PENDING and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Nothing more will come, which some bodies end with."""
        if self._is_taken:
            self._reader.feed(b"")
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._ended(_BROKEN)
        self._lost(self)

    # Within

    async def _part(self) -> Part:
        """The next part of the answer; of what comes more is taken in once all is read."""
        while (part := self._next()) is None:
            self._take_more()
            if self._fault is not None:
                raise UpstreamUnavailable(self._fault)
            self._at_once = 0
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        self._at_once += 1
        if self._at_once == _PARTS_AT_ONCE:
            self._at_once = 0
            await asyncio.sleep(0)
        return part

    def _next(self) -> Part | None:
        try:
            return self._reader.next()
        except NotHttp as error:
            fault = _BROKEN if error.is_cut else _NOT_HTTP
            self._ended(fault)
            # The connection may have ended since.
            raise UpstreamUnavailable(fault) from None

    def _take_more(self) -> None:
        self._unread = 0
        if self._transport is not None:
            self._transport.resume_reading()

    def _done(self) -> None:
        """The answer has been read."""
        self._is_taken = False
        if self._reader.is_last or self._is_sending():
            self.close()
        else:
            self._reader = self._next_reader()
            self._take_more()
            self._free(self)

    def _is_sending(self) -> bool:
        """Whether the request has not all gone: an upstream may answer before it has read it, and then read no more."""
        return self._transport is not None and self._transport.get_write_buffer_size() > 0

    def _ended(self, fault: str) -> None:
        self._fault = self._fault or fault
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def request_head(verb: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The head of a request. h11 would look at each header of each request anew, at the cost of all that it reads.

    Raises:
        UpstreamUnavailable: A header would not be one header.
    """
    said = "".join((*headers, *headers.values()))
    if not said.isascii() or not said.isprintable():
        raise UpstreamUnavailable("a header for the upstream cannot be sent over HTTP")
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"{verb} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")


class Reply:
    """The answer to one request, open until it is closed or read to its end.

    Args:
        connection: Where it comes.
        head: Its head.
    """

    def __init__(self, connection: Connection, head: Head) -> None:
        self.status = head.status
        self._connection = connection
        self._headers = head.headers
        self._is_over = False
        self._decoder = _DECODERS.get((self.header("content-encoding") or "identity").lower(), _Unknown)()
        self._pieces: Iterator[bytes] = iter(())

    def header(self, name: str) -> str | None:
        """One of its headers, named in lower case."""
        value = self._headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    async def piece(self) -> bytes | None:
        """The next bytes of its body, decompressed; `None` when it has ended.

        Raises:
            UpstreamUnavailable: The connection has ended before it did.
            UpstreamInvalidOutput: It is not compressed as it says.
        """
        while (piece := next(self._pieces, None)) is None:
            if self._is_over or (raw := await self._connection.piece()) is None:
                self._is_over = True
                self._decoder.end()
                return None
            self._pieces = self._decoder.feed(raw)
        return piece

    def close(self) -> None:
        """Nobody wants it any more; unless it has been read, its connection ends."""
        if not self._is_over:
            self._is_over = True
            self._connection.close()


class _Identity:
    def feed(self, raw: bytes) -> Iterator[bytes]:
        return iter((raw,))

    def end(self) -> None:
        pass


class _Gzip:
    """Decompresses a body, at a time no more of it than `_PIECE`. It has a member or more (RFC 1952, section 2.2)."""

    def __init__(self) -> None:
        self._read = _member()
        self._has_begun = False
        self._members = 0
        self._behind = b""

    def feed(self, raw: bytes) -> Iterator[bytes]:
        self._has_begun = True
        while raw:
            if self._read.eof:
                raw = self._behind + raw
                if not raw.startswith(_MAGIC):
                    # Some pad what they send: that is no member, and is left out.
                    self._behind = raw[: len(_MAGIC)]
                    return
                self._behind = b""
                self._read = _member()
                self._members += 1
                if self._members == MAX_UPSTREAM_MEMBERS:
                    message = f"the upstream's answer is compressed in over {MAX_UPSTREAM_MEMBERS} members"
                    raise UpstreamTooLarge(message, limit=MAX_UPSTREAM_MEMBERS)
            try:
                piece = self._read.decompress(raw, _PIECE)
            except zlib.error:
                raise _miscompressed() from None
            raw = self._read.unused_data if self._read.eof else self._read.unconsumed_tail
            if piece:
                yield piece

    def end(self) -> None:
        if self._has_begun and not self._read.eof:
            raise _miscompressed()


class _Unknown(_Identity):
    def feed(self, raw: bytes) -> Iterator[bytes]:
        raise UpstreamInvalidOutput("the upstream's answer is compressed in a way that was not asked for")


_DECODERS: Final[dict[str, type[_Identity | _Gzip]]] = {"identity": _Identity, "gzip": _Gzip, "x-gzip": _Gzip}


def _miscompressed() -> UpstreamInvalidOutput:
    return UpstreamInvalidOutput("the upstream's answer is not compressed as it says")
