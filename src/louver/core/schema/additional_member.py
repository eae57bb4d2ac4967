"""One more optional member, admitted at the root of a closed schema, also in `allOf`, in `anyOf` and behind `$ref`.

{"type": "object", "properties": {"id": {}}, "additionalProperties": false}
-> {"type": "object", "properties": {"id": {}, "louver": {...}}, "additionalProperties": false}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, members

if TYPE_CHECKING:
    from louver.core.json import Schema

_DEFINITIONS = "#/$defs/"


def admit(schema: dict[str, Any], name: str, member: Schema) -> dict[str, Any]:
    """The schema with a member admitted at its root, unless it knows the name; `schema` is one that `relax` wrote."""
    admitting = _Admitting(members(schema.get("$defs")), name, member)
    admitted = admitting.at(schema)
    return {**admitted, "$defs": {**schema["$defs"], **admitting.definitions}} if admitting.definitions else admitted


class _Admitting:
    def __init__(self, definitions: dict[str, Any], name: str, member: Schema) -> None:
        self.definitions: dict[str, Any] = {}
        self._before = definitions
        self._name = name
        self._member = member

    def at(self, part: Any) -> Any:
        if not is_object(part):
            return part
        admitted = dict(part)
        if part.get("additionalProperties", True) is not True:
            admitted["properties"] = {self._name: self._member, **members(part.get("properties"))}
        if isinstance(part.get("maxProperties"), int):
            admitted["maxProperties"] = part["maxProperties"] + 1
        for keyword in ("allOf", "anyOf"):
            if is_array(part.get(keyword)):
                admitted[keyword] = [self.at(each) for each in part[keyword]]
        target: object = part.get("$ref")
        if isinstance(target, str) and target.startswith(_DEFINITIONS):
            self._admit_definition(target.removeprefix(_DEFINITIONS))
        return admitted

    def _admit_definition(self, key: str) -> None:
        if key in self._before and key not in self.definitions:
            self.definitions[key] = self._before[key]
            self.definitions[key] = self.at(self._before[key])
