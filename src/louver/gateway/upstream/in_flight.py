"""The open requests of a connection, and the attribution of upstream messages that name no request.

    open: A                  A's
    open: A and B            unknown
    open: B, abandoned: A    unknown, as the upstream may still work for A; B's if one party is behind both

Abandoned: cancelled, timed out or cut off. It counts until its answer comes late, or for `ABANDONED_S`.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from louver.concurrency.idle import IdleClock
from louver.errors import UpstreamError
from louver.limits import ABANDONED_S, MAX_ABANDONED

if TYPE_CHECKING:
    from collections.abc import Generator

    from louver.gateway.clients.client import Caller, GatewayClient


@dataclass(frozen=True, slots=True)
class _Abandoned:
    client: GatewayClient
    since: float
    late_answer: asyncio.Event  # set when the answer comes after all

    @property
    def is_pending(self) -> bool:
        return not self.late_answer.is_set() and monotonic() - self.since < ABANDONED_S


class InFlight:
    def __init__(self) -> None:
        self._open: list[Caller] = []
        self.clock = IdleClock()
        self._abandoned: list[_Abandoned] = []

    @property
    def clients(self) -> set[GatewayClient]:
        self._drop_stale()
        return {caller.client for caller in self._open} | {each.client for each in self._abandoned}

    @property
    def only_caller(self) -> Caller | None:
        """The open request that an unattributed message belongs to, if only one client can be meant."""
        self._drop_stale()
        if len({caller.client for caller in self._open}) != 1:
            return None
        caller = self._open[-1]
        return caller if all(each.client.owner == caller.client.owner for each in self._abandoned) else None

    @contextmanager
    def track(self, caller: Caller) -> Generator[asyncio.Event]:
        """Count a request as open meanwhile; the caller sets the event if an abandoned request is answered late."""
        late_answer = asyncio.Event()
        self._open.append(caller)
        try:
            with self.clock.in_use(), caller.client.clock.in_use():
                yield late_answer
        except asyncio.CancelledError:
            self._abandon(caller.client, late_answer)
            raise
        except UpstreamError as error:
            if error.goes_on:
                self._abandon(caller.client, late_answer)
            raise
        finally:
            self._open.remove(caller)

    def _abandon(self, client: GatewayClient, late_answer: asyncio.Event) -> None:
        self._drop_stale()
        if len(self._abandoned) >= MAX_ABANDONED:
            # Evict the same party's oldest request first, so one client cannot evict another's.
            same_owner = (each for each in self._abandoned if each.client.owner == client.owner)
            oldest = next(same_owner, self._abandoned[0])
            self._abandoned.remove(oldest)
        self._abandoned.append(_Abandoned(client, monotonic(), late_answer))

    def _drop_stale(self) -> None:
        self._abandoned = [each for each in self._abandoned if each.is_pending]
