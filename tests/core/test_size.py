"""How large a value is, as far as a sample shows."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.json import compact
from louver.core.measure import is_heavier, is_larger

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
    ],
)
def test_alike_parts_are_counted_as_they_are(value: Any, parts: int):
    """Members and elements at any depth."""
    assert is_larger(value, parts - 1)
    assert not is_larger(value, parts)


def test_counting_ends_once_it_is_known():
    """Also of a value that leads back to itself."""
    circle: list[Any] = [1]
    circle.append(circle)
    assert is_larger(circle, 1_000_000)


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
