"""Counts savings of answers that are on their way; large ones are measured in a thread.

    call ─ answer sent ─ measured ─ counted ─ ... ─ written every few seconds, in a thread

A failure affects no call: it is logged once, and what was counted is written later.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from datetime import date
from itertools import accumulate, pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeVar

from louver.concurrency.background import BackgroundTasks
from louver.limits import MAX_READ_ON_LOOP, MAX_SAVINGS_KEYS
from louver.steps.database_file import FAILURES, failure_reason
from louver.steps.savings.database import COUNTERS, LIST, LOUVER, SavingsKey, add
from louver.steps.savings.size import ShownSize, shown_size, shows_same
from louver.wire.output import weight_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from louver.catalogue.hosts import Shown
    from louver.steps.call_record import ServerAnswer

SAVINGS_WRITTEN_S = 3.0
"""Time between two writes of savings, in seconds. A process that is killed loses what it has counted since the last."""

SAVINGS_AGAIN_S = 60.0
"""Delay before savings are written again after a failure, in seconds; they wait in memory."""

MAX_UNMEASURED = 16
"""Large answers that are measured at once, some 10 ms each. More are not counted, since each is held meanwhile."""

MAX_SAVINGS_NAME = 128
"""Characters of a name in a file of savings: MCP recommends at most so many for a tool."""


logger = logging.getLogger(__name__)

_Params = ParamSpec("_Params")
_Made = TypeVar("_Made")

_OTHERS: Final = ("*", "*", "")  # server, tool and view of what is counted together


class Whole(NamedTuple):
    """The answer of a tool before Louver changed it."""

    server: str
    tool: str  # its name at the server
    answer: ServerAnswer


class SavingsCounter:
    """The counters of one file, which other processes may write too; used in one event loop."""

    def __init__(
        self,
        file: Path,
        clock: Callable[[], float] = time.time,
        on_counted: Callable[[SavingsKey, ShownSize | None, ShownSize], None] = lambda key, whole, sent: None,
    ) -> None:
        self._file = file
        self._on_counted = on_counted
        self._clock = clock
        self._is_counting, self._has_failed = True, False
        self._large = 0  # answers that are being measured in threads
        self._tasks = BackgroundTasks(logger)
        self._timer: asyncio.TimerHandle | None = None
        self._totals: dict[SavingsKey, list[int]] = {}
        self._names: set[tuple[str, str, str]] = set()

    def in_background(self, counting: Coroutine[Any, Any, None]) -> None:
        self._tasks.start(counting)

    def add_list(self, whole: ShownSize, sent: ShownSize) -> None:
        """Count a list of tools, which is no call."""
        key = SavingsKey(_day(self._clock()), LOUVER, LIST, "")
        totals = self._totals.setdefault(key, [0] * len(COUNTERS))
        for place, amount in enumerate((whole.bytes, sent.bytes, whole.characters, sent.characters), 2):
            totals[place] += amount
        self._write_later(SAVINGS_WRITTEN_S)

    def measure(self, answer: ServerAnswer, shown: Shown) -> None:
        """Measure an answer now, so that its result is held no longer than that takes."""
        if weight_of(answer.result) <= MAX_READ_ON_LOOP:
            _measure(answer, shown)
        elif self._large < MAX_UNMEASURED:
            self._large += 1
            self._tasks.start(self._in_thread(_measure, answer, shown))

    def add(self, wholes: Sequence[Whole], sent: dict[str, Any], shown: Shown) -> None:
        """Count an answer, and what it was made of."""
        if not self._is_counting:
            return
        results = [each.answer.result for each in wholes if each.answer.result is not None]
        weight = sum(map(weight_of, results or [sent]))
        if weight <= MAX_READ_ON_LOOP:
            self._count(wholes, _measure_all(wholes, sent, shown))
        elif self._large < MAX_UNMEASURED:
            self._large += 1
            self._tasks.start(self._add_large(wholes, sent, shown))

    async def close(self) -> None:
        """Write what was counted, and count nothing more."""
        # Answers that were just sent are measured first.
        await asyncio.sleep(0)
        self._is_counting = False
        if self._timer is not None:
            self._timer.cancel()
        await self._tasks.wait()
        await self._write()

    async def _add_large(self, wholes: Sequence[Whole], sent: dict[str, Any], shown: Shown) -> None:
        self._count(wholes, await self._in_thread(_measure_all, wholes, sent, shown))

    async def _in_thread(
        self, function: Callable[_Params, _Made], *args: _Params.args, **kwargs: _Params.kwargs
    ) -> _Made:
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        finally:
            self._large -= 1

    def _count(self, wholes: Sequence[Whole], sent: ShownSize | None) -> None:
        if sent is None:
            return
        day = _day(self._clock())
        for each, share in zip(wholes, _shares(sent, wholes), strict=True):
            self._add(self._key(day, each), each.answer.size, share)
        self._write_later(SAVINGS_AGAIN_S if self._has_failed else SAVINGS_WRITTEN_S)

    def _write_later(self, seconds: float) -> None:
        if self._timer is None and self._is_counting:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._tasks.start(self._write())

    def _add(self, key: SavingsKey, whole: ShownSize | None, sent: ShownSize) -> None:
        self._on_counted(key, whole, sent)
        totals = self._totals.get(key)
        if totals is None:
            totals = self._totals[key] = [0] * len(COUNTERS)
        # In the order of `COUNTERS`.
        if whole is not None:
            totals[0] += 1
            totals[1] += sent.bytes >= whole.bytes
            totals[2] += whole.bytes
            totals[4] += whole.characters
        totals[3] += sent.bytes
        totals[5] += sent.characters

    def _key(self, day: str, whole: Whole) -> SavingsKey:
        most = MAX_SAVINGS_NAME
        names = (whole.server[:most], whole.tool[:most], whole.answer.view[:most])
        key = SavingsKey(day, *names)
        if names not in self._names and len(self._names) >= MAX_SAVINGS_KEYS:
            return SavingsKey(day, *_OTHERS)
        self._names.add(names)
        # What cannot be written may wait for many days.
        has_place = key in self._totals or len(self._totals) < MAX_SAVINGS_KEYS
        return key if has_place else SavingsKey(day, *_OTHERS)

    async def _write(self) -> None:
        totals, self._totals = self._totals, {}
        if not totals:
            return
        try:
            await asyncio.to_thread(add, self._file, totals, _day(self._clock()))
        except FAILURES as error:
            self._put_back(totals)
            self._on_failed(failure_reason(error))
        else:
            self._on_written()

    def _put_back(self, totals: dict[SavingsKey, list[int]]) -> None:
        for key, counted in self._totals.items():
            totals[key] = [sum(pair) for pair in zip(totals.get(key, repeat(0)), counted, strict=False)]
        self._totals = totals
        self._write_later(SAVINGS_AGAIN_S)

    def _on_failed(self, reason: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            logger.warning("savings: %r cannot be written: %s", os.fspath(self._file), reason)

    def _on_written(self) -> None:
        if self._has_failed:
            self._has_failed = False
            logger.warning("savings are written again")


def _measure_all(wholes: Sequence[Whole], sent: dict[str, Any], shown: Shown) -> ShownSize | None:
    """The size of the answer, after those that it is made of; `None` if one of them has none."""
    size = _size(sent, shown)
    for each in wholes:
        if each.answer.result is not None and shows_same(each.answer.result, sent, shown):
            each.answer.size, each.answer.result = size, None
        _measure(each.answer, shown)
    return None if any(each.answer.result is not None for each in wholes) else size


def _measure(answer: ServerAnswer, shown: Shown) -> None:
    if (result := answer.result) is not None and (size := _size(result, shown)) is not None:
        answer.size, answer.result = size, None


def _size(result: dict[str, Any], shown: Shown) -> ShownSize | None:
    try:
        return shown_size(result, shown)
    except (ValueError, TypeError, RecursionError):
        # It cannot be written as JSON, so it is not sent either.
        return None


def _shares(sent: ShownSize, wholes: Sequence[Whole]) -> list[ShownSize]:
    """The share of each in an answer that is made of several, by its size; they add up to the answer."""
    if len(wholes) == 1:
        return [sent]
    weights = [1 if each.answer.size is None else each.answer.size.bytes + 1 for each in wholes]
    until = [0, *accumulate(weights)]
    bytes_until, characters_until = ([amount * place // until[-1] for place in until] for amount in sent)
    return [
        ShownSize(bytes_end - bytes_start, characters_end - characters_start)
        for (bytes_start, bytes_end), (characters_start, characters_end) in zip(
            pairwise(bytes_until), pairwise(characters_until), strict=True
        )
    ]


_DAY_S: Final = 24 * 60 * 60
_EPOCH: Final = date(1970, 1, 1).toordinal()


def _day(seconds: float) -> str:
    return date.fromordinal(_EPOCH + int(seconds // _DAY_S)).isoformat()
