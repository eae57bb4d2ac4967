"""Requests on the wire: what is read, and every way in which one is refused."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.path import FieldPath
from louver.core.projection.request import Projection
from louver.errors import InvalidProjection, ProjectionLimit


@pytest.mark.parametrize(
    "wire",
    [
        {"mode": "include", "fields": ["id", "user.login"]},
        {"mode": "exclude", "fields": ["body", "**.email"], "strict": True},
        {"mode": "view", "view": "minimal", "required": True, "schema": "none"},
        {"mode": "include", "fields": ["*"], "schema": "none"},
    ],
)
def test_the_canonical_wire_form_reads_back(wire: dict[str, Any]):
    """#1704, section 3."""
    assert Projection.from_wire(wire).to_wire() == wire


def test_equal_requests_have_equal_wire_forms():
    one = Projection.from_wire({"mode": "include", "fields": ["b", "a.c", "a", "`b`"], "strict": False})
    assert one == Projection(include=("a", "b"))
    assert one.with_options(schema="none").to_wire() == {**one.to_wire(), "schema": "none"}
    assert one.to_wire() == {"mode": "include", "fields": ["a", "b"]}
    assert Projection(exclude=["**.a", "b"]).to_wire() == {"mode": "exclude", "fields": ["b", "**.a"]}
    assert Projection(view="v", strict=True).to_wire() == {"mode": "view", "view": "v", "strict": True}
    assert one.with_fields((FieldPath(("c", "d")), FieldPath(("c",)))) == Projection(include=["c"])


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (None, "is an object"),
        ([], "is an object"),
        ("include", "is an object"),
        ({}, "'mode' is one of"),
        ({"mode": None, "fields": ["a"]}, "'mode' is one of"),
        ({"mode": ["include"], "fields": ["a"]}, "'mode' is one of"),
        ({"mode": "INCLUDE", "fields": ["a"]}, "not 'INCLUDE'"),
        ({"mode": "x" * 1000, "fields": ["a"]}, "'mode' is one of"),
        ({"mode": "include"}, "has a list of field paths"),
        ({"mode": "include", "fields": []}, "at least one field path"),
        ({"mode": "include", "fields": "id"}, "is a list of field paths"),
        ({"mode": "include", "fields": {"id": 1}}, "is a list of field paths"),
        ({"mode": "include", "fields": None}, "is a list of field paths"),
        ({"mode": "include", "fields": ["id", 7]}, "element 1 of 'fields' is not"),
        ({"mode": "include", "fields": [None]}, "element 0 of 'fields' is not"),
        ({"mode": "include", "fields": ["a..b"]}, "at offset 2"),
        ({"mode": "include", "fields": ["**.id"]}, "leaves fields out"),
        ({"mode": "include", "fields": ["a[?(@.b)]"]}, "behind '$.'"),
        ({"mode": "include", "fields": ["a[0:2]"]}, "behind '$.'"),
        ({"mode": "include", "fields": ["$.a.length()"]}, "at offset"),
        ({"mode": "include", "fields": ["`a"]}, "closing"),
        ({"mode": "include", "fields": ["a\0"]}, "NUL"),
        ({"mode": "include", "fields": ["\ud800"]}, "lone surrogate"),
        ({"mode": "include", "fields": ["a"], "view": "v"}, "'view' goes with mode 'view'"),
        ({"mode": "view", "view": "v", "fields": ["a"]}, "not both"),
        ({"mode": "view"}, "has the view's name"),
        ({"mode": "view", "view": ""}, "has the view's name"),
        ({"mode": "view", "view": 7}, "has the view's name"),
        ({"mode": "include", "fields": ["a"], "field": ["b"]}, "unknown key 'field'"),
        ({"mode": "include", "fields": ["a"], 7: 1}, "unknown key '7'"),
        ({"mode": "include", "fields": ["a"], "strict": 1}, "'strict' is true or false"),
        ({"mode": "include", "fields": ["a"], "required": None}, "'required' is true or false"),
        ({"mode": "include", "fields": ["a"], "schema": "full"}, "'schema' is one of"),
        ({"mode": "include", "fields": ["a"], "schema": []}, "'schema' is one of"),
        ({"mode": "include", "fields": ["a"], "schema": None}, "'schema' is one of"),
    ],
)
def test_a_request_of_another_form_is_refused(wire: Any, reason: str):
    """PRIVACY.md, "Hostile inputs", Projection: the answer is exact."""
    with pytest.raises(InvalidProjection) as refused:
        Projection.from_wire(wire)
    error = refused.value.to_json()
    assert reason in error["message"]
    assert error["code"] == "INVALID_PROJECTION"
    error["message"].encode()
    assert len(error["message"]) < 500


@pytest.mark.parametrize("fields", [["a"] * 257, ["a" * 513], ["a" + ".a" * 32]])
def test_a_request_over_a_bound_is_refused_with_the_bound(fields: list[str]):
    """PRIVACY.md, "Hostile inputs": 257 paths, a 513-character path, 33 segments."""
    with pytest.raises(ProjectionLimit) as refused:
        Projection.from_wire({"mode": "include", "fields": fields})
    assert refused.value.to_json()["code"] == "PROJECTION_LIMIT"
    assert refused.value.to_json()["limit"] in (256, 512, 32)


def test_as_many_paths_as_are_allowed_are_read():
    assert len(Projection.from_wire({"mode": "include", "fields": [f"a{n}" for n in range(256)]}).fields) == 256


def test_what_is_refused_on_the_wire_is_refused_in_python():
    several: dict[str, Any]
    for several in ({}, {"include": ["a"], "view": "v"}):
        with pytest.raises(InvalidProjection, match="has one of 'include', 'exclude' and 'view'"):
            Projection(**several)
    with pytest.raises(InvalidProjection, match="is a list of field paths"):
        Projection(include="name")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidProjection):
        Projection(include=[])
    with pytest.raises(InvalidProjection):
        Projection(include=["**.a"])
    with pytest.raises(InvalidProjection):
        Projection(exclude=["a"], schema="all")  # pyright: ignore[reportArgumentType]
