"""Call timeouts that count silence: every message about the call resets its deadline.

A request to the client suspends the deadline: a person may have to answer.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from louver.concurrency.deadlines import Deadlines
from louver.concurrency.interruptible import Interruptible
from louver.errors import UpstreamTimeout

if TYPE_CHECKING:
    from collections.abc import Generator

    from louver.gateway.transports.transport import Call
    from louver.jsonrpc.codec import Params


class CallTimeout(Interruptible):
    """A block that waits for the answer to a call, and raises `UpstreamTimeout` after too long a silence."""

    def __init__(self, deadlines: Deadlines[CallTimeout]) -> None:
        self._deadlines = deadlines
        self._open_requests = 0
        self._is_over = False

    def __enter__(self) -> Self:
        self._reschedule()
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, traceback: object) -> None:
        self._is_over = True
        self._reschedule()
        super().__exit__(kind, raised, traceback)

    def watched(self, call: Call) -> Call:
        """The call, whose messages reset the deadline."""

        async def on_notification(method: str, params: Params) -> None:
            self._reschedule()
            await call.on_notification(method, params)

        async def on_request(method: str, params: Params) -> dict[str, Any]:
            with self.suspended():
                return await call.on_request(method, params)

        return call._replace(on_notification=on_notification, on_request=on_request)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Suspend the deadline meanwhile; afterwards it starts over."""
        self._open_requests += 1
        self._reschedule()
        try:
            yield
        finally:
            self._open_requests -= 1
            self._reschedule()

    def expire(self) -> None:
        self._is_over = True
        message = f"the upstream has not been heard of for {self._deadlines.seconds:g} s"
        self.interrupt(UpstreamTimeout(message))

    def _reschedule(self) -> None:
        # A request to the client may outlive its call.
        if self._open_requests or self._is_over:
            self._deadlines.cancel(self)
        else:
            self._deadlines.set(self)


def deadlines_of(timeout_s: float) -> Deadlines[CallTimeout]:
    """The deadlines of one upstream's calls; `timeout_s` is the longest silence."""
    return Deadlines(timeout_s, CallTimeout.expire)
