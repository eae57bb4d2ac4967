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

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.backoff import Backoff, BackoffByKey, Throttle
from louver.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from louver.gateway.clients.client import GatewayClient
    from louver.gateway.clients.revisions import ClientIdentity


logger = logging.getLogger(__name__)


class ConnectBackoff:
    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = Backoff()
        # By client identity: a refused client cannot avoid the wait with another connection.
        self._refusals = BackoffByKey()

    @property
    def wait_s(self) -> float:
        return self._failures.wait_s

    def check(self, session_backoff: Backoff, identity: ClientIdentity | None) -> None:
        """Raise during a backoff: the upstream's, the session's (`ends`), or that of its only client (`own`)."""
        refusals = [self._refusals.get(identity.digest)] if identity is not None and self._refusals else []
        for backoff in (self._failures, session_backoff, *refusals):
            if (wait_s := backoff.wait_s) > 0:
                raise UpstreamUnavailable(
                    f"upstream {self._name!r} is not there ({backoff.problem}); it is tried again in {wait_s:.1f} s"
                )

    def record_failure(self, problem: str) -> UpstreamUnavailable:
        self._failures.record_failure(problem)
        return self._unavailable(problem)

    def record_refusal(self, identity: ClientIdentity, problem: str) -> UpstreamUnavailable:
        self._refusals.record_failure(identity.digest, problem)
        return self._unavailable(problem)

    def record_success(self, identity: ClientIdentity | None) -> None:
        self._failures.reset()
        if identity is not None and self._refusals:
            self._refusals.forget(identity.digest)

    def _unavailable(self, problem: str) -> UpstreamUnavailable:
        logger.error("upstream %r is not there: %s", self._name, problem)
        return UpstreamUnavailable(f"upstream {self._name!r} is not there: {problem}")


class Reconnector:
    def __init__(
        self,
        waiting_clients: Callable[[], Collection[GatewayClient]],  # one client for each audience that misses it
        wait_s: Callable[[], float],  # current backoff, in seconds
        reconnect: Callable[[GatewayClient], Awaitable[bool]],  # tries to connect; on success, notifies the clients
    ) -> None:
        self._waiting_clients = waiting_clients
        self._wait_s = wait_s
        self._reconnect = reconnect
        self._pace = Throttle()
        self._tasks = BackgroundTasks(logger)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start, unless it is running or no client misses the upstream."""
        if (self._task is None or self._task.done()) and self._waiting_clients():
            self._task = self._tasks.start(self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while self._waiting_clients():
            await self._pace.wait()
            await asyncio.sleep(self._wait_s())
            for client in self._waiting_clients():
                if not await self._reconnect(client) and self._wait_s() > 0:
                    # The failure holds for the other clients too.
                    break
