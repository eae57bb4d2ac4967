"""Each rule of shaping made wrong once: the laws must see it.

As in `test_mutants.py`: a mutant replaces a rule by the one that one would write first. With the true
rule the example satisfies every law; with the mutant it breaks the law that is named.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fuzz.laws import Subject
from fuzz.shapings import Shaped
from louver.core.project import project
from louver.core.schema import carry_over, combine, keywords, type_bounds
from louver.core.shaping import select, selected_schema, shorten, shortened_schema
from louver.core.shaping.options import Shaping
from louver.core.shaping.shorten import Shortening
from louver.core.shaping.shortened_schema import IN_PLACE, OWN, ShortenedPlace
from strategies import JUDGE

if TYPE_CHECKING:
    from collections.abc import Callable

    Mutant = tuple[Callable[[pytest.MonkeyPatch], None], Any, Any, dict[str, Any]]
    """How a rule is made wrong; and a schema, a value and a shaping that show it."""


def broken(schema: Any, value: Any, shaping: dict[str, Any]) -> set[str]:
    subject = Subject(schema, "2020-12", JUDGE)
    assert subject.valid is not None
    assert subject.valid(value)
    return set(Shaped(subject, Shaping.read("v", shaping)).broken(value))


def replaced(target: Any, name: str, other: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant in which a function or a table is another."""
    return lambda monkeypatch: monkeypatch.setattr(target, name, other)


