"""Reconnecting to an upstream, with exponential backoff.

    the upstream cannot be opened             every client waits
    it refuses the `initialize` of a client   that client waits, also over another connection
    it ends right after it has opened         the clients of that session wait

`Attempts` counts the failures for one upstream, `Seeking` retries in the background.
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
    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = Backoff()
        # By client identity: a refused client cannot avoid the wait with another connection.
        self._refused = Backoffs()

    @property
    def wait_s(self) -> float:
        return self._failures.wait_s

    def check(self, ends: Backoff, own: Hello | None) -> None:
        """Raise during a backoff: the upstream's, the session's (`ends`), or that of its only client (`own`)."""
        refused = [self._refused.of(own.digest)] if own is not None and self._refused else []
        for backoff in (self._failures, ends, *refused):
            if (wait_s := backoff.wait_s) > 0:
                raise UpstreamUnavailable(
                    f"upstream {self._name!r} is not there ({backoff.problem}); it is tried again in {wait_s:.1f} s"
                )

    def failed(self, problem: str) -> UpstreamUnavailable:
        self._failures.fail(problem)
        return self._not_there(problem)

    def refused(self, own: Hello, problem: str) -> UpstreamUnavailable:
        self._refused.fail(own.digest, problem)
        return self._not_there(problem)

    def succeeded(self, own: Hello | None) -> None:
        self._failures.reset()
        if own is not None and self._refused:
            self._refused.forget(own.digest)

    def _not_there(self, problem: str) -> UpstreamUnavailable:
        logger.error("upstream %r is not there: %s", self._name, problem)
        return UpstreamUnavailable(f"upstream {self._name!r} is not there: {problem}")


class Seeking:
    def __init__(
        self,
        missing: Callable[[], Collection[Client]],  # one client for each audience that misses it
        wait_s: Callable[[], float],  # current backoff, in seconds
        is_back: Callable[[Client], Awaitable[bool]],  # tries to connect; on success, notifies the clients
    ) -> None:
        self._missing = missing
        self._wait_s = wait_s
        self._is_back = is_back
        self._pace = Pace()
        self._tasks = Tasks(logger)
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start, unless it is running or no client misses the upstream."""
        if (self._task is None or self._task.done()) and self._missing():
            self._task = self._tasks.start(self._seek())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _seek(self) -> None:
        while self._missing():
            await self._pace.keep()
            await asyncio.sleep(self._wait_s())
            for client in self._missing():
                if not await self._is_back(client) and self._wait_s() > 0:
                    # The failure holds for the other clients too.
                    break
