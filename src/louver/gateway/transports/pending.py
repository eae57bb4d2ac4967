"""The open calls over one pipe, by the gateway's numbers. A number is also the progress token and subscription id.

    7: tools/call, token "p"      <- notifications/progress {"progressToken": 7}               delivered with "p"
    8: subscriptions/listen       <- notifications/... {"_meta": {".../subscriptionId": 8}}    delivered
                                  <- notifications/progress {"progressToken": 6}               dropped

So two clients may use the same progress token.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from louver.core.json import is_object
from louver.errors import UpstreamError
from louver.jsonrpc.codec import come_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.transports.transport import Call
    from louver.jsonrpc.codec import Message, Params

# The addressee of a notification that names no request.
EVERYBODY = object()


def addressee(notification: Message) -> object:
    """The number of the request that a notification names, or `EVERYBODY`."""
    params = notification.params or {}
    if notification.method == "notifications/progress":
        return params.get("progressToken")
    meta = params.get("_meta")
    return meta.get(SUBSCRIPTION_ID_META_KEY, EVERYBODY) if is_object(meta) else EVERYBODY


class OpenCall:
    def __init__(self, number: int, call: Call, done: Callable[[int], None]) -> None:
        self.number = number
        self.late = call.late
        self.ended = False
        self._call = call
        self._done = done
        self._came: asyncio.Queue[tuple[int, Message | UpstreamError]] = asyncio.Queue()
        self._token = _meta(call.params).get("progressToken")

    @property
    def params(self) -> Params:
        """The params to send: with the number as progress token."""
        if self._token is None or self._call.params is None:
            return self._call.params
        return {**self._call.params, "_meta": {**_meta(self._call.params), "progressToken": self.number}}

    def hear(self, size: int, notification: Message) -> bool:
        """Queue a notification; `False` if the call wants none of this kind."""
        if notification.method == "notifications/progress":
            if self._token is None:
                return False
            notification = notification._replace(params={**(notification.params or {}), "progressToken": self._token})
        self._came.put_nowait((size, notification))
        return True

    def end(self, size: int, outcome: Message | UpstreamError) -> None:
        self.ended = True
        self._came.put_nowait((size, outcome))

    async def result(self) -> dict[str, Any]:
        """The result, after all earlier notifications were delivered."""
        while True:
            size, came = await self._came.get()
            self._done(size)
            if isinstance(came, UpstreamError):
                raise came
            if came.method is None:
                return came.result()
            await self._call.heard(came.method, came.params)

    def forget(self) -> None:
        while not self._came.empty():
            self._done(self._came.get_nowait()[0])


class OpenCalls:
    def __init__(self, done: Callable[[int], None]) -> None:
        self._done = done
        self._numbers = count(1)
        self._calls: dict[int, OpenCall] = {}
        # Weak: as long as a task waits for the late answer.
        self._late: WeakValueDictionary[object, asyncio.Event] = WeakValueDictionary()

    def add(self, call: Call) -> OpenCall:
        number = next(self._numbers)
        self._calls[number] = OpenCall(number, call, self._done)
        return self._calls[number]

    def find(self, number: object) -> OpenCall | None:
        """The open call of a number, if it has no answer yet."""
        number = come_back(number)
        # In Python `True` and 1.0 are keys for 1 too.
        found = self._calls.get(number) if isinstance(number, int) and not isinstance(number, bool) else None
        return None if found is None or found.ended else found

    def remove(self, call: OpenCall) -> None:
        del self._calls[call.number]
        call.forget()
        if not call.ended and call.late is not None:
            self._late[call.number] = call.late

    def late(self, number: object) -> asyncio.Event | None:
        """The event to set, once, now that an abandoned call is answered."""
        return self._late.pop(number, None)

    def fail(self, error: UpstreamError) -> None:
        for call in self._calls.values():
            if not call.ended:
                # One exception for each call: a shared one would collect the tracebacks of all.
                call.end(0, type(error)(error.message, **error.fields))


def _meta(params: Params) -> dict[str, Any]:
    meta = (params or {}).get("_meta")
    return meta if is_object(meta) else {}
