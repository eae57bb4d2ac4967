"""Each rule made wrong once: the laws must see it.

A mutant replaces the rule of some keywords by the rule that one would write
first. With the true rule the example satisfies every law; with the mutant it
breaks the law that is named.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fuzz.laws import Subject
from fuzz.requests import Request
from louver.core.schema import definitions, derive, keywords, patterns, relax
from louver.core.schema.carry_over import CarryOver
from louver.core.schema.keywords import RULES, Here
from strategies import JUDGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.schemas import Draft

    Mutant = tuple[Callable[[pytest.MonkeyPatch], None], Any, Any, str, tuple[str, ...]]
    """How a rule is made wrong; and a schema, a value, a mode and fields that show it."""

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def broken(schema: Any, value: Any, mode: Any, *fields: str) -> set[str]:
    draft: Draft = "7" if isinstance(schema, dict) and schema.get("$schema") == DRAFT_7 else "2020-12"
    subject = Subject(schema, draft, JUDGE)
    assert subject.valid is not None
    assert subject.valid(value)
    asked, found = subject.asked(Request(mode, fields), Random(0))
    return {*found, *subject.own(), *subject.broken(asked, value, Random(0))}


def ruled(keyword: str, rule: Callable[[Here], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant that has another rule for `keyword`."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        others = tuple((words, other) for words, other in RULES if keyword not in words)
        monkeypatch.setattr(derive, "RULES", (*others, (frozenset({keyword}), rule)))

    return patch


def replaced(target: Any, name: str, other: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """A mutant in which a function or a table is another."""
    return lambda monkeypatch: monkeypatch.setattr(target, name, other)


def as_it_is(*words: str) -> Callable[[Here], Any]:
    return lambda here: {word: here.words[word] for word in words if word in here.words}


def mapped(keyword: str) -> Callable[[Here], Any]:
    def rule(here: Here) -> Any:
        parts = [here.walk.at(part, here.mask, closes=True) for part in here.place.below(keyword)]
        return {keyword: parts[0] if keyword == "not" else parts}

    return rule


def _unpaired(here: Here) -> Any:
    """If, then and else each projected by itself."""
    return {
        word: here.walk.at(part, here.mask, closes=False)
        for word in ("if", "then", "else")
        for part in here.place.below(word)
    }


def _elements_like_members(here: Here) -> Any:
    below = here.place.below("items")
    return {"items": here.walk.at(below[0], here.mask.elem, here.closes)} if below else {}


def _all_dependents(here: Here) -> Any:
    return {"dependentRequired": here.words["dependentRequired"]}


def _mapped_counts(here: Here) -> Any:
    out = {"contains": here.walk.element(here.place.below("contains")[0], here.mask.elem, closes=False)}
    return out | as_it_is("maxContains", "minContains")(here)


UNSOUND: dict[str, Mutant] = {
    "oneOf kept": (
        ruled("oneOf", mapped("oneOf")),
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"a": 1, "c": 1},
        "include",
        ("c",),
    ),
    "uniqueItems kept": (
        ruled("uniqueItems", as_it_is("uniqueItems")),
        {"uniqueItems": True},
        [{"a": 1}, {"a": 2}],
        "exclude",
        ("a",),
    ),
    "maxContains kept": (
        ruled("contains", _mapped_counts),
        {"contains": {"required": ["a"]}, "maxContains": 1},
        [{"a": 1}, {}],
        "include",
        ("b",),
    ),
    "not kept": (
        ruled("not", mapped("not")),
        {"not": {"required": ["a"]}},
        {"b": 1},
        "include",
        ("b",),
    ),
    "if kept": (
        ruled("if", _unpaired),
        {"if": {"required": ["a"]}, "then": {"type": "array"}},
        {"b": 1},
        "include",
        ("b",),
    ),
    "required kept": (
        ruled("required", as_it_is("required")),
        {"required": ["a"]},
        {"a": 1},
        "exclude",
        ("a",),
    ),
    "required kept for what can be a scalar": (
        replaced(Here, "survives", lambda here, name: here.mask.child(name) is not keywords.NONE),
        {"required": ["a"]},
        {"a": 1},
        "include",
        ("a.b",),
    ),
    "dependentRequired kept": (
        ruled("dependentRequired", _all_dependents),
        {"dependentRequired": {"a": ["b"]}},
        {"a": 1, "b": 1},
        "include",
        ("a",),
    ),
    "minProperties kept": (
        ruled("minProperties", as_it_is("minProperties")),
        {"minProperties": 1},
        {"a": 1},
        "exclude",
        ("a",),
    ),
    "minItems kept": (
        ruled("minItems", as_it_is("minItems")),
        {"properties": {"a": {"minItems": 1}}},
        {"a": [1]},
        "exclude",
        ("a[*]",),
    ),
    "constants kept whole": (
        ruled("const", as_it_is("const", "enum")),
        {"const": {"a": 1, "b": 2}},
        {"a": 1, "b": 2},
        "include",
        ("a",),
    ),
    "elements like members": (
        ruled("items", _elements_like_members),
        {"items": {"type": ["string", "object"]}},
        ["x"],
        "include",
        ("a",),
    ),
    "patterns not shielded": (
        replaced(keywords, "shielded", lambda pattern, names: pattern),
        {"patternProperties": {"^a": {"type": "object"}}},
        {"a": {"y": 1}},
        "include",
        ("*.x", "a"),
    ),
    "patterns decided that are not plain": (
        replaced(patterns.Patterns, "matches", lambda self, pattern, name: False),
        {"patternProperties": {"(?=a)": {"type": "object"}}, "additionalProperties": {"type": "string"}},
        {"a": {"x": {}}},
        "include",
        ("a.x",),
    ),
    "everything may be written in place": (
        replaced(definitions, "COMBINING", frozenset({"if", "then", "else"})),
        {"properties": {"a": {"$ref": "#/$defs/d", "then": False}}, "$defs": {"d": {"if": True}}},
        {"a": 1},
        "include",
        ("a",),
    ),
    "formats under not": (
        replaced(CarryOver, "is_exact", lambda self, place: True),
        {"$schema": DRAFT_7, "properties": {"a": {"not": {"format": "date"}}}},
        {"a": "x"},
        "include",
        ("a",),
    ),
}
LOOSE: dict[str, Mutant] = {
    "nothing closes": (
        replaced(derive, "duty", lambda words, resolves: "nobody"),
        {"properties": {"a": True}},
        {"a": 1, "b": 1},
        "include",
        ("a",),
    ),
    "all parts of a branch stand beside what is said here": (
        replaced(derive, "IN_PLACE", ()),
        {"allOf": [{"prefixItems": [True]}], "items": {}},
        [5],
        "include",
        ("a",),
    ),
    "type kept": (
        ruled("type", as_it_is("type")),
        {"properties": {"a": {"type": ["string", "object"]}}},
        {"a": "x"},
        "include",
        ("a.b",),
    ),
    "a left-out name only falls under additionalProperties": (
        replaced(patterns.Patterns, "matches", lambda self, pattern, name: False),
        {"patternProperties": {"^a": True}, "additionalProperties": False},
        {"a": 1},
        "exclude",
        ("a",),
    ),
}
RELAX: dict[str, Mutant] = {
    f"relax keeps {word}": (
        replaced(relax, "_STAYS", relax._STAYS | {word}),
        {word: argument},
        value,
        mode,
        fields,
    )
    for word, argument, value, mode, fields in (
        ("required", ["a"], {"a": 1}, "exclude", ("a",)),
        ("minProperties", 1, {"a": 1}, "exclude", ("a",)),
        ("minItems", 1, [1], "exclude", ("*",)),
        ("uniqueItems", True, [{"a": 1}, {"a": 2}], "exclude", ("a",)),
        ("dependentRequired", {"a": ["b"]}, {"a": 1, "b": 1}, "include", ("a",)),
        ("const", {"a": 1}, {"a": 1}, "exclude", ("a",)),
        ("contains", {"required": ["a"]}, [{"a": 1}], "exclude", ("a",)),
    )
}


@pytest.mark.parametrize(
    ("law", "mutant"),
    [
        *(pytest.param("unsound", mutant, id=name) for name, mutant in UNSOUND.items()),
        *(pytest.param("loose", mutant, id=name) for name, mutant in LOOSE.items()),
        *(pytest.param("relax", mutant, id=name) for name, mutant in RELAX.items()),
    ],
)
def test_the_laws_see_a_wrong_rule(law: str, mutant: Any, monkeypatch: pytest.MonkeyPatch):
    """DERIVATION.md: every rule has a mutant that the tests kill."""
    patch, schema, value, mode, fields = mutant
    assert broken(schema, value, mode, *fields) == set()
    patch(monkeypatch)
    assert law in broken(schema, value, mode, *fields)
