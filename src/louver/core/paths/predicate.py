"""Tests of rows: `?@.state == 'open' && (@.comments > 3 || !@.draft)`, by the table of comparisons of RFC 9535.

A test never raises: what is missing equals only what is missing, and values of unlike types are neither equal nor
ordered. It is compiled to Python source; member names and constants enter it only through `repr`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal

from louver.core.json import is_array, is_object
from louver.core.paths.rows import Pick, quoted, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from louver.core.json import Json
    from louver.core.paths.rows import Step

Operator = Literal["==", "!=", "<", "<=", ">", ">="]


class _Nothing:
    """The value of a query that selects nothing."""


NOTHING: Final = _Nothing()


@dataclass(frozen=True, slots=True)
class Query:
    """A path within a row (`@`), or from the root of what is projected (`$`)."""

    steps: tuple[Step, ...]
    from_root: bool = False

    @property
    def is_singular(self) -> bool:
        """Whether it selects one place at most: by names and single positions alone."""
        return all(isinstance(step, str) or _position(step) is not None for step in self.steps)

    @property
    def picks(self) -> tuple[Pick, ...]:
        return tuple(step for step in self.steps if isinstance(step, Pick))

    def __str__(self) -> str:
        return f"{'$' if self.from_root else '@'}{written(self.steps)}"


@dataclass(frozen=True, slots=True)
class Constant:
    value: str | int | float | bool | None = field(compare=False)
    text: str = field(init=False, repr=False)  # to Python `1 == True`

    def __post_init__(self) -> None:
        text = quoted(self.value) if isinstance(self.value, str) else json.dumps(self.value)
        object.__setattr__(self, "text", text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Exists:
    query: Query

    def __str__(self) -> str:
        return str(self.query)


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: Operator
    left: Query | Constant
    right: Query | Constant

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class Not:
    part: Exists

    def __str__(self) -> str:
        return f"!{self.part}"


@dataclass(frozen=True, slots=True)
class AllOf:
    """What `&&` joins; a part that is `Any` is in parentheses."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " && ".join(f"({part})" if isinstance(part, AnyOf) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """What `||` joins."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " || ".join(map(str, self.parts))


Condition = Exists | Comparison | Not | AllOf | AnyOf


@dataclass(frozen=True)
class RowTest:
    """A condition that a row must meet."""

    condition: Condition

    def __str__(self) -> str:
        return f"?{self.condition}"

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """What it reads, without what tests within that read."""
        return tuple(_queries(self.condition))

    @cached_property
    def needed(self) -> tuple[Query, ...]:
        """The same without what must not be there."""
        return tuple(_queries(self.condition, absent=False))

    @cached_property
    def reads_root(self) -> bool:
        return any(query.from_root or any(pick.reads_root for pick in query.picks) for query in self.queries)

    @cached_property
    def weight(self) -> int:
        """How many places it reads of one row."""
        return sum(1 + len(query.steps) + sum(pick.weight for pick in query.picks) for query in self.queries)

    @cached_property
    def reads_many(self) -> bool:
        """Whether it may read more of one row than that."""
        return not all(query.is_singular for query in self.queries)

    def source(self, row: str, names: dict[str, Any], *, is_expected: bool = False) -> str:
        """Python source that is true of a row that meets it.

        Args:
            row: The variable of the row; `root` is that of the root.
            names: Gets what the source uses.
            is_expected: Rows have what is read, of the types that are compared. For others it raises, or is right.
        """
        quick = _expected(self.condition, row) if is_expected else None
        return quick or _Source(row, names).condition(self.condition)

    @cached_property
    def positions(self) -> Callable[[list[Json], Json], list[int]]:
        """The positions of the rows that meet it, of the elements of an array and the root."""
        names: dict[str, Any] = {}
        source = self.source("row", names)
        source = f"lambda rows, root: [position for position, row in enumerate(rows) if {source}]"
        return eval(compile(source, "<louver test>", "eval"), names)


