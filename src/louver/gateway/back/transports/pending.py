"""The open calls over one pipe, by the gateway's numbers. A number is also the progress token and subscription id.

    7: tools/call, token "p"      <- notifications/progress {"progressToken": 7}               delivered with "p"
    8: subscriptions/listen       <- notifications/... {"_meta": {".../subscriptionId": 8}}    delivered
                                  <- notifications/progress {"progressToken": 6}               dropped

So two clients may use the same progress token.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from louver.core.json import is_object
from louver.errors import UpstreamError
from louver.wire.jsonrpc.codec import normalized_id
from louver.wire.mcp import SUBSCRIPTION_ID_META_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.back.transports.transport import Call
    from louver.wire.jsonrpc.codec import Message, Params

# The addressee of a notification that names no request.
NO_REQUEST = object()

# Remembered numbers of calls without an answer.
_MAX_ABANDONED: Final = 256


def named_request(notification: Message) -> object:
    """The number of the request that a notification names, or `EVERYBODY`."""
    params = notification.params or {}
    if notification.method == "notifications/progress":
        return params.get("progressToken")
    meta = params.get("_meta")
    return meta.get(SUBSCRIPTION_ID_META_KEY, NO_REQUEST) if is_object(meta) else NO_REQUEST


class OpenCall:
    def __init__(self, request_id: int, call: Call, release: Callable[[int], None]) -> None:
        self.request_id = request_id
        self.late_answer = call.on_late
        self.ended = False
        self._call = call
        self._release = release
        self._received: asyncio.Queue[tuple[int, Message | UpstreamError]] = asyncio.Queue()
        self._token = _meta(call.params).get("progressToken")

    @property
    def params(self) -> Params:
        """The params to send: with the number as progress token."""
        if self._token is None or self._call.params is None:
            return self._call.params
        return {**self._call.params, "_meta": {**_meta(self._call.params), "progressToken": self.request_id}}

    def put_notification(self, size: int, notification: Message) -> bool:
        """Queue a notification; `False` if the call wants none of this kind."""
        if notification.method == "notifications/progress":
            if self._token is None:
                return False
            notification = notification._replace(params={**(notification.params or {}), "progressToken": self._token})
        self._received.put_nowait((size, notification))
        return True

    def finish(self, size: int, outcome: Message | UpstreamError) -> None:
        self.ended = True
        self._received.put_nowait((size, outcome))

    async def result(self) -> dict[str, Any]:
        """The result, after all earlier notifications were delivered."""
        while True:
            size, received = await self._received.get()
            self._release(size)
            if isinstance(received, UpstreamError):
                raise received
            if received.method is None:
                return received.result()
            await self._call.on_notification(received.method, received.params)

    def discard(self) -> None:
        while not self._received.empty():
            self._release(self._received.get_nowait()[0])


class OpenCalls:
    def __init__(self, release: Callable[[int], None]) -> None:
        self._release = release
        self._ids = count(1)
        self._calls: dict[int, OpenCall] = {}
        # Weak: as long as a task waits for the late answer.
        self._late_answers: WeakValueDictionary[object, asyncio.Event] = WeakValueDictionary()
        self._abandoned: deque[int] = deque(maxlen=_MAX_ABANDONED)

    def add(self, call: Call) -> OpenCall:
        request_id = next(self._ids)
        self._calls[request_id] = OpenCall(request_id, call, self._release)
        return self._calls[request_id]

    def find(self, request_id: object) -> OpenCall | None:
        """The open call of a number, if it has no answer yet."""
        request_id = normalized_id(request_id)
        # In Python `True` and 1.0 are keys for 1 too.
        found = (
            self._calls.get(request_id) if isinstance(request_id, int) and not isinstance(request_id, bool) else None
        )
        return None if found is None or found.ended else found

    def remove(self, call: OpenCall) -> None:
        del self._calls[call.request_id]
        call.discard()
        if call.ended:
            return
        self._abandoned.append(call.request_id)
        if call.late_answer is not None:
            self._late_answers[call.request_id] = call.late_answer

    def pop_late_answer(self, request_id: object) -> asyncio.Event | None:
        """The event to set, once, now that an abandoned call is answered."""
        return self._late_answers.pop(request_id, None)

    def pop_abandoned(self, request_id: object) -> bool:
        """Whether a call of this number was cancelled or has timed out; true once for each."""
        request_id = normalized_id(request_id)
        if not isinstance(request_id, int) or isinstance(request_id, bool) or request_id not in self._abandoned:
            return False
        self._abandoned.remove(request_id)
        return True

    def fail(self, error: UpstreamError) -> None:
        for call in self._calls.values():
            if not call.ended:
                # One exception for each call: a shared one would collect the tracebacks of all.
                call.finish(0, type(error)(error.message, **error.fields))


def _meta(params: Params) -> dict[str, Any]:
    meta = (params or {}).get("_meta")
    return meta if is_object(meta) else {}
