"""The longest array of a value, and a part of it in its place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from louver.core.paths.find import longest, with_items

scalars = st.none() | st.booleans() | st.integers() | st.text("xy")
values = st.recursive(
    scalars, lambda below: st.lists(below) | st.dictionaries(st.sampled_from("abc"), below), max_leaves=12
)

VALUE = {"page": {"rows": [{"tags": [1, 2, 3]}, 2]}, "others": [3, 4]}


def test_the_longest_is_found_and_told_by_its_path():
    """Ours: the first of two that are as long."""
    found = longest(VALUE, within_arrays=False)
    assert (str(found.path), found.items) == ("page.rows", VALUE["page"]["rows"])
    assert str(longest(VALUE, within_arrays=True).path) == "page.rows.tags"
    assert longest([1], within_arrays=False).names == ()
    assert longest({"a": {"b": 1}}, within_arrays=True) is longest(7, within_arrays=True) is None


def test_other_elements_stand_in_its_place():
    """Ours: the value is not changed."""
    assert with_items(VALUE, ("page", "rows"), [2]) == {"page": {"rows": [2]}, "others": [3, 4]}
    assert with_items([1, 2], (), [2]) == [2]
    assert VALUE["page"]["rows"][1] == 2


@given(values)
def test_no_array_is_longer(value):
    """Ours: against every array, and its own elements give the value back."""
    lengths = []

    def walk(part):
        lengths.extend([len(part)] if isinstance(part, list) else [])
        for below in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            walk(below)

    walk(value)
    found = longest(value, within_arrays=True)
    assert (None if found is None else len(found.items)) == max(lengths, default=None)
    reached = longest(value, within_arrays=False)
    if reached is not None:
        assert with_items(value, reached.names, reached.items) == value
