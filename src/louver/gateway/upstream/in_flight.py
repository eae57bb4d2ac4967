"""Whose requests can have caused what an upstream says or asks without a word of why.

    open        given up
    A                           it is A's
    A, B                        nobody can tell
    B           A               likewise: the upstream may still be at what A has given up
                A               it is no other's than A's
    A           A               it is A's, as it is where one party stands behind both

Given up is what nobody waits for any more though the upstream may be at it: what was cancelled, took too long, or whose
stream has broken off. An upstream may learn of that late, or not care. So it counts until its answer has come after
all, or for `ABANDONED_S`: a server that gives it up as well never answers.
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
    """A request that nobody waits for any more: whose it was, when that was, and whether it is answered after all."""

    client: Client
    since: float
    late: asyncio.Event

    @property
    def counts(self) -> bool:
        return not self.late.is_set() and monotonic() - self.since < ABANDONED_S


class Turns:
    """The requests over one connection."""

    def __init__(self) -> None:
        self._open: list[Caller] = []
        self._last = monotonic()
        self._given_up: list[_GivenUp] = []

    @property
    def idle_s(self) -> float:
        """For how long none has been open, in seconds."""
        return 0.0 if self._open else monotonic() - self._last

    @property
    def clients(self) -> set[Client]:
        """Whose requests can be the cause."""
        self._forget()
        return {turn.client for turn in self._open} | {each.client for each in self._given_up}

    @property
    def meant(self) -> Caller | None:
        """The open request that something unattributed belongs to, if it can be of one client alone."""
        self._forget()
        if len({turn.client for turn in self._open}) != 1:
            return None
        turn = self._open[-1]
        return turn if all(each.client.party == turn.client.party for each in self._given_up) else None

    @contextmanager
    def taken(self, turn: Caller) -> Generator[asyncio.Event]:
        """A request is open meanwhile; what it gives is to be set if the answer comes once that was given up."""
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
            # One's own first: who gives up much would else make those of others be forgotten.
            own = (each for each in self._given_up if each.client.party == client.party)
            oldest = next(own, self._given_up[0])
            self._given_up.remove(oldest)
        self._given_up.append(_GivenUp(client, monotonic(), late))

    def _forget(self) -> None:
        self._given_up = [each for each in self._given_up if each.counts]
