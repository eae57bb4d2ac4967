"""Ids of the events of a session: the number, among replicas with the tag of the one that has sent the event.

    17              a gateway that is alone
    v1.Zx:17        an event of the stream that belongs to no request
    v1.Zx:18:"a"    an event on the stream of the request with this id

So a replica can tell what is lost with another one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from louver.wire.jsonrpc.inbound import is_id

if TYPE_CHECKING:
    from louver.wire.jsonrpc.codec import RequestId

MAX_EVENT_REQUEST_ID = 100
"""Longest id of a request within the id of an event, in characters of JSON: so a replica can say what is lost."""


SEPARATOR: Final = ":"
"""Ends a tag."""

_MAX_DIGITS: Final = 15


class EventId(NamedTuple):
    tag: str  # with its separator; empty if there is none
    number: int  # 0, which no event has, for what is no number
    is_of_request: bool = False
    request_id: RequestId | None = None  # `None` also for one that was too long

    @classmethod
    def read(cls, text: str) -> EventId:
        tag, separator, rest = text.partition(SEPARATOR)
        if not separator:
            return cls("", _number(text))
        number, of_request, request_id = rest.partition(SEPARATOR)
        return cls(tag + separator, _number(number), bool(of_request), _request_id(request_id))

    def __str__(self) -> str:
        if not self.tag or not self.is_of_request:
            return f"{self.tag}{self.number}"
        request_id = json.dumps(self.request_id)
        return f"{self.tag}{self.number}{SEPARATOR}{request_id if len(request_id) <= MAX_EVENT_REQUEST_ID else ''}"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 0


def _request_id(text: str) -> RequestId | None:
    try:
        found = json.loads(text) if len(text) <= MAX_EVENT_REQUEST_ID else None
    except ValueError:
        return None
    return found if is_id(found) else None