def at(value: Json, steps: Sequence[str | int]) -> Any:
    """The value at names and positions, or `NOTHING`."""
    for step in steps:
        if isinstance(step, str):
            if not is_object(value) or step not in value:
                return NOTHING
            value = value[step]
        else:
            if not is_array(value) or not -len(value) <= step < len(value):
                return NOTHING
            value = value[step]
    return value


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values, or nothing, are equal: numbers by their value, which true and false do not have."""
    todo = [(left, right)]
    while todo:
        one, other = todo.pop()
        if is_object(one) and is_object(other):
            if one.keys() != other.keys():
                return False
            todo += [(member, other[name]) for name, member in one.items()]
        elif is_array(one) and is_array(other):
            if len(one) != len(other):
                return False
            todo += zip(one, other, strict=True)
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif one != other:
            return False
    return True


def is_less(left: Any, right: Any) -> bool:
    """Whether two numbers, or two strings, are in this order."""
    if left.__class__ is str:
        return right.__class__ is str and left < right
    return left.__class__ in _NUMBERS and right.__class__ in _NUMBERS and left < right


_NUMBERS: Final = frozenset({int, float})


def selects(value: Json, steps: Sequence[Step], root: Json) -> bool:
    """Whether steps, which look through no arrays, lead to anything in a value."""
    found: list[Json] = [value]
    for step in steps:
        found = [*chain.from_iterable(_below(part, step, root) for part in found)]
    return bool(found)


def _below(part: Json, step: Step, root: Json) -> Iterator[Json]:
    if step is None:
        yield from part.values() if is_object(part) else part if is_array(part) else ()
    elif is_object(part):
        names = step.names if isinstance(step, Pick) else (step,)
        yield from (part[name] for name in names if isinstance(name, str) and name in part)
    elif is_array(part) and isinstance(step, Pick):
        yield from (part[position] for position in step.positions(part, root))


def _position(step: Step) -> int | None:
    if isinstance(step, Pick) and not step.names and len(step.rows) == 1 and isinstance(step.rows[0], int):
        return step.rows[0]
    return None


def _queries(condition: Condition, *, absent: bool = True) -> Iterator[Query]:
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from _queries(part, absent=absent)
    elif isinstance(condition, Not):
        yield from _queries(condition.part) if absent else ()
    else:
        sides = [condition.query] if isinstance(condition, Exists) else [condition.left, condition.right]
        yield from (query for query in sides if isinstance(query, Query))


class _Source:
    """Python source of a condition, for any row; `names` gets what `repr` cannot write."""

    def __init__(self, row: str, names: dict[str, Any]) -> None:
        self._row = row
        self._names = names
        names |= {"at": at, "equal": equal, "is_less": is_less, "selects": selects, "NOTHING": NOTHING}

    def condition(self, condition: Condition) -> str:
        match condition:
            case AllOf():
                return f"({' and '.join(map(self.condition, condition.parts))})"
            case AnyOf():
                return f"({' or '.join(map(self.condition, condition.parts))})"
            case Not():
                return f"(not {self.condition(condition.part)})"
            case Exists():
                return self._exists(condition.query)
            case _:
                return self._comparison(condition)

    def _exists(self, query: Query) -> str:
        if query.is_singular:
            return f"({self._value(query)} is not NOTHING)"
        name = f"steps{len(self._names)}"
        self._names[name] = query.steps
        return f"selects({self._variable(query)}, {name}, root)"

    def _comparison(self, it: Comparison) -> str:
        left, right = self._value(it.left), self._value(it.right)
        if it.operator in ("==", "!="):
            is_equal = f"equal({left}, {right})"
            constant = (
                it.right if isinstance(it.right, Constant) else it.left if isinstance(it.left, Constant) else None
            )
            if constant is not None and isinstance(constant.value, str):
                # A string equals nothing but the same string.
                is_equal = f"{left} == {right}"
            return f"({is_equal})" if it.operator == "==" else f"(not {is_equal})"
        if it.operator[0] == ">":
            left, right = right, left
        less = f"is_less({left}, {right})"
        return less if len(it.operator) == 1 else f"({less} or equal({left}, {right}))"

    def _value(self, part: Query | Constant) -> str:
        if isinstance(part, Constant):
            return repr(part.value)
        steps = tuple(step if isinstance(step, str) else _position(step) for step in part.steps)
        variable = self._variable(part)
        if len(steps) == 1 and isinstance(steps[0], str):
            name = repr(steps[0])
            return f"({variable}[{name}] if {variable}.__class__ is dict and {name} in {variable} else NOTHING)"
        return f"at({variable}, {steps!r})" if steps else variable

    def _variable(self, query: Query) -> str:
        return "root" if query.from_root else self._row


def _expected(condition: Condition, row: str) -> str | None:
    """The source for rows that are objects with all members of the types that are compared."""
    if isinstance(condition, AllOf | AnyOf):
        parts = [_expected(part, row) for part in condition.parts]
        joint = " and " if isinstance(condition, AllOf) else " or "
        return None if None in parts else f"({joint.join(part or '' for part in parts)})"
    if not isinstance(condition, Comparison) or not isinstance(condition.right, Constant):
        return None
    query, constant = condition.left, condition.right.value
    if not (isinstance(query, Query) and query.steps and all(isinstance(step, str) for step in query.steps)):
        return None
    value = ("root" if query.from_root else row) + "".join(f"[{step!r}]" for step in query.steps)
    if constant is None or isinstance(constant, bool):
        words = {"==": "is", "!=": "is not"}
        return f"{value} {words[condition.operator]} {constant!r}" if condition.operator in words else None
    if isinstance(constant, str):
        return f"{value} {condition.operator} {constant!r}"
    # True and false are numbers to Python alone.
    if condition.operator == "!=":
        return f"({value} != {constant!r} or {value}.__class__ is bool)"
    return f"({value} {condition.operator} {constant!r} and {value}.__class__ is not bool)"
