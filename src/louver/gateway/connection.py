"""One HTTP/1.1 connection to an upstream: a request after the other, each with the pieces of its answer as they come.

    -> POST /mcp HTTP/1.1, headers, body        one write
    <- HTTP/1.1 200 OK, headers                 `Reply`
    <- a piece of the body, another one, ...    `Reply.piece`; unread ones are bounded, the upstream waits

h11 reads the protocol. A client library would do the rest too, but takes more time for one request than all
else that the gateway does for a call (`docs/explanation/performance.md`).
"""

from __future__ import annotations

import asyncio
import select
import zlib
from collections import deque
from typing import TYPE_CHECKING, Final

import h11

from louver.errors import UpstreamInvalidOutput, UpstreamUnavailable
from louver.limits import MAX_UPSTREAM_PENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PIECE: Final = 64 * 1024
"""The most that is made of a compressed body at a time, in bytes."""

_EVENT_BYTES: Final = 1024
"""What an event counts beside its data. Bodies in tiny pieces take time for each."""

_ANY_REQUEST: Final = h11.Request(method="POST", target="/", headers=[("host", "any"), ("content-length", "0")])
"""What h11 is told that was sent: the answers to GET, POST and DELETE are read alike."""

_BROKEN: Final = "the upstream cannot be reached: its connection has ended before its answer did"


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
        self._http = h11.Connection(h11.CLIENT)
        self._arrived: deque[h11.Event] = deque()
        self._pending = 0
        self._waiter: asyncio.Future[None] | None = None
        self._fault: str | None = None
        self._is_taken = False
        self._is_whole = False
        self._is_full = False

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent: the upstream has not ended it meanwhile, as far as is known here."""
        if self._fault is not None or self._transport is None:
            return False
        coming = select.poll()
        coming.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not coming.poll(0)

    async def request(self, head: bytes, body: bytes) -> Reply:
        """The head of the answer to a request, of which that is the head.

        Raises:
            UpstreamUnavailable: There is none.
        """
        self._is_taken = True
        try:
            self._send(head, body)
            while not isinstance(answer := await self._event(), h11.Response):
                pass  # an interim answer
        except BaseException:
            self.close()
            raise
        return Reply(self, answer)

    async def piece(self) -> bytes | None:
        """The next bytes of the body as they were sent; `None` when it has ended.

        Raises:
            UpstreamUnavailable: The connection has ended before it did.
        """
        event = await self._event()
        if isinstance(event, h11.Data):
            return event.data
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

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        if not self._is_taken:
            self.close()  # nobody has asked
            return
        self._http.receive_data(data)
        self._read()

    def eof_received(self) -> None:
        """Nothing more will come, which some bodies end with."""
        if self._is_taken:
            self._http.receive_data(b"")
            self._read()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        self._ended(_BROKEN)
        self._lost(self)

    # Within

    def _send(self, head: bytes, body: bytes) -> None:
        """Send a request, which h11 has to know of to read the answer."""
        assert self._transport is not None, "a connection is used once it is made"
        self._http.send(_ANY_REQUEST)
        self._http.send(h11.EndOfMessage())
        self._transport.write(head + body)

    def _read(self) -> None:
        """Take in what has come, up to the bound; the rest when there is room for it again."""
        try:
            while self._pending < MAX_UPSTREAM_PENDING and not self._is_whole:
                event = self._http.next_event()
                if not isinstance(event, h11.Event):
                    break
                self._arrived.append(event)
                self._pending += _size(event)
                # After the end h11 tells for ever that the connection has ended.
                self._is_whole = isinstance(event, h11.EndOfMessage | h11.ConnectionClosed)
        except h11.RemoteProtocolError:
            is_cut = self._http.their_state is h11.ERROR and self._http.trailing_data[1]
            self._ended(_BROKEN if is_cut else "the upstream cannot be reached: its answer is not HTTP/1.1")
        if self._transport is not None and self._pending >= MAX_UPSTREAM_PENDING:
            self._is_full = True
            self._transport.pause_reading()
        self._wake()

    async def _event(self) -> h11.Event:
        while not self._arrived:
            if self._fault is not None:
                raise UpstreamUnavailable(self._fault)
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        event = self._arrived.popleft()
        self._pending -= _size(event)
        if self._is_full and self._pending <= MAX_UPSTREAM_PENDING // 2:
            # What came in tiny pieces takes long to read: others have their turn.
            await asyncio.sleep(0)
            self._is_full = False
            self._read()
            if not self._is_full and self._transport is not None:
                self._transport.resume_reading()
        return event

    def _done(self) -> None:
        """The answer has been read."""
        self._is_taken = False
        if self._http.our_state is self._http.their_state is h11.DONE and self._http.trailing_data == (b"", False):
            self._http.start_next_cycle()
            self._is_whole = False
            self._free(self)
        else:
            self.close()

    def _ended(self, fault: str) -> None:
        self._fault = self._fault or fault
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _size(event: h11.Event) -> int:
    """What an event counts of what waits to be read: its bytes, and what it takes to keep it."""
    return _EVENT_BYTES + (len(event.data) if isinstance(event, h11.Data) else 0)


def request_head(verb: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The head of a request. h11 would look at each header of each request anew, at the cost of all that it reads.

    Raises:
        UpstreamUnavailable: A header would not be one header.
    """
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    text = "".join(lines)
    if not text.isascii() or not all(line[:-2].isprintable() for line in lines):
        raise UpstreamUnavailable("a header for the upstream cannot be sent over HTTP")
    return f"{verb} {target} HTTP/1.1\r\n{text}\r\n".encode("ascii")


class Reply:
    """The answer to one request, open until it is closed or read to its end.

    Args:
        connection: Where it comes.
        head: Its head.
    """

    def __init__(self, connection: Connection, head: h11.Response) -> None:
        self.status = head.status_code
        self._connection = connection
        self._headers = dict(head.headers)
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
    """Decompresses a body, at a time no more of it than `_PIECE`."""

    def __init__(self) -> None:
        self._read = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._has_begun = False

    def feed(self, raw: bytes) -> Iterator[bytes]:
        self._has_begun = True
        while raw and not self._read.eof:
            try:
                piece = self._read.decompress(raw, _PIECE)
            except zlib.error:
                raise _miscompressed() from None
            raw = self._read.unconsumed_tail
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
