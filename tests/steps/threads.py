"""What a thread does, until it is let go on."""

import asyncio
import threading

from fixtures.failsafe import FAILSAFE_S
from louver.concurrency.offload import Cancellation


class Work:
    """It begins when it is called.

    Args:
        made: What it gives then.
        error: What it raises instead.
    """

    def __init__(self, made=None, error=None):
        self.begun, self.go_on = asyncio.Event(), threading.Event()
        self._loop, self._made, self._error = asyncio.get_running_loop(), made, error

    def __call__(self):
        self._loop.call_soon_threadsafe(self.begun.set)
        assert self.go_on.wait(FAILSAFE_S)
        if self._error is not None:
            raise self._error
        return self._made


class Begun:
    """A task that can be given up.

    Args:
        doing: What it does.
    """

    def __init__(self, doing):
        self.task = asyncio.create_task(self._do(doing))

    async def _do(self, doing):
        self._cancellation = Cancellation()
        result = await self._cancellation.run(doing)
        if self._cancellation.is_cancelled:
            raise asyncio.CancelledError
        return result

    def give_up(self):
        self._cancellation.cancel()


async def turns():
    """Let others go on."""
    for _ in range(20):
        await asyncio.sleep(0)