def own(name: str, rule: Callable[[ShortenedPlace], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant that has another rule for the keywords of one rule."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        others = tuple(other for other in OWN if other.__name__ != name)
        assert len(others) == len(OWN) - 1
        monkeypatch.setattr(shortened_schema, "OWN", (*others, rule))

    return patch


def ruled(name: str, *words: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant in which a rule keeps its keywords as they are."""
    return own(name, lambda here: here.kept(*words))


def in_place(name: str, rule: Callable[[ShortenedPlace], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant that has another rule for other schemas of the same place."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        others = tuple(other for other in IN_PLACE if other.__name__ != name)
        assert len(others) == len(IN_PLACE) - 1
        monkeypatch.setattr(shortened_schema, "IN_PLACE", (*others, rule))

    return patch


def _mapped(keyword: str) -> Callable[[ShortenedPlace], Any]:
    return lambda here: [
        {keyword: [here.in_place(part, "") for part in here.place.below(keyword)]}
        for _ in here.place.below(keyword)[:1]
    ]


def _negated(here: ShortenedPlace) -> Any:
    return [{"not": here.in_place(part, "")} for part in here.place.below("not")]


def _unpaired(here: ShortenedPlace) -> Any:
    words = ("if", "then", "else")
    return [{word: here.in_place(part, "") for word in words for part in here.place.below(word)}]


def _elements_without_null(here: ShortenedPlace) -> Any:
    below = here.place.below("items")
    return {"items": here.walk.at(below[0], type_bounds.NUMBER)} if below else {}


TWO_TEXTS = {"maxString": 2}
TWO_ITEMS = {"maxItems": 2}
NO_NULLS = {"dropNulls": True}
FROM = {"select": {"from": "author.email"}}

UNSOUND: dict[str, Mutant] = {
    "minLength kept": (ruled("_texts", "minLength"), {"minLength": 3}, "abc", TWO_TEXTS),
    "pattern kept": (ruled("_texts", "pattern"), {"pattern": "c$"}, "abc", TWO_TEXTS),
    "text enum kept": (ruled("_values", "enum"), {"enum": ["abc"]}, "abc", TWO_TEXTS),
    "const kept": (ruled("_values", "const"), {"const": {"a": None}}, {"a": None}, NO_NULLS),
    "minItems kept": (ruled("_lengths", "minItems"), {"minItems": 3}, [1, 2, 3], TWO_ITEMS),
    "contains kept": (ruled("_lengths", "contains"), {"contains": {"const": 3}}, [1, 2, 3], TWO_ITEMS),
    "maxContains kept": (
        ruled("_lengths", "contains", "maxContains"),
        {"contains": {"maxLength": 1}, "maxContains": 1},
        ["a", "bcd"],
        {"maxString": 1},
    ),
    "uniqueItems kept": (ruled("_unique", "uniqueItems"), {"uniqueItems": True}, ["abc", "abd"], TWO_TEXTS),
    "uniqueItems kept for arrays that are cut": (
        ruled("_unique", "uniqueItems"),
        {"uniqueItems": True},
        [[1, 2, 3], [1, 2, 4]],
        TWO_ITEMS,
    ),
    "required kept": (ruled("_required", "required"), {"required": ["a"]}, {"a": None}, NO_NULLS),
    "dependentRequired kept": (
        ruled("_dependents", "dependentRequired"),
        {"dependentRequired": {"a": ["b"]}},
        {"a": 1, "b": None},
        NO_NULLS,
    ),
    "minProperties kept": (ruled("_member_counts", "minProperties"), {"minProperties": 1}, {"a": None}, NO_NULLS),
    "members kept": (
        ruled("_members", "properties"),
        {"properties": {"a": {"pattern": "c$"}}},
        {"a": "abc"},
        TWO_TEXTS,
    ),
    "elements kept": (ruled("_elements", "items"), {"items": {"pattern": "c$"}}, ["abc"], TWO_TEXTS),
    "oneOf kept": (
        in_place("_branches", _mapped("oneOf")),
        {"oneOf": [{"maxLength": 2}, {"pattern": "^a"}]},
        "abc",
        TWO_TEXTS,
    ),
    "not kept": (in_place("_all_of", _negated), {"not": {"maxLength": 2}}, "abc", TWO_TEXTS),
    "if kept": (
        in_place("_conditional", _unpaired),
        {"if": {"maxLength": 2}, "then": {"type": "number"}, "else": True},
        "abc",
        TWO_TEXTS,
    ),
    "null on the way forgotten": (
        replaced(selected_schema, "or_null", lambda schema: schema),
        {"properties": {"author": {"type": ["object", "null"], "properties": {"email": {"type": "string"}}}}},
        {"author": None},
        FROM,
    ),
    "null is added beside what refuses it": (
        replaced(combine, "_SAY_OF_NULL", ("$ref", "allOf", "anyOf", "enum", "const")),
        {
            "properties": {
                "author": {
                    "type": ["object", "null"],
                    "properties": {"email": {"type": "string", "not": {"maxLength": 0}}},
                }
            }
        },
        {"author": None},
        FROM,
    ),
    "a path is sure if its first name is required": (
        replaced(
            selected_schema._Selection, "_is_sure_in_object", lambda self, place, steps: "required" in place.words
        ),
        {"required": ["author"], "properties": {"author": {"type": "object"}}},
        {"author": {}},
        FROM,
    ),
    "branches said all at once": (
        replaced(selected_schema, "either", selected_schema.both),
        {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "number"}}}]},
        {"a": 1},
        {"select": {"b": "a"}},
    ),
    "required above the place kept": (
        replaced(keywords.Here, "survives", lambda self, name: True),
        {"required": ["author"]},
        {"author": "Ann"},
        {"select": {"from": "email"}, "at": "author"},
    ),
    "minProperties above the place kept": (
        replaced(keywords.Here, "survives", lambda self, name: True),
        {"minProperties": 1},
        {"author": "Ann"},
        {"select": {"from": "email"}, "at": "author"},
    ),
    "constants above the place projected": (
        replaced(selected_schema._Selection, "left", lambda self, value, mask: project(value, mask)),
        {"const": {"author": {"email": "a@b.c"}}},
        {"author": {"email": "a@b.c"}},
        {"select": {"from": "email"}, "at": "author"},
    ),
    "a cut text ends in more than is counted": (
        replaced(shorten, "ELLIPSIS", "..."),
        {"type": "string"},
        "abc",
        TWO_TEXTS,
    ),
    "elements lose null": (
        own("_elements", _elements_without_null),
        {"items": {"type": ["null", "number"]}},
        [None],
        NO_NULLS,
    ),
    "a formatted text keeps its pattern": (
        replaced(selected_schema, "Shortened", lambda by, tools: SimpleNamespace(at=tools.copy)),
        {"properties": {"at": {"pattern": "Z$"}}},
        {"at": "2025-01-05T14:32:05Z"},
        {"select": {"on": {"path": "at", "format": "date"}}},
    ),
    "a format leaves less than it says": (
        replaced(Shortening, "to_format", lambda written: Shortening(written.write, 11, enters_objects=False)),
        {"properties": {"at": {"minLength": 11}}},
        {"at": "2025-01-05T14:32:05Z"},
        {"select": {"on": {"path": "at", "format": "date"}}},
    ),
}
OTHERS: dict[str, tuple[str, Mutant]] = {
    "selected objects stay open": (
        "loose",
        (
            replaced(selected_schema, "_closed", lambda kinds, properties, required: {"properties": properties}),
            {"properties": {"a": True}},
            {"a": 1},
            {"select": {"b": "a"}},
        ),
    ),
    "elements of which nothing is said stay open": (
        "loose",
        (
            replaced(selected_schema._Selection, "shape", lambda self, mask: True),
            {"type": "array"},
            [{"a": 1}],
            {"select": {"b": "a"}},
        ),
    ),
    "the elements of an array on the way are taken whole": (
        "reads",
        (
            replaced(select, "_found_in", lambda element, *_: element),
            True,
            {"a": [{"b": 1, "c": 1}]},
            {"select": {"b": "a.b"}},
        ),
    ),
    "annotations kept": (
        "form",
        (
            replaced(carry_over, "_VALUES", carry_over._VALUES | {"title"}),
            {"properties": {"a": {"title": "secret"}}},
            {"a": 1},
            {"select": {"b": "a"}},
        ),
    ),
    "a text is cut that was cut already": (
        "again",
        (
            replaced(shorten, "_cut_to", lambda most: lambda text: text[: len(text) // 2]),
            True,
            "abcd",
            TWO_TEXTS,
        ),
    ),
}


@pytest.mark.parametrize(
    ("law", "mutant"),
    [
        *(pytest.param("unsound", mutant, id=name) for name, mutant in UNSOUND.items()),
        *(pytest.param(law, mutant, id=name) for name, (law, mutant) in OTHERS.items()),
    ],
)
def test_the_laws_see_a_wrong_rule_of_shaping(law: str, mutant: Any, monkeypatch: pytest.MonkeyPatch):
    """DERIVATION.md: every rule has a mutant that the tests kill."""
    patch, schema, value, shaping = mutant
    assert broken(schema, value, shaping) == set()
    patch(monkeypatch)
    assert law in broken(schema, value, shaping)
