"""Shapings: how they are read, and put together."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.path import FieldPath
from louver.core.projection.view import Views
from louver.core.shaping.options import MAX_SELECTED, Shaping
from louver.errors import InvalidView

WHOLE: dict[str, Any] = {
    "select": {"ts": {"path": "created", "format": "minute"}, "from": "author.email"},
    "at": "messages.*",
    "maxItems": 20,
    "maxString": 500,
    "dropNulls": True,
}


def test_a_shaping_is_read_and_told_in_its_canonical_form():
    """001 pattern 4; the spelling is ours."""
    assert Shaping.read("v", WHOLE).to_json() == WHOLE
    spelled = {"select": {"a": {"path": "/b/c"}}, "at": "$", "dropNulls": False, "include": ["x"]}
    assert Shaping.read("v", spelled).to_json() == {"select": {"a": "b.c"}}


@pytest.mark.parametrize("parts", [{}, {"dropNulls": False}, {"include": ["a"]}])
def test_a_shaping_that_says_nothing_is_none(parts: Any):
    assert not Shaping.read("v", parts)
    assert Shaping.read("v", {"maxItems": 1}).to_json() == {"maxItems": 1}
    assert Shaping.read("v", {"maxItems": 1})
    assert Shaping.read("v", {"dropNulls": True})


WRONG = [
    ({"select": {}}, ("select",), "at least one member"),
    ({"select": ["a"]}, ("select",), "at least one member"),
    ({"select": dict.fromkeys(map(str, range(MAX_SELECTED + 1)), "a")}, ("select",), "at most 256 members"),
    ({"select": {"ts": 1}}, ("select", "ts"), "the selected member 'ts' comes from a field path"),
    ({"select": {"ts": {"format": "date"}}}, ("select", "ts"), "comes from a field path"),
    ({"select": {"ts": {"path": "a", "as": "b"}}}, ("select", "ts", "as"), "expected 'path' or 'format', not 'as'"),
    ({"select": {"ts": {"path": 1}}}, ("select", "ts", "path"), "'path' is a field path, a string"),
    ({"select": {"ts": "a..b"}}, ("select", "ts"), "'a..b': expected a name"),
    ({"select": {"ts": {"path": "a["}}}, ("select", "ts", "path"), "'a['"),
    ({"select": {"ts": "**.a"}}, ("select", "ts"), "leaves fields out"),
    ({"select": {"ts": "tags.*.name"}}, ("select", "ts"), "'tags.*.name' is to have names only"),
    ({"select": {"ts": "*"}}, ("select", "ts"), "'*' is to have names only"),
    ({"select": {"ts": "a" * 513}}, ("select", "ts"), "at most 512"),
    (
        {"select": {"ts": {"path": "a", "format": "second"}}},
        ("select", "ts", "format"),
        "'minute', 'date', 'localpart'",
    ),
    ({"select": {"ts": {"path": "a", "format": []}}}, ("select", "ts", "format"), "'format' is one of"),
    ({"select": {"\ud800": "a"}}, ("select", "\ud800"), "lone surrogate"),
    ({"at": "messages"}, ("at",), "there is no 'select'"),
    ({"select": {"a": "a"}, "at": 1}, ("at",), "'at' is a field path, a string"),
    ({"select": {"a": "a"}, "at": "na*"}, ("at",), "no partial wildcards"),
    ({"maxItems": 0}, ("maxItems",), "'maxItems' is a whole number, at least 1"),
    ({"maxItems": True}, ("maxItems",), "a whole number"),
    ({"maxString": 1.5}, ("maxString",), "'maxString' is a whole number"),
    ({"dropNulls": None}, ("dropNulls",), "'dropNulls' is true or false"),
]


@pytest.mark.parametrize(("parts", "keys", "reason"), WRONG)
def test_a_shaping_of_another_form_is_refused_with_the_way_to_what_is_wrong(parts: Any, keys: Any, reason: str):
    """Ours."""
    with pytest.raises(InvalidView) as refused:
        Views.read({"v": parts})
    assert refused.value.message.startswith("view 'v': ")
    assert reason in refused.value.message
    assert refused.value.keys == keys
    assert refused.value.to_json()["code"] == "INVALID_VIEW"


def test_a_view_has_the_shaping_of_the_view_that_it_extends_as_far_as_it_says_nothing_itself():
    """Ours: `at` belongs to its `select`."""
    views = Views.read(
        {
            "base": WHOLE,
            "same": {"extends": "base", "include": ["messages"]},
            "other": {"extends": "base", "select": {"id": "id"}, "maxItems": 5, "dropNulls": False},
        }
    )
    assert views.find("same").shaping.to_json() == WHOLE
    assert views.find("other").shaping.to_json() == {"select": {"id": "id"}, "maxItems": 5, "maxString": 500}


def test_a_shaping_is_part_of_what_views_are():
    """Ours: a plan of views that shape otherwise is another plan."""
    one, other = (Views.read({"v": {"select": select}}) for select in ({"a": "x", "b": "y"}, {"b": "y", "a": "x"}))
    assert one != other
    assert str(one.to_json()) != str(other.to_json())


def test_the_place_of_a_shaping_moves_with_the_paths_of_its_view():
    views = Views.read({"v": {**WHOLE, "include": ["messages"]}, "w": {"maxItems": 3}})

    def deeper(paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
        return tuple(FieldPath(("in", *path.steps)) for path in paths)

    moved = views.each(deeper)
    assert moved.find("v").shaping.to_json() == {**WHOLE, "at": "in.messages.*"}
    assert moved.find("w") == views.find("w")
