"""Types of Python as requests: the fields of a type are the projection.

::

    class City(BaseModel):
        city: str
        zip_code: str = Field(alias="zip")

    class UserCard(BaseModel):
        name: str
        address: City | None
        phones: list[Phone]             phones.number
        prices: dict[str, Money]        prices.*.cents

    include ["name", "address.city", "address.zip", "phones.number", "prices.*.cents"]

Models, dataclasses, `TypedDict`, lists, unions of them and whatever else pydantic has a JSON Schema for. A type that
refers to itself, and a field that can be an object or something else, is asked for whole.

Source: ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from louver.client.type_compatibility import clash
from louver.client.type_schema import CheckedLater, Reads
from louver.core.json import compact, strings
from louver.core.paths.path import FieldPath, fold
from louver.core.projection.request import Projection
from louver.core.schema import known_fields, type_bounds
from louver.core.schema.budget import Budget
from louver.core.schema.references import document
from louver.core.schema.type_bounds import Kinds
from louver.core.wrapper import WRAPPER, is_wrapped, within, within_text
from louver.errors import OutputInvalid, UnfitType
from louver.limits import MAX_SEGMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.client.tools import KnownTool
    from louver.core.json import Json, Schema
    from louver.core.paths.path import Step
    from louver.core.schema.references import Place

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that a type asks for.

    Args:
        steps: Where it stands.
        required: Whether there is no value of the type without it.
    """

    steps: tuple[Step, ...] = ()
    required: bool = True


class Typed(Generic[T]):
    """A type as a request.

    Args:
        type_: The type.

    Attributes:
        is_text: Whether nothing but a text, or null, can be read into it.

    Raises:
        UnfitType: No JSON can be read into it, or none that is checked at once.
    """

    def __init__(self, type_: type[T]) -> None:
        self.name = _name_of(type_)
        try:
            self._adapter: TypeAdapter[T] = TypeAdapter(type_)
            self._schema: Schema = self._adapter.json_schema(schema_generator=Reads)
        except CheckedLater:
            wrong = "has an Iterable or a Generator, which is not checked when it comes: expected list[...]"
            raise UnfitType(f"{self.name} {wrong}") from None
        except (PydanticUserError, PydanticSchemaGenerationError) as error:
            wrong = "is no type that has a JSON Schema, so it cannot be asked for"
            if error.code == "typed-dict-version":
                wrong = "has a typing.TypedDict, which needs Python 3.12: expected typing_extensions.TypedDict"
            raise UnfitType(f"{self.name} {wrong}") from None
        reading, root = _Reading(), document(self._schema)
        self._fields = reading.fields(root)
        self.is_text = Kinds(Budget()).of(root) & ~type_bounds.NULL == type_bounds.STRING
        self._names = reading.names

    def projection(self, *, strict: bool, required: bool) -> Projection:
        """The request for the fields of the type.

        Raises:
            InvalidProjection: They are too many, or the name of one is too long.
        """
        paths = fold(tuple(FieldPath(field.steps) for field in self._fields))
        return Projection.include(*map(str, paths), strict=strict, required=required)

    def check(self, tool: KnownTool) -> None:
        """Refuse a type that no answer of the tool can be read into, as far as its schema tells.

        Raises:
            UnfitType: With the `path` that differs.
        """
        has = tool.source
        if has is None or tool.may_answer_text:
            return
        found = clash(self._schema, has)
        if found is not None:
            takes, offers = (" or ".join(names) or "nothing" for names in (found.takes, found.has))
            differs = "other values of the same type" if found.takes == found.has else offers
            message = f"at {str(found.path)!r} {self.name} takes {takes}, where tool {tool.name!r} has {differs}"
            raise UnfitType(message, path=str(found.path), takes=[*found.takes], has=[*found.has])
        needed = fold(tuple(FieldPath(field.steps) for field in self._fields if field.required))
        for unknown, meant in known_fields.unmatched(has, within(has, needed), ()).items():
            path, near = (None if each is None else _told(has, each) for each in (unknown, meant))
            hint = "" if near is None else f"; did you mean {near!r}?"
            message = f"{self.name} needs {path!r}, which tool {tool.name!r} does not answer{hint}"
            raise UnfitType(message, path=path, suggestion=near)

    def read(self, value: Json, tool: str, *, is_prose: bool = False) -> T:
        """An answer as a value of the type.

        Args:
            value: The answer.
            tool: The tool's name.
            is_prose: Whether the answer has nothing that can be read.

        Raises:
            OutputInvalid: It is none; with the `path` and the `kind` of what is wrong, as pydantic calls it.
        """
        try:
            return self._adapter.validate_json(compact(value).encode("utf-8", "surrogatepass"))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        # Outside of the handler: the validation's own error quotes the answer. Other names than the type's may be data.
        path = ".".join(step if isinstance(step, str) and step in self._names else "*" for step in first["loc"])
        wrong = f"{first['type']} at {path or '*'!r}"
        if is_prose:
            wrong += ". It has no structured content, and no text that is JSON"
        message = f"what tool {tool!r} answers is no {self.name}: {wrong}"
        raise OutputInvalid(message, path=path or "*", kind=first["type"])


class _Reading:
    """One reading of a type's schema."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._kinds = Kinds(Budget()).of

    def fields(self, place: Place, above: frozenset[tuple[int, int]] = frozenset()) -> list[Field]:
        """What is asked for at a place; the one field of no steps is all of it."""
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
                    # Of an object that can have any other member, all is asked for.
                    is_open = below.schema is True
                    fields = [Field()] if is_open else self.fields(below, above)
                    yield from (Field(() if is_open else (None, *field.steps), required=False) for field in fields)

    def _of_array(self, way: Place, above: frozenset[tuple[int, int]]) -> Iterator[Field]:
        elements = [*way.below("items"), *way.below("prefixItems")]
        for field in [field for below in elements for field in self.fields(below, above)]:
            # Names look through arrays, a wildcard stands for the elements of the first that it meets.
            is_wild = field.steps[:1] == (None,)
            yield Field((None, *field.steps), field.required) if is_wild else field


def _ways(place: Place) -> Iterator[Place]:
    """The places of which one applies, references followed."""
    words = place.words
    target = place.resolve(words["$ref"]) if "$ref" in words else None
    parts = [*([target] if target else []), *place.below("anyOf"), *place.below("oneOf"), *place.below("allOf")]
    if not parts:
        yield place
    for part in parts:
        yield from _ways(part)


def _told(has: Schema, path: FieldPath) -> str:
    """A path as it is written without what the SDK has wrapped around the output."""
    return str(within_text(WRAPPER, (path,))[0] if is_wrapped(has) else path)


def _name_of(type_: Any) -> str:
    is_class = isinstance(type_, type) and not getattr(type_, "__args__", None)
    return type_.__name__ if is_class else re.sub(r"\b(?:\w+\.)+(?:<locals>\.)?", "", str(type_))
