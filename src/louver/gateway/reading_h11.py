"""HTTP/1.1 answers, read with h11: what `reading.py` says, where httptools is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import h11

from louver.gateway.reading import END, Head, NotHttp
from louver.limits import MAX_HTTP_HEAD

if TYPE_CHECKING:
    from louver.gateway.reading import Part


class ByH11:
    """Reads with h11."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HTTP_HEAD)
        # It has to know what was asked; the answers to GET, POST and DELETE are read alike.
        self._http.send(_ANY_REQUEST)
        self._http.send(h11.EndOfMessage())

    @property
    def is_last(self) -> bool:
        """Once it has been read: whether the connection cannot be used for another."""
        is_done = self._http.our_state is self._http.their_state is h11.DONE
        return not is_done or self._http.trailing_data != (b"", False)

    def feed(self, data: bytes) -> None:
        """Take in what has come; nothing is the end of the connection."""
        self._http.receive_data(data)

    def next(self) -> Part | None:
        """The next part, if it has come.

        Raises:
            NotHttp: What has come is no answer.
        """
        try:
            while isinstance(event := self._http.next_event(), h11.InformationalResponse):
                pass
        except h11.RemoteProtocolError:
            raise NotHttp(is_cut=self._http.trailing_data[1]) from None
        match event:
            case h11.Response() if event.http_version not in (b"1.0", b"1.1"):
                raise NotHttp(is_cut=False)
            case h11.Response():
                return Head(event.status_code, dict(event.headers))
            case h11.Data():
                return bytes(event.data)
            case h11.EndOfMessage():
                return END
            case _:
                return None


_ANY_REQUEST: Final = h11.Request(method="POST", target="/", headers=[("host", "any"), ("content-length", "0")])
