"""The arguments of a tool, as `louver call` takes them; a value is read by the tool's input schema.

    user_id=42 tags='["a"]' note=42      {"user_id": 42, "tags": ["a"], "note": "42"}
    --json-args '{"user_id": 42}'        the same object; `@FILE` and `-` read it elsewhere

A value is JSON where the schema admits its type, and otherwise text. What does not fit is refused before the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.cli.json_streams import parse_object, read_file, read_input
from louver.core import json
from louver.core.nearest import instead
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.outline import outline
from louver.core.schema.references import UnknownDialect, document
from louver.core.schema.type_bounds import ANY, Kinds, kind_of
from louver.core.schema.validate import Validator
from louver.errors import InvalidInput
from louver.limits import MAX_READING_STEPS
from louver.wire.names import ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.json import Schema
    from louver.core.schema.validate import Mismatch

_EXPECTED: Final = "an argument of the tool is NAME=VALUE, for example user_id=42"
_BY_TYPE: Final = frozenset({"type", "enum", "const", "anyOf", "oneOf"})  # keywords that say what a value is


def split(pairs: Sequence[str]) -> dict[str, str]:
    """The arguments of the command line: name -> text."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            hint = "a JSON object goes to --json-args" if pair[:1] in "{[" else "a command goes after '--'"
            raise InvalidInput(f"{_EXPECTED}; {hint}")
        if name in found:
            raise InvalidInput(f"argument {name!r} is there twice")
        found[name] = text
    return found


def from_json(source: str | None) -> dict[str, Any]:
    """The object of `--json-args`."""
    if source is None:
        return {}
    if source == "-":
        value = read_input()
    elif source.startswith("@"):
        value = read_file(source[1:])
    else:
        return parse_object(source)
    if not json.is_object(value):
        raise InvalidInput("--json-args takes one JSON object, for example '{\"user_id\": 42}'")
    return value


def typed(texts: dict[str, str], given: dict[str, Any], schema: Schema | None) -> dict[str, Any]:
    """Both kinds of arguments as one object that fits the input schema, as far as that is known."""
    if twice := texts.keys() & given.keys():
        raise InvalidInput(f"argument {min(twice)!r} is there twice: as NAME=VALUE, and in --json-args")
    if not json.is_object(schema):
        return {**given, **{name: _value(text, ANY) for name, text in texts.items()}}
    _check_names([*given, *texts], schema)
    arguments = {**given, **{name: _value(text, _kinds(schema, name)) for name, text in texts.items()}}
    for mismatch in Validator(schema).mismatches(arguments):
        if mismatch.names:
            raise InvalidInput(_misfit(mismatch, schema))
    return arguments


def _check_names(names: Sequence[str], schema: dict[str, Any]) -> None:
    """Refuse names that the schema does not have, unless it says that there can be others, and missing ones."""
    properties = json.members(schema.get("properties"))
    others = schema.get("additionalProperties", "patternProperties" in schema)
    # A tool with a description on demand is listed with empty properties.
    is_closed = others is False and bool(properties or "additionalProperties" in schema)
    for name in names:
        # The gateway does not list its own argument at every tool that takes it.
        if name not in properties and name != ARGUMENT and is_closed:
            raise InvalidInput(f"the tool takes no argument {name!r}: {instead(name, properties)}")
    for name in json.strings(schema.get("required")):
        if name not in names:
            raise InvalidInput(f"argument {name!r} is missing: {_type_of((name,), schema)}")


def _kinds(schema: dict[str, Any], name: str) -> int:
    """The kinds of values that an argument can be."""
    try:
        place = document(schema).member("properties", name)
        return ANY if place is None else Kinds(StepBudget(MAX_READING_STEPS)).of(place)
    except (OverBudget, UnknownDialect):
        return ANY


def _value(text: str, kinds: int) -> Any:
    try:
        value = json.parse(text)
    except json.NotJson:
        return text
    return text if isinstance(value, str) or not kind_of(value) & kinds else value


def _misfit(mismatch: Mismatch, schema: dict[str, Any]) -> str:
    reason = _type_of(mismatch.names, schema) if mismatch.keyword in _BY_TYPE else mismatch.reason
    return f"argument {'.'.join(mismatch.names)!r}: {reason}"


def _type_of(names: tuple[str, ...], schema: dict[str, Any]) -> str:
    types = [member.type for member in outline(schema) if member.path.steps == names]
    return f"expected {types[0]}" if types else "expected another value"
