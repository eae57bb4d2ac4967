"""One more optional member, admitted at the root of closed schemas."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.schema.relax import admit

NOTES = {"type": "string"}
CLOSED = {"properties": {"id": {}}, "additionalProperties": False}
OPENED = {"properties": {"louver": NOTES, "id": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "admitted"),
    [
        ({"type": "object"}, {"type": "object"}),
        (CLOSED, OPENED),
        ({"maxProperties": 2}, {"maxProperties": 3}),
        ({"allOf": [CLOSED, True]}, {"allOf": [OPENED, True]}),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": CLOSED, "b": CLOSED}},
            {"$ref": "#/$defs/a", "$defs": {"a": OPENED, "b": CLOSED}},
        ),
        ({"$ref": "#/$defs/nowhere", "$defs": {"a": CLOSED}}, {"$ref": "#/$defs/nowhere", "$defs": {"a": CLOSED}}),
        # A definition that leads back to itself is opened once.
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {**CLOSED, "anyOf": [{"$ref": "#/$defs/a"}]}}},
            {"$ref": "#/$defs/a", "$defs": {"a": {**OPENED, "anyOf": [{"$ref": "#/$defs/a"}]}}},
        ),
        ({"$ref": "https://elsewhere.example/s"}, {"$ref": "https://elsewhere.example/s"}),
    ],
)
def test_a_member_is_admitted_where_a_part_that_applies_to_the_root_is_closed(
    schema: dict[str, Any], admitted: dict[str, Any]
):
    assert admit(schema, "louver", NOTES) == admitted
