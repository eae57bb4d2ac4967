"""Views: how they are read, joined and found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from louver.core.projection.view import View, Views
from louver.errors import InvalidView, UnknownView

if TYPE_CHECKING:
    from louver.core.paths.path import FieldPath


def texts(paths: tuple[FieldPath, ...]) -> list[str]:
    return [str(path) for path in paths]


def test_a_view_is_a_list_or_an_object_and_extends_another():
    """PROJECTION.md, "Views": `extends` adds the parent's paths of the same kind."""
    views = Views.read(
        {
            "minimal": ["name", "id"],
            "public": {"exclude": ["**.email"]},
            "contact": {"extends": "minimal", "include": ("email",), "exclude": ["email.x"]},
            "more": {"extends": "contact", "exclude": ["id.y"]},
        },
        always=["nextCursor"],
    )
    assert texts(views.find("minimal").include) == ["id", "name"]
    assert texts(views.find("public").exclude) == ["**.email"]
    assert texts(views.find("contact").include) == ["email", "id", "name"]
    assert texts(views.find("more").exclude) == ["email.x", "id.y"]
    assert texts(views.always) == ["nextCursor"]
    assert Views().named == {}


@pytest.mark.parametrize(
    ("view", "reason"),
    [
        ("id", "expected a list of field paths, or an object"),
        (7, "expected a list of field paths, or an object"),
        ({}, "not nothing"),
        ([], "at least one field path"),
        ({"include": []}, "at least one field path"),
        ({"exclude": []}, "at least one field path"),
        ({"fields": ["id"]}, "not 'fields'"),
        ({"include": "id"}, "is a list of field paths"),
        ({"include": None}, "is a list of field paths"),
        ({"include": [7]}, "each a string"),
        ({"include": ["a..b"]}, "at offset 2"),
        ({"include": ["**.a"]}, "leaves fields out"),
        ({"include": ["a" * 513]}, "at most 512"),
        ({"extends": 7}, "name of another view"),
        ({"extends": None}, "name of another view"),
        ({"extends": "none"}, "not a view of this tool"),
        ({"extends": "v"}, "extends itself: v -> v"),
    ],
)
def test_a_view_of_another_form_is_refused(view: Any, reason: str):
    """PROJECTION.md, "Views": cycles and unknown parents are errors."""
    with pytest.raises(InvalidView) as refused:
        Views.read({"v": view})
    assert reason in refused.value.message
    assert refused.value.to_json()["code"] == "INVALID_VIEW"


def test_a_circle_of_views_is_named():
    with pytest.raises(InvalidView, match="a -> b -> a"):
        Views.read({"a": {"extends": "b"}, "b": {"extends": "a"}})


def test_a_path_that_is_always_kept_is_read_like_an_include():
    with pytest.raises(InvalidView, match="'always'"):
        Views.read({}, always=["**.id"])


def test_of_two_views_of_one_name_the_later_counts_when_joined():
    joined = Views.read({"a": ["x"], "b": ["y"]}, ["p"]).joined(Views.read({"a": ["z"]}, ["p.q", "r"]))
    assert texts(joined.find("a").include) == ["z"]
    assert texts(joined.find("b").include) == ["y"]
    assert texts(joined.always) == ["p", "r"]


def test_a_view_that_does_not_exist_is_refused_with_those_that_do():
    views = Views({"b": View(), "a": View()})
    with pytest.raises(UnknownView) as refused:
        views.find("c")
    assert refused.value.to_json() == {
        "code": "UNKNOWN_VIEW",
        "message": "view 'c' is not a view of this tool: its views are 'a', 'b'",
        "view": "c",
        "views": ["a", "b"],
    }
    with pytest.raises(UnknownView, match="its views are none"):
        Views().find("c")


def test_a_long_chain_of_views_is_refused():
    """Ours: bounded, and an error like any other."""
    chain = {f"v{n}": {"extends": f"v{n + 1}"} for n in range(100)} | {"v100": ["id"]}
    with pytest.raises(InvalidView, match="more than 32 views in a row"):
        Views.read(chain)


def test_views_over_a_bound_are_refused_with_the_bound():
    """Ours: 256 views, of which 16 shape; one that extends a view that shapes does so too."""
    many = {f"v{n}": ["id"] for n in range(256)}
    assert len(Views.read(many).named) == 256
    with pytest.raises(InvalidView, match=r"^a tool has at most 256 views; these are 257$"):
        Views.read({**many, "more": ["id"]})
    shaping = {f"v{n}": {"dropNulls": True} for n in range(16)}
    assert len(Views.read({**shaping, "more": ["id"]}).named) == 17
    with pytest.raises(InvalidView, match=r"^a tool has at most 16 views that shape; these are 17$"):
        Views.read({**shaping, "more": {"extends": "v0", "include": ["id"]}})


def test_views_are_told_without_what_is_hidden():
    """PRIVACY.md, P7: a view that then keeps nothing, or lacks what it selects, is gone."""
    views = Views.read(
        {
            "both": ["id", "ssn"],
            "secret": ["ssn"],
            "public": {"exclude": ["ssn"]},
            "open": {"exclude": ["id", "ssn"]},
            "picked": {"include": ["id", "ssn"], "select": {"number": "ssn"}},
            "short": {"include": ["id"], "select": {"number": "id"}},
        },
        ["id", "ssn"],
    )
    left = views.without(lambda path: path.steps == ("ssn",))
    assert sorted(left.named) == ["both", "open", "short"]
    assert [str(path) for path in left.named["both"].include] == ["id"]
    assert [str(path) for path in left.named["open"].exclude] == ["id"]
    assert [str(path) for path in left.always] == ["id"]
