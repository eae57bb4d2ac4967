"""Counts savings in a thread: answers are sent first, then measured, and the counters are written every few seconds.

    loop      call ─ add ─ answer sent
    thread             measure ─ ... ─ write

A failure affects no call: it is logged once, and nothing is counted from then on.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections import deque
from datetime import UTC, datetime
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.limits import (
    MAX_SAVINGS_KEYS,
    MAX_SAVINGS_NAME,
    MAX_UNMEASURED,
    SAVINGS_DAYS,
    SAVINGS_MEASURED_AFTER_S,
    SAVINGS_WRITTEN_S,
)
from louver.server.database_file import failure_reason
from louver.server.savings.database import COUNTERS, SavingsKey, add
from louver.server.savings.size import ShownSize, shown_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from louver.catalogue.hosts import Shown
    from louver.server.call_record import UpstreamAnswer

logger = logging.getLogger(__name__)

_DAY_S: Final = 86_400
_OTHERS: Final = ("*", "*", "")  # server, tool and view of what is counted together
_NOTHING: Final = ShownSize()


class Whole(NamedTuple):
    """The answer of a tool before Louver changed it."""

    server: str
    tool: str  # its name at the server
    answer: UpstreamAnswer


class SavingsCounter:
    """The counters of one file, which other processes may write too. Its methods never wait and never fail."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        self._queue: deque[Callable[[], None]] = deque()
        self._has_work, self._is_closing = Event(), Event()
        self._has_failed = False
        self._thread: Thread | None = None
        self._totals: dict[SavingsKey, list[int]] = {}
        self._names: set[tuple[str, str, str]] = set()

    def measure(self, answer: UpstreamAnswer, shown: Shown) -> None:
        """Measure an answer now, so that its result is held no longer than that takes."""
        self._put(lambda: _measure(answer, shown))

    def add(self, wholes: Sequence[Whole], sent: dict[str, Any], shown: Shown) -> None:
        """Count an answer that is about to be sent, and what it was made of."""
        self._put(lambda: self._count(wholes, sent, shown))

    def stop(self) -> None:
        """Write what was counted, and count nothing more; `wait_stopped` waits until that is done."""
        self._is_closing.set()
        self._has_work.set()

    def wait_stopped(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _put(self, work: Callable[[], None]) -> None:
        if self._has_failed or self._is_closing.is_set() or len(self._queue) >= MAX_UNMEASURED:
            return
        self._queue.append(work)
        if not self._has_work.is_set():
            self._has_work.set()
            if self._thread is None:
                self._thread = Thread(target=self._run, name="louver-savings", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        next_write: float | None = None
        while not (self._has_failed or (self._is_closing.is_set() and not self._queue)):
            wait_s = None if next_write is None else max(0.0, next_write - time.monotonic())
            if self._has_work.wait(wait_s):
                self._is_closing.wait(SAVINGS_MEASURED_AFTER_S)
                self._has_work.clear()
                self._work()
            if self._totals and next_write is None:
                next_write = time.monotonic() + SAVINGS_WRITTEN_S
            if next_write is not None and time.monotonic() >= next_write:
                self._write()
                next_write = None
        if self._totals:
            self._write()

    def _work(self) -> None:
        while self._queue:
            work = self._queue.popleft()
            try:
                work()
            except (ValueError, TypeError, RecursionError):
                # The answer cannot be written as JSON, so it is not sent either.
                continue

    def _count(self, wholes: Sequence[Whole], sent: dict[str, Any], shown: Shown) -> None:
        day, size = _day(self._clock()), shown_size(sent, shown)
        for each in wholes:
            if each.answer.result is sent:
                each.answer.size = size
            else:
                _measure(each.answer, shown)
        sizes = [each.answer.size for each in wholes]
        # Of an answer that was made of several, each has its share.
        weights = [whole.bytes if whole else 0 for whole in sizes]
        shares = zip(_shares(size.bytes, weights), _shares(size.characters, weights), strict=True)
        for each, whole, share in zip(wholes, sizes, map(ShownSize._make, shares), strict=True):
            self._add(self._key(day, each), whole, share)

    def _add(self, key: SavingsKey, whole: ShownSize | None, sent: ShownSize) -> None:
        is_call = whole is not None
        whole = whole or _NOTHING
        saved_nothing = is_call and sent.bytes >= whole.bytes
        counts = (is_call, saved_nothing, whole.bytes, sent.bytes, whole.characters, sent.characters)
        totals = self._totals.get(key, [0] * len(COUNTERS))
        self._totals[key] = [total + count for total, count in zip(totals, counts, strict=True)]

    def _key(self, day: str, whole: Whole) -> SavingsKey:
        server, tool, view = (name[:MAX_SAVINGS_NAME] for name in (whole.server, whole.tool, whole.answer.view))
        names = (server, tool, view)
        if names not in self._names:
            if len(self._names) >= MAX_SAVINGS_KEYS:
                return SavingsKey(day, *_OTHERS)
            self._names.add(names)
        return SavingsKey(day, *names)

    def _write(self) -> None:
        try:
            add(self._file, self._totals, _day(self._clock() - SAVINGS_DAYS * _DAY_S))
        except (OSError, sqlite3.Error) as error:
            self._has_failed = True
            self._queue.clear()
            file, reason = os.fspath(self._file), failure_reason(error)
            logger.warning("savings are not counted any more: %r cannot be written: %s", file, reason)
        self._totals.clear()


def _measure(answer: UpstreamAnswer, shown: Shown) -> None:
    if answer.result is not None:
        answer.size, answer.result = shown_size(answer.result, shown), None


def _shares(amount: int, weights: Sequence[int]) -> Iterator[int]:
    """The amount in whole parts, by weight; they add up to it."""
    if not any(weights):
        weights = [1] * len(weights)
    total, weight_before, before = sum(weights), 0, 0
    for weight in weights:
        weight_before += weight
        until = amount * weight_before // total
        yield until - before
        before = until


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
