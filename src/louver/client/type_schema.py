"""The JSON Schema of what a type reads: pydantic's own lacks other names, alias paths, and times as numbers.

mail: str = Field(validation_alias=AliasChoices("mail", "email"))        {"mail": ..., "email": ...}, none required
city: str = Field(validation_alias=AliasPath("address", "city"))         {"address": {"city": ...}}
first: int = Field(validation_alias=AliasPath("orders", 0, "id"))        {"orders": [{"id": ...}]}
at: datetime                                                             a text, or a number of seconds
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic.json_schema import GenerateJsonSchema

from louver.core.json import is_array, is_object

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaMode, JsonSchemaValue
    from pydantic_core import CoreSchema, core_schema

# In the schema of a field, until all fields are there: the places that the field is read from.
_WAYS: Final = "x-ways"


class CheckedLater(Exception):
    """The type is one that pydantic checks only during iteration."""


class Reads(GenerateJsonSchema):
    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        made = super().generate(schema, mode)
        _spread(made)
        return made

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonSchemaValue:
        return _marked(super().model_field_schema(schema), schema.get("validation_alias"))

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonSchemaValue:
        return _marked(super().dataclass_field_schema(schema), schema.get("validation_alias"))

    def typed_dict_field_schema(self, schema: core_schema.TypedDictField) -> JsonSchemaValue:
        return _marked(super().typed_dict_field_schema(schema), schema.get("validation_alias"))

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:
        raise CheckedLater

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return _or_number(super().datetime_schema(schema))

    def date_schema(self, schema: core_schema.DateSchema) -> JsonSchemaValue:
        return _or_number(super().date_schema(schema))

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        return _or_number(super().time_schema(schema))

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        return _or_number(super().timedelta_schema(schema))


def _or_number(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Pydantic also reads a number: seconds, or milliseconds since 1970."""
    return {**schema, "type": ["string", "number"]}


def _marked(schema: JsonSchemaValue, alias: Any) -> JsonSchemaValue:
    """The schema of a field, with the places that it is read from if they are not just one name."""
    if not is_array(alias):
        return schema
    return {**schema, _WAYS: alias if is_array(alias[0]) else [alias]}


def _spread(part: Any) -> None:
    """Move all fields within a schema to the places that they are read from."""
    if is_object(part):
        properties: Any = part.get("properties")
        for name, field in [*properties.items()] if is_object(properties) else ():
            if is_object(field) and _WAYS in field:
                _place(part, name)
    for below in part.values() if is_object(part) else part if is_array(part) else ():
        _spread(below)


def _place(part: dict[str, Any], name: str) -> None:
    properties = part["properties"]
    field = properties.pop(name)
    ways = field.pop(_WAYS)
    required = [other for other in part.get("required", ()) if other != name]
    # If one of several places is enough, none is required.
    if len(ways) == 1 and name in part.get("required", ()):
        required.append(ways[0][0])
    part["required"] = required
    for first, *rest in ways:
        held = _within(rest, field)
        properties[first] = {"allOf": [properties[first], held]} if first in properties else held


def _within(steps: list[str | int], field: dict[str, Any]) -> dict[str, Any]:
    for step in reversed(steps):
        if isinstance(step, int):
            field = {"type": "array", "items": field}
        else:
            field = {"type": "object", "properties": {step: field}, "required": [step]}
    return field
