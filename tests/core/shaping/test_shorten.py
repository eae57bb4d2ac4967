"""Making a value shorter."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.json import levels
from louver.core.shaping.shorten import FORMATS, Shortening, shorten


def short(value: Any, items: int | None = None, texts: int | None = None, *, nulls: bool = False) -> Any:
    return shorten(value, Shortening.to_size(items, texts, drops_nulls=nulls))


def test_a_text_is_cut_to_characters_of_which_the_last_says_so():
    """Ours: the ellipsis counts."""
    assert short(["abcd", "abcde", "", "äöüßé", "😀😁😂"], texts=4) == ["abcd", "abc…", "", "äöü…", "😀😁😂"]
    assert short("ab", texts=1) == "…"


def test_the_names_of_members_are_no_texts():
    assert short({"a long name": "long"}, texts=2) == {"a long name": "l…"}


def test_every_array_is_cut_at_its_end():
    assert short({"a": [[1, 2, 3], [], 5]}, items=2) == {"a": [[1, 2], []]}


def test_members_that_are_null_are_left_out_and_elements_stay():
    """Ours: an array keeps its positions."""
    assert short({"a": None, "b": {"c": None}, "d": [None, {"e": None}]}, nulls=True) == {"b": {}, "d": [None, {}]}
    assert short(None, nulls=True) is None


def test_what_is_not_asked_for_stays():
    value = {"a": None, "b": ["abc", "abc", 1.5, True]}
    assert short(value) == value


def test_a_format_looks_through_arrays_and_not_into_objects():
    by = Shortening.to_format(FORMATS["localpart"])
    assert shorten(["a@b", ["c@d"], {"x": "e@f"}, 7, None], by) == ["a", ["c"], {"x": "e@f"}, 7, None]


@pytest.mark.parametrize("container", [lambda below: [below], lambda below: {"a": below}], ids=["arrays", "objects"])
def test_a_value_of_any_depth_is_shortened(container: Any):
    value: Any = "abc"
    for _ in range(20_000):
        value = container(value)
    *_, last = levels(short(value, texts=2))
    assert last == ["a…"]
