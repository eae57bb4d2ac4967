"""How long an upstream may be silent: a deadline that counts from what was last heard of it.

Progress puts it off, and it stands still while a client is asked, who may be a person.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from louver.errors import UpstreamTimeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from louver.gateway.link import Call, Params


class Patience:
    """The deadline of one call.

    Args:
        timeout_s: How long the upstream may be silent.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._questions = 0
        self._deadline = asyncio.timeout(timeout_s)
        self._is_over = False

    async def wait(self, call: Call, send: Callable[[Call], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """The answer to a call, whose sending puts off the deadline with what it hears.

        Raises:
            UpstreamTimeout: The upstream has been silent for too long.
        """

        async def heard(method: str, params: Params) -> None:
            self._put_off()
            await call.heard(method, params)

        async def asked(method: str, params: Params) -> dict[str, Any]:
            with self.held():
                return await call.asked(method, params)

        try:
            async with self._deadline:
                try:
                    return await send(call.heard_by(heard, asked))
                finally:
                    self._is_over = True
        except TimeoutError:
            message = f"the upstream has not been heard of for {self._timeout_s:g} s"
            raise UpstreamTimeout(message) from None

    @contextmanager
    def held(self) -> Generator[None]:
        """The deadline stands still meanwhile, and counts anew then."""
        self._questions += 1
        self._put_off()
        try:
            yield
        finally:
            self._questions -= 1
            self._put_off()

    def _put_off(self) -> None:
        # A question may end after its call.
        if not self._is_over and not self._deadline.expired():
            now = asyncio.get_running_loop().time()
            self._deadline.reschedule(None if self._questions else now + self._timeout_s)
