"""How often an upstream could not be opened, and how long it is left alone for that.

it cannot be opened at all                    whoever comes waits
it refuses the `initialize` of one client     that client waits, also where it comes as another connection
what opens ends at once                       whoever is served there waits
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from louver.concurrency.background import Tasks
from louver.concurrency.backoff import Backoff, Backoffs, Pace
from louver.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from louver.gateway.clients.client import Client
    from louver.gateway.upstream.negotiation import Hello


logger = logging.getLogger(__name__)


class Attempts:
    """The attempts to open one upstream.

    Args:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = Backoff()
        # Of clients, by what they say in their opening: each would else come again as another.
        self._refused = Backoffs()

    @property
    def wait_s(self) -> float:
        """How long it is left alone now, in seconds."""
        return self._failures.wait_s

    def check(self, ends: Backoff, own: Hello | None) -> None:
        """See that it may be tried now.

        Args:
            ends: How often what was opened there has ended at once.
            own: What the client says of itself, if it is opened for that client alone.

        Raises:
            UpstreamUnavailable: It may not.
        """
        refused = [self._refused.of(own.digest)] if own is not None and self._refused else []
        for backoff in (self._failures, ends, *refused):
            if (wait_s := backoff.wait_s) > 0:
                raise UpstreamUnavailable(
                    f"upstream {self._name!r} is not there ({backoff.problem}); it is tried again in {wait_s:.1f} s"
                )

    def failed(self, problem: str) -> UpstreamUnavailable:
        """It could not be opened: the error that says so."""
        self._failures.fail(problem)
        return self._not_there(problem)

    def refused(self, own: Hello, problem: str) -> UpstreamUnavailable:
        """It has refused a client: that says nothing of the others."""
        self._refused.fail(own.digest, problem)
        return self._not_there(problem)

    def succeeded(self, own: Hello | None) -> None:
        """It is open."""
        self._failures.reset()
        if own is not None and self._refused:
            self._refused.forget(own.digest)

    def _not_there(self, problem: str) -> UpstreamUnavailable:
        logger.error("upstream %r is not there: %s", self._name, problem)
        return UpstreamUnavailable(f"upstream {self._name!r} is not there: {problem}")


logger = logging.getLogger(__name__)


class Seeking:
    """Tries one upstream.

    Args:
        missing: Clients who miss it, one for each place where it is missed.
        wait_s: How long it is to be left alone, in seconds.
        is_back: Whether it is there for a client, who is told then.
    """

    def __init__(
        self,
        missing: Callable[[], Collection[Client]],
        wait_s: Callable[[], float],
        is_back: Callable[[Client], Awaitable[bool]],
    ) -> None:
        self._missing = missing
        self._wait_s = wait_s
        self._is_back = is_back
        self._pace = Pace()
        self._tasks = Tasks(logger)
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Try again from now on, if it is missed."""
        if (self._task is None or self._task.done()) and self._missing():
            self._task = self._tasks.start(self._seek())

    def stop(self) -> None:
        """Try no more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _seek(self) -> None:
        while self._missing():
            await self._pace.keep()
            await asyncio.sleep(self._wait_s())
            for client in self._missing():
                if not await self._is_back(client) and self._wait_s() > 0:
                    # It is so for the others too.
                    break
