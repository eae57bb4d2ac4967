"""An input schema without what tells a model nothing, as generators of schemas write it.

    $schema, unless the words of another draft are used                  left out
    additionalProperties: false at the root                              left out
    required: [], default: null                                          left out
    a title that repeats a name, or that stands beside a description     left out
    bounds of the integers that JavaScript holds exactly                 left out
    an optional property of X or null, which is null by default          X

A call that a model writes by it is one that the schema takes; it is only shown, and calls are not checked against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object, levels, members, strings
from louver.core.schema.applicators import HOLDING_SCHEMA_MAP, HOLDING_SCHEMAS

if TYPE_CHECKING:
    from louver.core.json import Json, Schema

_LOWEST: Final = {1 - 2**53, -(2**53)}
_HIGHEST: Final = {2**53 - 1, 2**53}
_SAFE_INTEGERS: Final = {
    "minimum": _LOWEST,
    "exclusiveMinimum": _LOWEST,
    "maximum": _HIGHEST,
    "exclusiveMaximum": _HIGHEST,
}
_OLDER_WORDS: Final = frozenset({"additionalItems", "dependencies"})
_COMBINING: Final = ("allOf", "anyOf", "oneOf", "then", "else")
_NOISE: Final[dict[str, Json]] = {"required": [], "default": None}
_NULL: Final = {"type": "null"}


def lean(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments as a model reads it."""
    found = _at(schema, "")
    if not _is_of_another_draft(schema):
        found.pop("$schema", None)
    found.pop("title", None)
    # Further down it may tell alternatives apart.
    if found.get("additionalProperties") is False:
        del found["additionalProperties"]
    return found


def _at(schema: Schema, name: str) -> Any:
    """The same at one place, which is the value of a property, or a definition, of that name."""
    if not is_object(schema):
        return schema
    found: dict[str, Any] = {}
    for keyword, argument in schema.items():
        if keyword == "properties" and is_object(argument):
            required = _required(schema)
            found[keyword] = {
                each: _at(below if each in required else _without_null(below), each) for each, below in argument.items()
            }
        elif keyword in HOLDING_SCHEMA_MAP and is_object(argument):
            found[keyword] = {each: _at(below, each) for each, below in argument.items()}
        elif not _is_noise(keyword, argument, schema, name):
            found[keyword] = _below(argument) if keyword in HOLDING_SCHEMAS else argument
    return found


def _below(argument: Json) -> Json:
    return [_at(each, "") for each in argument] if is_array(argument) else _at(argument, "")


def _is_noise(keyword: str, argument: Json, schema: dict[str, Any], name: str) -> bool:
    if keyword == "title":
        repeats_name = _letters(argument) == _letters(name) != ""
        return repeats_name or ("description" in schema and "const" not in schema)
    if keyword in _SAFE_INTEGERS:
        return isinstance(argument, int | float) and argument in _SAFE_INTEGERS[keyword]
    return keyword in _NOISE and argument == _NOISE[keyword] and type(argument) is type(_NOISE[keyword])


def _is_of_another_draft(schema: dict[str, Any]) -> bool:
    parts = (part for level in levels(schema) for part in level if is_object(part))
    return any(is_array(part.get("items")) or not _OLDER_WORDS.isdisjoint(part) for part in parts)


def _required(schema: dict[str, Any]) -> set[str]:
    """The properties that are required, here or by what is combined with it."""
    combined = (schema.get(word) for word in _COMBINING)
    places = [schema, *(each for some in combined for each in (some if is_array(some) else [some]))]
    lists = [*(members(each).get("required") for each in places), *members(schema.get("dependentRequired")).values()]
    return {name for each in lists for name in strings(each)}


def _letters(text: Json) -> str:
    return "".join(filter(str.isalnum, text)).casefold() if isinstance(text, str) else ""


def _without_null(schema: Any) -> Any:
    """The schema of an optional property that is null by default, for a value that is given."""
    if not is_object(schema) or "default" not in schema or schema["default"] is not None:
        return schema
    rest = {keyword: argument for keyword, argument in schema.items() if keyword not in ("anyOf", "type", "default")}
    match schema:
        case {"anyOf": [*some]} if "type" not in schema and 0 < len(others := _without(_NULL, some)) < len(some):
            if len(others) > 1:
                return {"anyOf": others, **rest}
            # Neither may hide what the other has.
            is_lost = not is_object(others[0]) or others[0].keys() & rest.keys() - {"title"}
            return schema if is_lost else {**members(others[0]), **rest}
        case {"type": [*types]} if not {"anyOf", "enum", "const"} & schema.keys() and 0 < len(
            others := _without("null", types)
        ) < len(types):
            return {"type": others[0] if len(others) == 1 else others, **rest}
        case _:
            return schema


def _without(left_out: Json, values: list[Json]) -> list[Json]:
    return [each for each in values if each != left_out]
