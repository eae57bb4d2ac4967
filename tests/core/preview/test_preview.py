"""What is told of a value that is not shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from louver.core.paths.mask import NONE, include_mask
from louver.core.paths.path import FieldPath
from louver.core.preview.field_sizes import size_of
from louver.core.preview.preview import (
    MAX_PREVIEW_BYTES,
    MAX_SCALAR_BYTES,
    MAX_SUGGESTED_BYTES,
    fitted,
    preview,
    scalars,
)
from louver.core.project import project

texts = st.text(max_size=300)
plain = st.none() | st.booleans() | st.integers() | texts
names = st.text(min_size=1, max_size=80)
values = st.recursive(plain, lambda below: st.lists(below) | st.dictionaries(names, below, max_size=8))

VALUE = {"total": 2, "items": [{"id": 1, "body": 300 * "b"}, {"id": 2, "body": 301 * "b"}]}


def told(value):
    return preview(value, size_of(value))


def test_fields_are_told_with_their_weights_and_a_view_of_the_light_ones():
    """GATEWAY.md: the form of `inspect-tool-response`."""
    said = told(VALUE)
    assert [field["path"] for field in said["fields"]] == ["total", "items", "items.id", "items.body"]
    assert said["fields"][0] == {"path": "total", "types": ["integer"], "bytes": 9, "share": 0.01}
    assert said["suggestedView"] == {"include": ["total", "items.id"]}
    assert fitted(said) == said
    assert told([1, 2])["elements"] == 2
    assert told([{"id": 1, "of": None}, {"id": 1}])["fields"] == [
        {"path": "id", "types": ["integer"], "bytes": 12, "share": 0.41, "constant": True},
        {"path": "of", "types": ["null"], "bytes": 9, "share": 0.31, "seen": 0.5},
    ]


def test_what_has_no_room_is_counted():
    """Ours: the fields nearest to the root stay, in their order."""
    value = {f"field{n}": {f"below{m}": m for m in range(5)} for n in range(12)} | {"last": 1}
    said = fitted(told(value))
    assert size_of(said["fields"]) <= MAX_PREVIEW_BYTES
    assert all("." not in field["path"] for field in said["fields"])
    assert said["moreFields"] == len(told(value)["fields"]) - len(said["fields"])
    named = told({f"{n:>080}": n for n in range(3)} | {"body": 201 * "b"})
    assert "suggestedView" in named
    assert "suggestedView" not in fitted(named)


def test_scalars_of_the_root_are_shown():
    """Ours: totals and cursors; long texts and what has fields of its own are not."""
    assert scalars({"total": 2, "next": None, "text": 201 * "x", "items": [], "user": {"id": 1}}) == {
        "total": 2,
        "next": None,
    }
    assert scalars({"result": {"total": 2}}, wrapped=True) == {"result": {"total": 2}}
    assert scalars({"result": {"total": 2}}) == scalars({"result": [1], "n": {}}, wrapped=True) == {}
    assert scalars([{"id": 1}]) == []


def test_scalars_are_shown_as_far_as_there_is_room():
    """Ours: the first that has none is the last that is looked at."""
    first = {"total": 2, "text": 150 * "x"}
    assert scalars({**first, "more": 40 * "y", "next": "n"}) == first
    assert scalars({**first, "next": "n"}) == {**first, "next": "n"}


@given(values)
def test_it_fits(value):
    """Ours: whatever the names are."""
    said = fitted(told(value))
    assert sum(size_of(field) + 1 for field in said["fields"]) + size_of(said.get("suggestedView", {})) <= (
        MAX_PREVIEW_BYTES + 2
    )
    assert size_of(said.get("suggestedView", {})) <= MAX_SUGGESTED_BYTES
    assert size_of(scalars(value)) <= MAX_SCALAR_BYTES + 2


@given(values)
def test_the_scalars_are_a_projection(value):
    """Ours: so they satisfy what is listed (`core/schema/relax.py`)."""
    kept = scalars(value)
    if isinstance(value, dict):
        mask = include_mask(tuple(FieldPath((name,)) for name in kept)) if kept else NONE
        assert kept == project(value, mask)
    else:
        assert kept == project(value, NONE)
