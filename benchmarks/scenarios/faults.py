"""Faults: what clients of three replicas see while one thing after another fails, as `tests/team/faults.py` says.

    answers         calls; wrong answers, and those with what another principal has sent (`crossed`); calls that failed,
                    and that failed when made once more (`lost`)
    times           the longest time in which nobody has got an answer, and the longest wait for one
    list changes    how many, and how often a listener has got no notification of one
    memory          RSS of a replica at its start, after calls without a fault, and after all
    MCP session     what each of 2025-11-25 adds to it

Replicas, Redis, nginx and HAProxy run as an operator starts them, the last two with the files of `deploy/`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING

from benchmarks.results import Group, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.scenarios import Setting

SECONDS = 3.0
"""How long a fault lasts."""

_TESTS = Path(__file__).parents[2] / "tests"
_FIGURES = {
    "answers": ("calls", ("calls", "wrong", "crossed", "failed", "lost")),
    "times": ("s", ("silence", "wait")),
    "list changes": ("changes", ("changes", "missed")),
    "memory": ("MB", ("start", "calls", "faults")),
    "MCP session": ("kB", ("session",)),
}


def run(_: Setting) -> Iterator[Group]:
    """A group a figure and fault."""
    with Popen([sys.executable, "-m", "team.faults", str(SECONDS)], stdout=PIPE, cwd=_TESTS) as process:
        assert process.stdout is not None
        found = [json.loads(line) for line in process.stdout]
    assert process.returncode == 0, "it has failed, see above"
    for case, (unit, names) in _FIGURES.items():
        for seen in found:
            if {*names} <= seen.keys():
                rows = (Row.exact(name, seen[name]) for name in names)
                yield Group(case, seen["of"], 0, unit, None, tuple(rows))
