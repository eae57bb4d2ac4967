"""What was made to hurt: it takes bounded time and memory, and ends as it should.

    10,000 levels    values nested far deeper than Python recurses, whole and as text
    1 million rows   a table of which two columns are asked for
    mask nodes       paths with wildcards that make many combinations, served and refused
    hostile names    members that would be code if a name ever stood in code unquoted

Each checks its own outcome, and fails where it is another. Absolute times and peaks of memory
on top of the value, of this machine.
"""

from __future__ import annotations

import os
import tracemalloc
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.measuring import timed
from benchmarks.results import Group, Row
from louver import Projection, compile_projection
from louver.core.paths.path import FieldPath
from louver.errors import ProjectionLimit
from louver.limits import MAX_PATHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.scenarios import Setting
    from louver.core.json import Json

LEVELS = 10_000
ROWS = 1_000_000
MOST_ROUNDS = 3
TRAP = "LOUVER_TRAP"
"""A variable of the environment that the hostile names would set."""

NAMES = (
    "'+__import__('os')+'",
    f"'+__import__('os').environ.setdefault('{TRAP}', '')+'",
    f'"+__import__("os").environ.setdefault("{TRAP}", "")+"',
    f"{{__import__('os').environ.setdefault('{TRAP}', '')}}",
    "\\",
    "\\'",
    "\n    raise SystemExit #",
    "\u2028",
    "'''",
    "value",
    "unexpected",
    "__class__",
)


def run(setting: Setting) -> Iterator[Group]:
    """The time of each attack, then the peaks of memory."""
    peaks: dict[str, float] = {}
    for name, prepare in ATTACKS.items():
        work = prepare()
        yield Group("time", name, 0, "s", None, timed({"louver": work}, min(MOST_ROUNDS, setting.rounds)))
        peaks[name] = _peak(work)
    for name, peak in peaks.items():
        yield Group("memory", name, 0, "MB", None, (Row.exact("louver", peak),))


def _peak(work: Callable[[], None]) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def _deep_objects() -> Callable[[], None]:
    value: Json = {"secret": 1, "a": None}
    for _ in range(LEVELS - 1):
        value = {"secret": 1, "a": value}
    plan = compile_projection(Projection(exclude=["**.secret"]))

    def work() -> None:
        kept, levels = plan(value), 0
        while kept is not None:
            assert list(kept) == ["a"]
            kept, levels = kept["a"], levels + 1
        assert levels == LEVELS

    return work


def _deep_arrays() -> Callable[[], None]:
    value: Json = []
    for _ in range(LEVELS - 1):
        value = [value]
    plan = compile_projection(Projection(include=["a"]))

    def work() -> None:
        kept = plan(value)
        while kept:
            assert len(kept) == 1
            kept = kept[0]

    return work


def _many_rows() -> Callable[[], None]:
    value = {"rows": [{"id": number, "name": "n", "note": "x", "size": number} for number in range(ROWS)]}
    plan = compile_projection(Projection(include=["rows.id", "rows.name"]))

    def work() -> None:
        kept = plan(value)
        assert len(kept["rows"]) == ROWS
        assert kept["rows"][-1] == {"id": ROWS - 1, "name": "n"}

    return work


def _wild(count: int, length: int) -> dict[str, Any]:
    """A request of `count` paths, every second of whose steps is a wildcard, by chance."""
    rng = Random(1)
    paths = [tuple(None if rng.random() < 0.5 else rng.choice("ab") for _ in range(length)) for _ in range(count)]
    return {"mode": "include", "fields": [str(FieldPath(path)) for path in paths]}


def _many_nodes() -> Callable[[], None]:
    """4,074 nodes, just below what is served."""
    request = _wild(26, 8)

    def work() -> None:
        assert compile_projection(Projection.from_wire(request))({"a": {"c": 1}}) == {"a": {}}

    return work


def _too_many_nodes() -> Callable[[], None]:
    request = _wild(MAX_PATHS, 8)

    def work() -> None:
        try:
            compile_projection(Projection.from_wire(request))
        except ProjectionLimit:
            return
        raise AssertionError("too many combinations were served")

    return work


def _hostile_names() -> Callable[[], None]:
    element = {name: {name: position} for position, name in enumerate(NAMES)}
    value = {"rows": [{**element, "rest": 1} for _ in range(1_000)]}
    paths = tuple(FieldPath(("rows", name, name)) for name in NAMES)

    def work() -> None:
        for plan in (compile_projection(Projection(include=[*map(str, paths)])), compile_projection(_left_out())):
            for _ in range(5):
                assert plan(value) == {"rows": [element] * 1_000}
        assert TRAP not in os.environ

    return work


def _left_out() -> Projection:
    gone = tuple(FieldPath(("rows", name, f"{name}x")) for name in NAMES)
    return Projection(exclude=["rows.rest", *map(str, gone)])


ATTACKS: dict[str, Callable[[], Callable[[], None]]] = {
    "10,000 objects, nested": _deep_objects,
    "10,000 arrays, nested": _deep_arrays,
    "1 million rows": _many_rows,
    "4,074 mask nodes": _many_nodes,
    "too many nodes": _too_many_nodes,
    "hostile names": _hostile_names,
}
