"""What stands at a path of a value."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from louver.core.paths.find import at_path, leaves
from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project

scalars = st.none() | st.booleans() | st.integers() | st.text("xy")
values = st.recursive(
    scalars, lambda below: st.lists(below) | st.dictionaries(st.sampled_from("abc"), below), max_leaves=12
)
paths = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=4).map(
    lambda steps: FieldPath(() if steps == [None] else tuple(steps))
)

VALUE = {"items": [{"id": 1}, {"x": 2}, [{"id": [3]}], None], "map": {"p": {"id": 4}, "q": 5}, "none": None}


def found(path, value=VALUE):
    return [*at_path(value, FieldPath.parse(path))]


def test_names_look_through_arrays():
    """PROJECTION.md: "arrays are transparent"; the order is the value's."""
    assert found("items.id") == [1, [3]]
    assert found("items[*].id") == [1, [3]]
    assert found("map.*.id") == [4]
    assert found("map.*") == [{"id": 4}, 5]
    assert found("none") == [None]
    assert found("nothing") == found("none.id") == found("items.id.x") == []
    assert found("*") == [VALUE]


def test_scalars_are_read_as_texts():
    """Ours: as JSON spells them, but strings without their quotes."""
    assert [*leaves({"a": ["x", 503, {"b": True}], "c": None, "d": 1.5})] == ["x", "503", "true", "null", "1.5"]


@given(values, paths)
def test_an_include_of_a_path_keeps_what_is_found_there(value, path):
    """Ours: the law."""
    assert [*at_path(project(value, include_mask((path,))), path)] == [*at_path(value, path)]


@given(values, paths)
def test_an_exclude_of_a_path_leaves_nothing_to_be_found_there(value, path):
    """P11: what is left out is not found."""
    if path.steps and path.steps[-1] is not None:
        assert [*at_path(project(value, exclude_mask((path,))), path)] == []
