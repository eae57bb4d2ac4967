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

from louver.errors import UpstreamError
from louver.limits import ABANDONED_S, MAX_ABANDONED

if TYPE_CHECKING:
    from collections.abc import Generator

    from louver.gateway.clients.client import Caller, Client


@dataclass(frozen=True, slots=True)
class _GivenUp:
    client: Client
    since: float
    late: asyncio.Event  # set when the answer comes after all

    @property
    def counts(self) -> bool:
        return not self.late.is_set() and monotonic() - self.since < ABANDONED_S


class Turns:
    def __init__(self) -> None:
        self._open: list[Caller] = []
        self._last = monotonic()
        self._given_up: list[_GivenUp] = []

    @property
    def idle_s(self) -> float:
        """Seconds since the last request ended; 0 while one is open."""
        return 0.0 if self._open else monotonic() - self._last

    @property
    def clients(self) -> set[Client]:
        self._forget()
        return {turn.client for turn in self._open} | {each.client for each in self._given_up}

    @property
    def meant(self) -> Caller | None:
        """The open request that an unattributed message belongs to, if only one client can be meant."""
        self._forget()
        if len({turn.client for turn in self._open}) != 1:
            return None
        turn = self._open[-1]
        return turn if all(each.client.party == turn.client.party for each in self._given_up) else None

    @contextmanager
    def taken(self, turn: Caller) -> Generator[asyncio.Event]:
        """Count a request as open meanwhile; the caller sets the event if an abandoned request is answered late."""
        late = asyncio.Event()
        self._open.append(turn)
        try:
            yield late
        except asyncio.CancelledError:
            self._give_up(turn.client, late)
            raise
        except UpstreamError as error:
            if error.goes_on:
                self._give_up(turn.client, late)
            raise
        finally:
            self._open.remove(turn)
            self._last = monotonic()

    def _give_up(self, client: Client, late: asyncio.Event) -> None:
        self._forget()
        if len(self._given_up) >= MAX_ABANDONED:
            # Evict the same party's oldest request first, so one client cannot evict another's.
            own = (each for each in self._given_up if each.client.party == client.party)
            oldest = next(own, self._given_up[0])
            self._given_up.remove(oldest)
        self._given_up.append(_GivenUp(client, monotonic(), late))

    def _forget(self) -> None:
        self._given_up = [each for each in self._given_up if each.counts]
