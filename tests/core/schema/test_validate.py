"""Whether a value satisfies a schema."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from louver.core.schema.validate import validator, without_slow_patterns

SLOW = "(a+)+$"
HUGE = "^(a{1,500}){1,500}$"
"""A pattern that no engine takes."""


def test_a_value_satisfies_a_schema_or_not():
    accepts = validator({"type": "object", "required": ["a"], "properties": {"a": {"minimum": 1}}})
    assert accepts.is_valid({"a": 1})
    assert not accepts.is_valid({"a": 0})
    assert not accepts.is_valid({})


def test_formats_are_not_asserted():
    """2020-12 validation, 7.2.1: an annotation by default."""
    assert validator({"format": "date"}).is_valid("x")


@pytest.mark.parametrize("schema", [{"$ref": "https://elsewhere.example/schema"}, {"$ref": "#/nowhere"}, {"type": 7}])
def test_a_schema_that_cannot_be_applied_admits_nothing(schema: Any):
    """Nothing is ever fetched."""
    assert not validator(schema).is_valid("x")


def test_a_value_that_is_no_json_is_not_admitted():
    assert not validator({"type": "object"}).is_valid({1, 2})


def test_shielded_patterns_are_applied():
    schema = {"patternProperties": {r"^(?!(?:ab)(?![\s\S]))[\s\S]*?(?:^a)": {"type": "string"}}}
    assert validator(schema).is_valid({"ab": 1, "ac": "x"})
    assert not validator(schema).is_valid({"ac": 1})


def test_a_pattern_that_could_stall_does_not():
    """PRIVACY.md, "Hostile inputs": a ReDoS pattern."""
    hostile = "a" * 40 + "!"
    validator({"pattern": SLOW}).is_valid(hostile)
    validator({"pattern": "(?=a)" + SLOW}).is_valid(hostile)
    validator({"patternProperties": {SLOW: False}}).is_valid({hostile: 1})


def test_elements_are_unique_as_json_says():
    accepts = validator({"uniqueItems": True})
    assert accepts.is_valid([1, True, "1", [1], {"a": 1}, None, 0, False])
    assert not accepts.is_valid([1, 1.0])
    assert not accepts.is_valid([{"a": [1], "b": 2}, {"b": 2.0, "a": [1.0]}])
    assert accepts.is_valid("aa")
    assert validator({"uniqueItems": False}).is_valid([1, 1])
    assert accepts.is_valid([[number] for number in range(20_000)])


def test_where_a_slow_pattern_goes_what_depends_on_it_goes_too():
    schema = {
        "pattern": SLOW,
        "items": {"pattern": SLOW},
        "allOf": [{"pattern": "^a"}, True],
        "properties": {"a": {"pattern": SLOW}},
        "patternProperties": {SLOW: True, "^b": True},
        "additionalProperties": False,
        "unevaluatedProperties": False,
        "required": ["a"],
        "$defs": {"1": {"pattern": SLOW, "patternProperties": {"^a": False}, "additionalProperties": False}},
    }
    assert without_slow_patterns(schema) == {
        "items": {},
        "allOf": [{"pattern": "^a"}, True],
        "properties": {"a": {}},
        "required": ["a"],
        "$defs": {"1": {"patternProperties": {"^a": False}, "additionalProperties": False}},
    }
    fine = {"pattern": "^a", "patternProperties": {"^b": False}, "unevaluatedProperties": False}
    assert without_slow_patterns(fine) is fine
    assert without_slow_patterns(True) is True


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"not": {"pattern": HUGE}}, "b"),
        ({"if": {"pattern": HUGE}, "then": False}, "c"),
        ({"oneOf": [{"pattern": HUGE}, {"const": "x"}]}, "x"),
        ({"contains": {"pattern": HUGE}, "maxContains": 1}, ["a", "b", "c"]),
    ],
)
def test_a_pattern_that_is_not_run_never_makes_a_schema_stricter(schema, value):
    """Ours: what the pattern could have made looser above it goes with it."""
    assert validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [(r"^\W$", "é"), (r"^\S$", "é"), (r"^[^\d]$", "٣"), (HUGE, "aa")],
)
def test_a_valid_value_is_not_refused_for_a_pattern(pattern: str, value: str):
    """Ours: ECMA 262 is what patterns mean; one that cannot be run is not run."""
    assert validator({"pattern": pattern}).is_valid(value)
    assert validator({"patternProperties": {pattern: {"type": "integer"}}}).is_valid({value: 1})


def test_a_pattern_with_an_escaped_backslash_is_a_slow_one():
    """Ours: what stands behind an escaped backslash is repeated, not escaped."""
    assert without_slow_patterns({"pattern": r"\\*x"}) == {}


def test_what_divides_many_numbers_is_not_quick():
    """Ours: it divides in Python, so large values are for a thread."""
    assert not validator({"items": {"properties": {"price": {"multipleOf": 0.01}}}}).is_quick
    assert validator({"items": {"enum": [{"multipleOf": 1}]}}).is_quick


@pytest.mark.parametrize("divisor", [0.01, 0.07, 1, 3, 2.0, 1.5, 1e-10, 5e-324, 1e308, 1e22, 10**400])
def test_numbers_divide_as_they_are_written(divisor: float):
    """2020-12 validation, 6.2.1: 19.99 is a multiple of 0.01, though the nearest floats are none of each other."""
    accepts = validator({"multipleOf": divisor})
    small, large = (19.99, 0.07, -0.07, 0.3, 0.1 + 0.2, -0.0, 3.0, 5e-324), (1e22, 1e23, 1e308, 10**30, 10**400)
    for value in (*small, *large, 0, 7, "x", True):
        is_number = not isinstance(value, str | bool)
        assert accepts.is_valid(value) is (not is_number or Fraction(repr(value)) % Fraction(repr(divisor)) == 0), value
    assert accepts.is_valid(divisor)


@pytest.mark.parametrize("divisor", [0, 0.0, "1"])
def test_what_divides_nothing_admits_nothing(divisor: Any):
    assert not validator({"multipleOf": divisor}).is_valid(1)


@pytest.mark.parametrize(
    ("pattern", "value", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("^$", "\n", False),
        (r"^\d$", "1\n", False),
        ("^[$]$", "$\n", False),
        ("^[$]", "$\n", True),
        (r"^[\]$]", "$\n", True),
        (r"^a\$", "a$\n", True),
        (r"^a\\$", "a\\\n", False),
    ],
)
def test_the_end_of_a_pattern_is_that_of_the_text(pattern: str, value: str, found: bool):
    """ECMA 262, 22.2.2.4: `$` is not before a last newline."""
    assert validator({"pattern": pattern}).is_valid(value) is found
    assert validator({"patternProperties": {pattern: False}}).is_valid({value: 1}) is not found
    closed = {"patternProperties": {pattern: True}, "additionalProperties": False}
    assert validator(closed).is_valid({value: 1}) is found


@pytest.mark.parametrize(
    "patterns", [[r"^\d$"], ["^x-", r"^\d$"], [r"^\w$", r"^\d$"], [""], ["^x-", ""], ["", r"^\d$"]]
)
def test_a_name_that_one_of_the_patterns_takes_is_not_additional(patterns: list[str]):
    """2020-12 core, 10.3.2.3: however many patterns there are, and whatever they are."""
    accepts = validator({"patternProperties": dict.fromkeys(patterns, True), "additionalProperties": False})
    assert accepts.is_valid({"1": 1})
    assert accepts.is_valid({"..": 1}) is ("" in patterns)


@pytest.mark.parametrize("pattern", [r"^\d$", "^1$"])
def test_what_stands_beside_a_pattern_that_cannot_be_run_is_applied(pattern: str):
    """Ours: and a valid value is not refused."""
    accepts = validator({"properties": {"a": {"pattern": HUGE}, "b": {"pattern": pattern}}})
    assert accepts.is_valid({"a": "aa", "b": "1"})
    assert not accepts.is_valid({"b": "x"})


def test_mismatches_name_the_place_and_the_keyword_and_no_value():
    of_id = {"type": "object", "properties": {"id": {"type": "integer"}, "code": {"pattern": "^a"}}}
    accepts = validator({"type": "array", "items": of_id, "maxItems": 1})
    found = accepts.mismatches([{"id": "secret", "code": "secret"}, {}])
    assert {(each.names, each.keyword) for each in found} == {
        (("id",), "type"),
        (("code",), "pattern"),
        ((), "maxItems"),
    }
    assert all("secret" not in each.reason for each in found)
    assert accepts.mismatches([]) == []


@pytest.mark.parametrize(("schema", "value"), [({"type": 7}, 1), ({"type": "object"}, {1, 2})])
def test_what_cannot_be_judged_has_no_mismatches(schema: Any, value: Any):
    assert validator(schema).mismatches(value) == []


def test_a_schema_that_admits_nothing_is_a_mismatch_of_no_keyword():
    (found,) = validator(False).mismatches(1)
    assert (found.names, found.keyword) == ((), "")
