"""Call timeouts that count silence: every message about the call resets its deadline.

A request to the client suspends the deadline: a person may have to answer.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from louver.concurrency.deadlines import Deadlines
from louver.concurrency.interruptible import Interruptible
from louver.errors import UpstreamTimeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from louver.gateway.transports.transport import Call
    from louver.jsonrpc.codec import Params


class Patience:
    def __init__(self, deadlines: Deadlines[Patience]) -> None:
        self._deadlines = deadlines
        self._questions = 0
        self._waiting = Interruptible()
        self._is_over = False

    async def wait(self, call: Call, send: Callable[[Call], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """The answer to a call; raises `UpstreamTimeout` after too long a silence."""

        async def heard(method: str, params: Params) -> None:
            self._put_off()
            await call.heard(method, params)

        async def asked(method: str, params: Params) -> dict[str, Any]:
            with self.held():
                return await call.asked(method, params)

        with self._waiting:
            self._put_off()
            try:
                return await send(call.heard_by(heard, asked))
            finally:
                self._is_over = True
                self._put_off()

    @contextmanager
    def held(self) -> Generator[None]:
        """Suspend the deadline meanwhile; afterwards it starts over."""
        self._questions += 1
        self._put_off()
        try:
            yield
        finally:
            self._questions -= 1
            self._put_off()

    def run_out(self) -> None:
        self._is_over = True
        message = f"the upstream has not been heard of for {self._deadlines.seconds:g} s"
        self._waiting.interrupt(UpstreamTimeout(message))

    def _put_off(self) -> None:
        # A request to the client may outlive its call.
        if self._questions or self._is_over:
            self._deadlines.lift(self)
        else:
            self._deadlines.set(self)


def deadlines_of(timeout_s: float) -> Deadlines[Patience]:
    """The deadlines of one upstream's calls; `timeout_s` is the longest silence."""
    return Deadlines(timeout_s, Patience.run_out)
