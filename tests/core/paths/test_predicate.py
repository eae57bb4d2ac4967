"""Tests of rows: the comparisons of RFC 9535, and that none raises."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from fuzz.rows import holds, random_condition
from louver.core.paths.path import FieldPath
from louver.core.paths.predicate import RowTest
from louver.core.paths.rows import Pick

VALUES: list[Any] = [
    0,
    1,
    -1,
    1.0,
    2.5,
    10**400,
    "",
    "a",
    "b",
    True,
    False,
    None,
    [],
    [1],
    [True],
    {},
    {"a": 1},
    {"b": 1},
]
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")


def test_of(condition: str) -> RowTest:
    [pick] = FieldPath.parse(f"$[?{condition}]", rows=True).steps
    assert isinstance(pick, Pick)
    [test] = pick.tests
    return test


test_of.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.parametrize("operator", OPERATORS)
def test_all_kinds_of_values_are_compared_as_by_the_rfc(operator: str):
    """RFC 9535, 2.3.5.2.2: values of unlike types are neither equal nor ordered; nothing equals nothing."""
    rows = [{"l": left, "r": right} for left, right in product(VALUES, VALUES)]
    rows += [{"l": each} for each in VALUES] + [{"r": each} for each in VALUES] + [{}]
    test = test_of(f"@.l {operator} @.r")
    assert test.positions(rows, None) == [at for at, row in enumerate(rows) if holds(test.condition, row, None)]
    assert (len(rows) - 1 in test.positions(rows, None)) == (operator in ("==", "<=", ">="))


@pytest.mark.parametrize("constant", ["0", "1", "1.0", "-1", "'a'", "''", "true", "false", "null"])
def test_constants_are_compared_alike_on_both_sides_and_in_every_form(constant: str):
    """The source for rows as expected keeps the same, or raises."""
    rows: list[Any] = [{"l": each} for each in VALUES] + [{}, 7, "l", None, ["l"]]
    for operator, other in zip(OPERATORS, ("==", "!=", ">", ">=", "<", "<="), strict=True):
        test, turned = test_of(f"@.l {operator} {constant}"), test_of(f"{constant} {other} @.l")
        right = [at for at, row in enumerate(rows) if holds(test.condition, row, None)]
        assert test.positions(rows, None) == turned.positions(rows, None) == right
        source = test.source("row", names := {}, is_expected=True)
        if names == {}:
            for at, row in enumerate(rows):
                try:
                    is_met = eval(source, {"row": row})
                except (LookupError, TypeError):
                    continue
                assert is_met == (at in right), (source, row)


def test_a_test_reads_positions_nested_rows_and_the_root():
    rows: list[Any] = [{"a": [1, 2], "b": {"c": 2}}, {"a": [2], "b": {}}, {"a": {}, "b": 1}, 5]
    root = {"want": [2], "rows": rows}
    for condition, found in {
        "@.a[-1] == 2": [0, 1],
        "@.a[5]": [],
        "@.b.c": [0],
        "!@.b.c": [1, 2, 3],
        "@.a[?@ == $.want[0]]": [0, 1],
        "@.a[*] || @ == 5": [0, 1, 3],
        "@['a','x'] && @.b['c','d']": [0],
        "@.b == $.rows[2].b": [2],
        "$.want": [0, 1, 2, 3],
        "@.a[0:1]": [0, 1],
    }.items():
        assert test_of(condition).positions(rows, root) == found, condition


def test_what_a_test_reads_of_a_row_is_counted():
    """ROWS.md, "Cost": nodes x predicates."""
    assert test_of("@.a == 1").weight == 2
    assert test_of("@.a.b == 1 && (@.c || @.d[?@.e])").weight == 3 + 2 + 3 + 2
    assert [test_of(each).reads_root for each in ("@.a", "$.a", "@.a[?@ == $.b]")] == [False, True, True]


def test_deep_values_are_compared_without_recursion():
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    test = test_of("@.a == @.b")
    assert test.positions([{"a": deep, "b": deep}, {"a": deep, "b": [deep]}], None) == [0]
    _unnested(deep)


def _unnested(value: Any) -> None:
    """Take a deep value apart: Python would do it by recursion."""
    while value:
        value = value.pop()


def test_random_conditions_hold_where_plain_recursion_says_so():
    rng = Random(7)
    names = ("a", "b")
    rows = [{name: rng.choice(VALUES) for name in rng.sample(names, rng.randint(0, 2))} for _ in range(60)]
    for _ in range(300):
        test = RowTest(random_condition(rng, names, [1, "a", None, True]))
        assert test.positions(rows, rows) == [at for at, row in enumerate(rows) if holds(test.condition, row, rows)]
