"""How large a value is, as far as a sample shows."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.measure import is_larger

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
