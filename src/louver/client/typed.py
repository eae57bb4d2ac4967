"""A Python type as a request: its fields are the projection. Any type works that pydantic has a JSON Schema for.

    class UserCard(BaseModel):
        address: City | None            address.city, address.zip
        phones: list[Phone]             phones.number
        prices: dict[str, Money]        prices.*.cents

A type that refers to itself, and a field that is an object or something else, is requested whole. Of other names, alias
paths, and times as numbers pydantic's own JSON Schema says nothing, so the one here does:

    mail: str = Field(validation_alias=AliasChoices("mail", "email"))    {"mail": ..., "email": ...}, none required
    city: str = Field(validation_alias=AliasPath("address", "city"))     {"address": {"city": ...}}
    first: int = Field(validation_alias=AliasPath("orders", 0, "id"))    {"orders": [{"id": ...}]}
    at: datetime                                                         a text, or a number of seconds
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from louver.core.json import compact_bytes, is_array, is_object, strings
from louver.core.paths.path import FieldPath, fold
from louver.core.projection.request import Projection
from louver.core.schema import known_fields, type_bounds
from louver.core.schema.budget import StepBudget
from louver.core.schema.references import document
from louver.core.schema.type_bounds import Kinds
from louver.core.wrapper import WRAPPER, is_wrapped, within, within_text
from louver.errors import OutputInvalid, UnfitType
from louver.limits import MAX_SEGMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.json_schema import JsonSchemaMode, JsonSchemaValue
    from pydantic_core import CoreSchema, core_schema

    from louver.client.tools import KnownTool
    from louver.core.json import Json, Schema
    from louver.core.paths.path import Step
    from louver.core.schema.references import Place

T = TypeVar("T")

# In the schema of a field, until all fields are there: the places that the field is read from.
_WAYS: Final = "x-ways"


@dataclass(frozen=True, slots=True)
class Field:
    steps: tuple[Step, ...] = ()
    required: bool = True  # the type has no value without it


class Typed(Generic[T]):
    """A type as a request; `is_text` if nothing but a text or null can be read into it."""

    def __init__(self, type_: type[T]) -> None:
        self.name = _name_of(type_)
        try:
            self._adapter: TypeAdapter[T] = TypeAdapter(type_)
            schema: Schema = self._adapter.json_schema(schema_generator=_Reads)
        except _CheckedLater:
            wrong = "has an Iterable or a Generator, which is not checked when it comes: expected list[...]"
            raise UnfitType(f"{self.name} {wrong}") from None
        except (PydanticUserError, PydanticSchemaGenerationError) as error:
            wrong = "is no type that has a JSON Schema, so it cannot be asked for"
            if error.code == "typed-dict-version":
                wrong = "has a typing.TypedDict, which needs Python 3.12: expected typing_extensions.TypedDict"
            raise UnfitType(f"{self.name} {wrong}") from None
        reading, root = _Reading(), document(schema)
        self._fields = reading.fields(root)
        self.is_text = Kinds(StepBudget()).of(root) & ~type_bounds.NULL == type_bounds.STRING
        self._names = reading.names

    def projection(self, *, strict: bool, required: bool) -> Projection:
        paths = fold(tuple(FieldPath(field.steps) for field in self._fields))
        return Projection(include=[*map(str, paths)], strict=strict, required=required)

    def check(self, tool: KnownTool) -> None:
        has = tool.source
        if has is None or tool.may_answer_text:
            return
        needed = fold(tuple(FieldPath(field.steps) for field in self._fields if field.required))
        for unknown, meant in known_fields.unmatched(has, within(has, needed), ()).items():
            path, near = (None if each is None else _unwrapped_path(has, each) for each in (unknown, meant))
            hint = "" if near is None else f"; did you mean {near!r}?"
            message = f"{self.name} needs {path!r}, which tool {tool.name!r} does not answer{hint}"
            raise UnfitType(message, path=path, suggestion=near)

    def read(self, value: Json, tool: str, *, is_prose: bool = False) -> T:
        """The value as the type. `is_prose`: the result holds nothing that can be read."""
        try:
            return self._adapter.validate_json(compact_bytes(value))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        # Outside the handler: the validation error quotes the result, and would be the context. Names may be data if
        # the type does not have them.
        path = ".".join(step if isinstance(step, str) and step in self._names else "*" for step in first["loc"])
        wrong = f"{first['type']} at {path or '*'!r}"
        if is_prose:
            wrong += ". It has no structured content, and no text that is JSON"
        message = f"what tool {tool!r} answers is no {self.name}: {wrong}"
        raise OutputInvalid(message, path=path or "*", kind=first["type"])


class _Reading:
    def __init__(self) -> None:
        self.names: set[str] = set()
        self._kinds = Kinds(StepBudget()).of

    def fields(self, place: Place, above: frozenset[tuple[int, int]] = frozenset()) -> list[Field]:
        """The fields to request at a place; a field without steps is all of the place."""
        ways = [way for way in _ways(place) if self._kinds(way) != type_bounds.NULL]
        keys = {way.key for way in ways}
        if not above.isdisjoint(keys) or len(above) > MAX_SEGMENTS:
            return [Field()]
        found = [field for way in ways for field in self._of_way(way, above | keys)]
        return found if found and all(field.steps for field in found) else [Field()]

    def _of_way(self, way: Place, above: frozenset[tuple[int, int]]) -> list[Field]:
        kinds = self._kinds(way) & ~type_bounds.NULL
        if kinds == type_bounds.OBJECT:
            return [*self._of_object(way, above)]
        return [*self._of_array(way, above)] if kinds == type_bounds.ARRAY else [Field()]

    def _of_object(self, way: Place, above: frozenset[tuple[int, int]]) -> Iterator[Field]:
        needed = strings(way.words.get("required"))
        for name, below in way.named("properties").items():
            self.names.add(name)
            for field in self.fields(below, above):
                yield Field((name, *field.steps), field.required and name in needed)
        for keyword in ("patternProperties", "additionalProperties"):
            for below in way.below(keyword):
                if below.schema is not False:
                    # An object with arbitrary other members is requested whole.
                    is_open = below.schema is True
                    fields = [Field()] if is_open else self.fields(below, above)
                    yield from (Field(() if is_open else (None, *field.steps), required=False) for field in fields)

    def _of_array(self, way: Place, above: frozenset[tuple[int, int]]) -> Iterator[Field]:
        elements = [*way.below("items"), *way.below("prefixItems")]
        for field in [field for below in elements for field in self.fields(below, above)]:
            # Names look through arrays; a wildcard means the elements of the next array.
            is_wild = field.steps[:1] == (None,)
            yield Field((None, *field.steps), field.required) if is_wild else field


def _ways(place: Place) -> Iterator[Place]:
    words = place.words
    target = place.resolve(words["$ref"]) if "$ref" in words else None
    parts = [*([target] if target else []), *place.below("anyOf"), *place.below("oneOf"), *place.below("allOf")]
    if not parts:
        yield place
    for part in parts:
        yield from _ways(part)


def _unwrapped_path(has: Schema, path: FieldPath) -> str:
    """A path without the SDK's wrapper."""
    return str(within_text(WRAPPER, (path,))[0] if is_wrapped(has) else path)


def _name_of(type_: Any) -> str:
    is_class = isinstance(type_, type) and not getattr(type_, "__args__", None)
    return type_.__name__ if is_class else re.sub(r"\b(?:\w+\.)+(?:<locals>\.)?", "", str(type_))


class _CheckedLater(Exception):
    """The type is one that pydantic checks only during iteration."""


class _Reads(GenerateJsonSchema):
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
        raise _CheckedLater

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
