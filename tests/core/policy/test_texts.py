"""Room for a text in the schema of what is visible."""

from __future__ import annotations

import pytest

from louver.core.policy.redacted_schema import with_texts

TEXT = {"type": "string"}


def held(schema, **more):
    return {"type": "object", "properties": {"result": schema}, **more}


@pytest.mark.parametrize(
    ("source", "visible", "roomy"),
    [
        (held({"enum": ["a"]}), held({"enum": ["a"]}), held(TEXT)),
        (held({"type": ["string", "null"]}), held({"type": "null"}), held({"type": ["null", "string"]})),
        (held({}), held({"type": "array"}), held({"anyOf": [{"type": "array"}, TEXT]})),
        (held({}), held({"anyOf": [{"type": "array"}, TEXT]}), held({"anyOf": [{"type": "array"}, TEXT]})),
        (held({"type": "array"}), held({"type": "array"}), held({"type": "array"})),
        (held(TEXT, required=["id"]), held({"maxLength": 5}), held({"maxLength": 5})),
        (held(TEXT), {"type": "object"}, {"type": "object"}),
        (held(TEXT), False, False),
        ({"enum": ["a", None]}, {"enum": ["a", None]}, {"type": ["null", "string"]}),
        ({"$schema": "https://example.com/dialect", **held(TEXT)}, held({}), held({})),
    ],
)
def test_there_is_room_for_any_text_where_there_may_be_one(source, visible, roomy):
    """Ours: what a text is replaced by satisfies what is listed; elsewhere nothing is loosened."""
    assert with_texts(visible, source, ["result"]) == roomy
