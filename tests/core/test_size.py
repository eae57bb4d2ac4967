"""How large a value is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from louver.core.json import compact
from louver.core.paths.mask import include_mask
from louver.core.paths.path import FieldPath
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.size import is_heavier, is_larger
from strategies import asked_values

if TYPE_CHECKING:
    from fuzz.requests import Request

ROWS = [{"id": number, "tags": ["a", "b"], "user": {"login": "x"}} for number in range(1000)]


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (None, 0),
        ("a long text" * 1000, 0),
        ([], 0),
        ({}, 0),
        ([1] * 500, 500),
        ({"a": {"b": {"c": 1}}}, 3),
        (ROWS, 7000),
        ({"rows": ROWS, "total": 1000}, 7002),
        ([[[1] * 10] * 10] * 10, 1110),
        ([[], [], [], ROWS, []], 5 + 7000),
        ([{"a": 1}, 2, [3], None], 6),
    ],
)
def test_parts_are_counted_as_they_are(value: Any, parts: int):
    """Members and elements at any depth."""
    assert is_larger(value, parts - 1)
    assert not is_larger(value, parts)


@pytest.mark.parametrize(
    ("paths", "parts"),
    [
        ("rows.id", 1 + 1000 + 1000),
        ("rows.id rows.none", 1 + 1000 + 2000),
        ("rows.user.login", 1 + 1000 + 1000 + 1000),
        ("rows.tags", 1 + 1000 + 1000),
        ("rows", 1),
        ("rows.*", 1 + 1000),
        ("rows.*.*", 1 + 1000 + 3000),
        ("*.login", 2 + 1000 + 1000),
        ("rows.*.login rows.user.x", 1 + 1000 + 2000 + 1000),
        ("*.*.user.login *.*.x", 2 + 1000 + 2000 + 1000),
        ("none", 1),
        ("*", 2),
        ("none *", 2),
        ("none.x *", 2),
    ],
)
def test_what_is_named_is_looked_at(paths: str, parts: int):
    """Ours: of rows whose fields are named, these, be they there or not; of what is kept whole, nothing."""
    value = {"rows": ROWS, "total": 1000}
    mask = include_mask(map(FieldPath.parse, paths.split()))
    assert is_larger(value, parts - 1, mask)
    assert not is_larger(value, parts, mask)


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        (Projection(include=["rows.id"]), 2001),
        (Projection(exclude=["rows.id"]), 1 + 2 + 1000 + 1000 + 3000),
        (Projection(exclude=["rows"]), 1 + 2),
        (Projection(exclude=["*.user.login"]), 1 + 2 + 1000 + (1 + 3) * 1000 + (1 + 1) * 1000),
        (Projection(view="both"), 7002),
    ],
)
def test_a_plan_knows_what_it_looks_at(request_: Projection, parts: int):
    """Ours: of two masks the second looks at what the first has kept, so all of it may be looked at."""
    plan = compile_projection(
        request_, {"properties": {"rows": True}}, views={"both": {"include": ["rows"], "exclude": ["rows.user"]}}
    )
    value = {"rows": ROWS, "total": 1000}
    assert plan.looks_at_more(value, parts - 1)
    assert not plan.looks_at_more(value, parts)


@given(asked_values())
def test_a_plan_looks_at_no_more_parts_than_bytes_by_nodes(pair: tuple[Any, Request]):
    """Ours: a short text is not measured."""
    value, request = pair
    plan = compile_projection(Projection(**{request.mode: [*request.fields]}))
    assert not plan.looks_at_more(value, len(compact(value)) * max(1, plan.nodes))


def test_counting_ends_once_it_is_known():
    """Also of a value that leads back to itself."""
    circle: list[Any] = [1]
    circle.append(circle)
    assert is_larger(circle, 1_000_000)

    class Untouchable(dict[str, Any]):
        def items(self) -> Any:
            raise AssertionError("looked at")

    assert is_larger(Untouchable({str(number): {} for number in range(1000)}), 999)


@pytest.mark.parametrize(
    "value", [ROWS, {"a": "x" * 5000}, ["x" * 50] * 100, [[[]] * 50] * 50, {"n": [1.25, None] * 999}]
)
def test_bytes_are_about_those_of_the_json(value: Any):
    """Within a factor of two and a half for what is not tiny; of long numbers and escapes it is less."""
    size = len(compact(value))
    assert is_heavier(value, int(size / 2.5))
    assert not is_heavier(value, int(size * 2.5))


def test_weighing_ends_once_it_is_known():
    """Ours: what is large is not walked through for that."""

    class Untouchable(dict[str, Any]):
        def values(self) -> Any:
            raise AssertionError("looked at")

    assert is_heavier([Untouchable(a=1), "x" * 1000], 500)
    assert is_heavier([Untouchable(a=1)] * 1000, 500)
