"""Measuring: candidates side by side in one run, so that what disturbs one disturbs all.

    measured("include", "issues", 1000, [Candidate("by hand", ...), Candidate("louver", ...)], rounds=15)

The first candidate is the baseline. The rules:

- answers are compared before anything is timed, and must be equal as JSON;
- candidates take turns: every round has each once, in a new order;
- time is CPU time of this thread, without garbage collection, of at least 5 ms a sample
  (what takes longer runs once a sample);
- the baseline runs twice under two names: how far its twin is from it is the noise.
"""

from __future__ import annotations

import gc
import json
from dataclasses import dataclass
from random import Random
from statistics import median, quantiles
from time import thread_time
from typing import TYPE_CHECKING, Any

from benchmarks.payloads import SEED
from benchmarks.results import TWIN, Group, Row
from louver.core.json import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from louver.core.json import Json

SAMPLE_S = 0.005
WARM_UP_CALLS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to do it.

    Args:
        name: As it stands in the tables.
        work: Does it once, and returns the answer: a JSON value, or its bytes.
        mended: Puts the answer right where the candidate is known to give another; not timed.
        yardstick: The candidate does something else, and is there to compare with.
    """

    name: str
    work: Callable[[], Json | bytes]
    mended: Callable[[Json], Json] | None = None
    yardstick: bool = False


class OtherAnswer(Exception):
    """A candidate gives another answer than the rest, so its time says nothing."""


def measured(case: str, payload: str, size: int, candidates: Sequence[Candidate], rounds: int) -> Group:
    """The times of candidates that do the same, in seconds.

    Raises:
        OtherAnswer: They do not do the same.
    """
    compare(candidates)
    baseline = candidates[0].name
    works = {baseline: candidates[0].work, baseline + TWIN: candidates[0].work}
    works |= {candidate.name: candidate.work for candidate in candidates}
    return Group(case, payload, size, "s", baseline, timed(works, rounds))


def compare(candidates: Sequence[Candidate]) -> None:
    """See that all candidates but yardsticks give the same answer.

    Raises:
        OtherAnswer: One does not.
    """
    told = [(candidate.name, _answer(candidate)) for candidate in candidates if not candidate.yardstick]
    for name, answer in told[1:]:
        if answer != told[0][1]:
            raise OtherAnswer(f"{name} does not give the answer of {told[0][0]}")


def timed(works: dict[str, Callable[[], Any]], rounds: int) -> tuple[Row, ...]:
    """The seconds that each takes, measured in turns."""
    rng = Random(SEED)
    repeats = {name: _repeats(work) for name, work in works.items()}
    samples: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name in rng.sample(list(works), len(works)):
            samples[name].append(_sample(works[name], repeats[name]))
    return tuple(row(name, times) for name, times in samples.items())


def _answer(candidate: Candidate) -> bytes:
    answer = candidate.work()
    value = json.loads(answer) if isinstance(answer, bytes) else answer
    return canonical(value if candidate.mended is None else candidate.mended(value))


def _repeats(work: Callable[[], Any]) -> int:
    """How often to run for one sample; warms up by the way."""
    if _sample(work, 1) < SAMPLE_S:
        _sample(work, WARM_UP_CALLS)
    repeats = 1
    while (taken := _sample(work, repeats) * repeats) < SAMPLE_S:
        repeats *= min(100, max(2, int(SAMPLE_S * 1.2 / max(taken, 1e-9))))
    return repeats


def _sample(work: Callable[[], Any], repeats: int) -> float:
    gc.collect()
    gc.disable()
    try:
        started = thread_time()
        for _ in range(repeats):
            work()
        return (thread_time() - started) / repeats
    finally:
        gc.enable()


def row(name: str, times: list[float]) -> Row:
    """The row of a candidate that took so many seconds each time."""
    low, _, high = quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return Row(name, median(times), low, high)
