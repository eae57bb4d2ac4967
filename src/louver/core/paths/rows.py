"""Steps of a path that select rows of an array, several members, or every depth; written as RFC 9535 writes them.

    [0]  [-1]  [2:10:2]            positions
    [?@.state == 'open']           a test (`louver.core.paths.predicate`)
    [0,2]  ['id','name']           several
    ..                             every place below

Positions and tests select from the array that a path has come to. Names look through arrays, as everywhere.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.core.json import Json
    from louver.core.paths.predicate import RowTest


@dataclass(frozen=True, slots=True)
class Cut:
    """A slice of an array; a step of 0 selects nothing."""

    start: int | None
    stop: int | None
    step: int | None = None

    def positions(self, length: int) -> range:
        return range(0) if self.step == 0 else range(*slice(self.start, self.stop, self.step).indices(length))

    def __str__(self) -> str:
        ends = ":".join("" if end is None else str(end) for end in (self.start, self.stop))
        return ends if self.step is None else f"{ends}:{self.step}"


@dataclass(frozen=True)
class Pick:
    """Members by their names, and rows by positions, slices and tests: all that one of these selects."""

    names: tuple[str, ...] = ()
    rows: tuple[int | Cut | RowTest, ...] = ()

    @cached_property
    def tests(self) -> tuple[RowTest, ...]:
        return tuple(row for row in self.rows if not isinstance(row, int | Cut))

    @property
    def reads_root(self) -> bool:
        return any(test.reads_root for test in self.tests)

    @cached_property
    def weight(self) -> int:
        """How many places a test of one row reads, in all; 0 without tests."""
        return sum(test.weight for test in self.tests)

    def positions(self, elements: list[Json], root: Json) -> Iterable[int]:
        """The positions that are selected, in any order, maybe several times."""
        length = len(elements)
        for row in self.rows:
            if isinstance(row, int):
                if -length <= row < length:
                    yield row % length
            elif isinstance(row, Cut):
                yield from row.positions(length)
            else:
                yield from row.positions(elements, root)

    def __str__(self) -> str:
        return f"[{','.join([*map(quoted, self.names), *(str(row) for row in self.rows)])}]"


@dataclass(frozen=True, slots=True)
class Descent:
    """The place itself and every place below it, by which the next step goes on."""

    def __str__(self) -> str:
        return ".."


DEEP: Final = Descent()

# A property name; `None` for the wildcard; rows or names; or every depth.
Step = str | None | Pick | Descent

# Without quotes, `jsonpath_ng` takes `where` and `wherenot` for operators.
_PLAIN = re.compile(r"(?!(?:where|wherenot)\Z)[A-Za-z_][A-Za-z0-9_]*")


def written(steps: Iterable[Step]) -> str:
    """The canonical text of steps behind `$` or `@`."""
    text, is_deep = "", False
    for step in steps:
        if isinstance(step, str) and _PLAIN.fullmatch(step):
            text += step if is_deep else f".{step}"
        else:
            text += f"[{quoted(step)}]" if isinstance(step, str) else "[*]" if step is None else str(step)
        is_deep = step is DEEP
    return text


def quoted(text: str) -> str:
    """A string literal: between single quotes, unless it has one and no double quote."""
    if "'" in text and '"' not in text and "\\" not in text and text.isprintable():
        return f'"{text}"'
    return "'" + json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
