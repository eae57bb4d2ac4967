"""Something else instead of a value, and its schema."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.mask import ALL, Mask
from louver.core.policy.masking import HIDDEN, hidden, hide

STANDS: Any = {"const": "*"}


def put(_value: Any) -> str:
    return "*"


def at(**children: Mask) -> Mask:
    mask = Mask(exclude=True)
    mask.children, mask.other, mask.elem = dict(children), ALL, mask
    return mask


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"a": 1, "b": 2}, {"a": "*", "b": 2}),
        ([{"a": {"a": 1}}, 3, None], [{"a": "*"}, 3, None]),
        ({"a": None, "b": []}, {"a": "*", "b": []}),
        ("a", "a"),
        ([], []),
    ],
)
def test_what_is_hidden_stays_as_something_else(value: Any, left: Any):
    """PRIVACY.md, "Policy file": a constant instead of what it is."""
    assert hide(value, at(a=HIDDEN), put) == left


def test_the_value_itself_is_not_changed():
    value = {"a": [1], "b": [2]}
    left = hide(value, at(a=HIDDEN), put)
    assert value == {"a": [1], "b": [2]}
    assert left is not value


def test_the_depth_of_a_value_does_not_matter():
    """Ours: nothing here calls itself."""
    value: Any = {"a": 1}
    for _ in range(20_000):
        value = [value]
    left = hide(value, at(a=HIDDEN), put)
    for _ in range(20_000):
        (left,) = left
    assert left == {"a": "*"}


def test_the_root_may_be_hidden():
    assert hide({"a": 1}, HIDDEN, put) == "*"
    assert hidden({"type": "object"}, HIDDEN, STANDS, put).schema == STANDS


def test_the_schema_says_what_stands_there():
    """PRIVACY.md: masking changes the derived schema with it."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "enum": [7]}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "const": {"a": 7, "b": 1},
    }
    derived = hidden(schema, at(a=HIDDEN), STANDS, put)
    assert derived.precision == "exact"
    assert derived.schema == {
        "type": "object",
        "properties": {"a": STANDS, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "const": {"a": "*", "b": 1},
    }


def test_a_schema_that_cannot_be_derived_gets_the_shape():
    """DERIVATION.md: the mask alone says what it is."""
    derived = hidden({"$schema": "https://example.com/own", "type": "object"}, at(a=HIDDEN), STANDS, put)
    assert derived.precision == "shape"
    node = {"properties": {"a": STANDS}, "items": {"$ref": "#/$defs/1"}}
    assert derived.schema == {"$ref": "#/$defs/1", "$defs": {"1": node}}
