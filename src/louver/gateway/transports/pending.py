"""The calls that are open over one pipe, by numbers of our own.

The number of a request is its progress token too, so that two clients may use the same one, and the id of a
subscription; the client's own token is put back before it hears of it::

    7: tools/call, token "p"      <- notifications/progress {"progressToken": 7}                 heard, with "p"
    8: subscriptions/listen       <- notifications/... {"_meta": {".../subscriptionId": 8}}       heard as it is
                                  <- notifications/progress {"progressToken": 6}                 nobody's

What has come for a call waits for it in order. How messages come is not known here.
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

EVERYBODY = object()
"""The addressee of a notification that is about no request."""


def addressee(notification: Message) -> object:
    """The number of the request that a notification says it is about, or `EVERYBODY`."""
    params = notification.params or {}
    if notification.method == "notifications/progress":
        return params.get("progressToken")
    meta = params.get("_meta")
    return meta.get(SUBSCRIPTION_ID_META_KEY, EVERYBODY) if is_object(meta) else EVERYBODY


class OpenCall:
    """One call, and what has come for it.

    Args:
        number: Its number.
        call: What is called.
        done: Is told the size of what has been delivered, in bytes.
    """

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
        """The params as they are sent: a progress token is replaced by the number."""
        if self._token is None or self._call.params is None:
            return self._call.params
        return {**self._call.params, "_meta": {**_meta(self._call.params), "progressToken": self.number}}

    def hear(self, size: int, notification: Message) -> bool:
        """Let it hear a notification; `False` if it wants to hear no such."""
        if notification.method == "notifications/progress":
            if self._token is None:
                return False
            notification = notification._replace(params={**(notification.params or {}), "progressToken": self._token})
        self._came.put_nowait((size, notification))
        return True

    def end(self, size: int, outcome: Message | UpstreamError) -> None:
        """End it with its answer, or with an error instead."""
        self.ended = True
        self._came.put_nowait((size, outcome))

    async def result(self) -> dict[str, Any]:
        """Its result, after all that was said before.

        Raises:
            MCPError: The answer is an error.
            UpstreamError: There is no answer, or none that can be used.
        """
        while True:
            size, came = await self._came.get()
            self._done(size)
            if isinstance(came, UpstreamError):
                raise came
            if came.method is None:
                return came.result()
            await self._call.heard(came.method, came.params)

    def forget(self) -> None:
        """Nobody waits for it any more."""
        while not self._came.empty():
            self._done(self._came.get_nowait()[0])


class OpenCalls:
    """All that are open.

    Args:
        done: Is told the size of what has been delivered, in bytes.
    """

    def __init__(self, done: Callable[[int], None]) -> None:
        self._done = done
        self._numbers = count(1)
        self._calls: dict[int, OpenCall] = {}
        # As long as somebody wants to know of a late answer.
        self._late: WeakValueDictionary[object, asyncio.Event] = WeakValueDictionary()

    def add(self, call: Call) -> OpenCall:
        """A call that is open from now on."""
        number = next(self._numbers)
        self._calls[number] = OpenCall(number, call, self._done)
        return self._calls[number]

    def find(self, number: object) -> OpenCall | None:
        """The open call of that number which has no answer yet."""
        number = come_back(number)
        # In Python `True` and 1.0 are keys for 1 as well.
        found = self._calls.get(number) if isinstance(number, int) and not isinstance(number, bool) else None
        return None if found is None or found.ended else found

    def remove(self, call: OpenCall) -> None:
        """Nobody waits for a call any more."""
        del self._calls[call.number]
        call.forget()
        if not call.ended and call.late is not None:
            self._late[call.number] = call.late

    def late(self, number: object) -> asyncio.Event | None:
        """What is to be set now that the call of that number is answered, which was given up; once."""
        return self._late.pop(number, None)

    def fail(self, error: UpstreamError) -> None:
        """End them all."""
        for call in self._calls.values():
            if not call.ended:
                # One exception each: it would gather the tracebacks of all.
                call.end(0, type(error)(error.message, **error.fields))


def _meta(params: Params) -> dict[str, Any]:
    meta = (params or {}).get("_meta")
    return meta if is_object(meta) else {}
