"""Names that people take for one another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.core.paths.mask import ALL, NONE, exclude_mask
from louver.core.paths.path import FieldPath
from louver.core.policy import name_variants
from louver.core.policy.name_variants import (
    MAX_KEPT_NAME,
    MAX_TWIN_PATHS,
    arguments_in,
    key_of,
    keyed,
    names_in,
    twinned,
    with_twins,
)
from louver.core.project import project
from louver.errors import ProjectionLimit

TWINS = [
    "SSN",
    "\uff53\uff53\uff4e",
    "s\u200bs\u200dn",
    "s\ufe0fsn",
    "s\u034fsn",
    "\u017fsn",
    "ss\U000e0041n",
    "\u2060ssn\ufeff",
    "\u202essn",
    "ssn\x00",
    "\x7fs\x08sn",
    "s\x85sn",
    "s\u2800sn",
    "s\u2065s\ufff8n",
    "ssn ",
    "\tssn\n",
    "\xa0ssn\u3000",
    "\u2003\u200b ssn\u1680",
]


def paths(*texts: str) -> tuple[FieldPath, ...]:
    return tuple(FieldPath.parse(text, deep=True) for text in texts)


@pytest.mark.parametrize("name", TWINS)
def test_a_name_in_other_forms_is_a_twin(name: str):
    """PRIVACY.md, P13: NFC, NFKC and casefold; what nobody sees, and white space around, are ours."""
    assert key_of(name) == "ssn"


@pytest.mark.parametrize(("length", "kept"), [(MAX_KEPT_NAME, 1), (MAX_KEPT_NAME + 1, 0)])
def test_long_names_are_not_kept(length: int, kept: int):
    """Ours: what is kept is bounded in bytes, however long the names are that a server makes up."""
    name_variants._kept.cache_clear()
    assert key_of("\u00c9" * length) == "\u00e9" * length
    assert name_variants._kept.cache_info().currsize == kept


def test_what_nobody_sees_keeps_no_letter_from_its_accent():
    """Ours."""
    assert key_of("e\u200d\u0301mail") == key_of("\u00e9mail") == key_of("E\u0301MAIL")


@pytest.mark.parametrize("name", ["ssn1", "s.sn", "s sn", "s\u3000sn", "ss", "", "\u0455sn"])
def test_another_name_is_none(name: str):
    """Ours: letters that only look alike, of another script, are other names."""
    assert key_of(name) != "ssn"


@given(st.text())
def test_a_key_is_its_own_key(name: str):
    """So that it does not matter how often it is made."""
    assert key_of(key_of(name)) == key_of(name)


@pytest.mark.parametrize("name", TWINS)
def test_a_value_loses_every_twin(name: str):
    """PRIVACY.md, P13."""
    mask = twinned(exclude_mask(keyed(paths("**.Ssn", "a.*.ID"))))
    value: Any = {name: 1, "x": [{name: 2, "y": 3}], "A": {"k": [{"id": 4, "z": 5}]}}
    assert project(value, mask) == {"x": [{"y": 3}], "A": {"k": [{"z": 5}]}}


def test_masks_that_are_no_tree_stay():
    assert twinned(ALL) is ALL
    assert twinned(NONE) is NONE


def test_a_path_becomes_one_for_each_twin_that_a_schema_has():
    found = with_twins(paths("user.ssn", "*.id"), {"User", "user", "SSN", "id"})
    assert list(map(str, found)) == ["User.SSN", "User.ssn", "user.SSN", "user.ssn", "*.id"]


def test_too_many_twins_are_refused():
    """Ours: they multiply with each step."""
    names = {"".join(each) for each in zip("aA" * 8, "bBbbBB" * 3, strict=False)} | {"AB", "ab", "aB", "Ab"}
    steps = ".".join(["ab"] * 30)
    with pytest.raises(ProjectionLimit, match=str(MAX_TWIN_PATHS)):
        with_twins(paths(steps), names)


def test_the_names_of_a_schema_are_found_wherever_they_stand():
    """PRIVACY.md, P6: properties, required, dependent*, in definitions and in values too."""
    schema = {
        "properties": {"a": {"items": [{"properties": {"b": True}}]}},
        "required": ["c", 7],
        "dependentRequired": {"d": ["e"]},
        "dependentSchemas": {"f": {"required": ["g"]}},
        "dependencies": {"h": ["i"], "j": {"properties": {"k": {}}}},
        "$defs": {"l": {"properties": {"m": {}}}},
        "enum": ["n", {"o": [{"p": 1}]}],
        "examples": [{"q": 1}],
    }
    assert names_in(schema) == set("abcdefghijkmopq")
    assert names_in(True) == set()
    assert names_in({"properties": [], "dependencies": 7, "required": 1}) == set()


def test_the_names_of_arguments_are_those_that_an_input_schema_takes():
    """PRIVACY.md, P7: what only an example, a default or a keyword of nobody's holds is no argument's name."""
    schema = {
        "properties": {"a": {"items": {"properties": {"b": True}}}, "examples": {"properties": {"c": {}}}},
        "required": ["d", 7],
        "dependentRequired": {"e": ["f"]},
        "dependentSchemas": {"g": {"required": ["h"]}},
        "dependencies": {"i": ["j"], "k": {"properties": {"l": {}}}},
        "$defs": {"x": {"properties": {"m": {}}}},
        "definitions": {"x": {"anyOf": [{"properties": {"n": {}}}]}},
        "items": [{"properties": {"o": {}}}],
        "enum": [{"x": 1, "properties": {"x": 1}}],
        "const": {"x": 1},
        "examples": [{"x": 1, "properties": {"x": 1}}],
        "default": {"x": 1},
        "x-more": {"properties": {"x": {}}},
    }
    assert arguments_in(schema) == {"examples", *"abcdefghijklmno"}
    assert arguments_in(True) == set()
    assert arguments_in({"properties": [], "dependencies": 7, "required": 1, "items": 7, "anyOf": {}}) == set()
