"""Validates a configuration against `schemas/config.schema.json`, with errors by line.

    mcp.json:4: server 'memory': unknown key 'comand': expected one of 'command', ...; did you mean 'command'?

Messages hold keys and what the schema expects, never a value: it may be a secret.
"""

from __future__ import annotations

import json as stdlib_json
from functools import cache
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.line_numbers import Place, line_of_second, nearest_lines
from louver.core import json
from louver.core.json import is_array, is_object
from louver.core.nearest import did_you_mean
from louver.errors import InvalidConfig
from louver.shipped import folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    from louver.core.json import Json

SERVERS: Place = ("mcpServers",)

# Settings and words that there were, and what to do instead.
GONE = {
    "argumentName": "the argument is 'output_fields', and 'output_fields_2' where a tool has an argument of that name",
    "defaultViews": "'default' in the file of a tool's views names the view for calls without a request",
    "hosts": "what hosts show is known: an answer for a host that is not known is safe for all; leave out 'hosts'",
    "isolation": "'isolation' is a setting of each server: it stands under the server's 'louver'",
    "catalogue": "clients get what a server listed last while it starts; with 'onChange': 'block' they wait for it",
    "sse": "HTTP with SSE of 2024 is no transport any more: put a bridge to stdio before that server, as 'command'",
    "limits": "'callsPerMinute' and 'toolsPerMinute' stand under 'louver' themselves",
    "algorithms": "each algorithm is accepted that the issuer's public keys are for: leave out 'algorithms'",
    "introspection": "tokens are not introspected any more: 'jwks', or a proxy that exchanges opaque ones",
}

# Keywords that miss something. They are reported last, since the missing key may be there, misspelled.
_MISSING_KEYWORDS = ("oneOf", "anyOf", "required")


def parse_json(text: str, file: str) -> Json:
    """The value of a JSON text, in which no key may stand twice."""
    try:
        return json.parse(text)
    except json.NotJson as error:
        line = error.line if error.key is None else line_of_second(text)
        key = "" if error.key is None else f": {error.key!r}"
        raise InvalidConfig(f"not JSON: {error.reason}{key}", file=file, line=line) from None


def check(
    content: Json,
    text: str,
    file: str,
    position_of: Callable[[Place], Place] = tuple,
    *,
    part: str | None = None,
    first_line: int = 1,
) -> None:
    """Raise the first error by line. `part`: a definition of the schema; `position_of`: a place -> that in the text."""
    found = [
        (error.validator in _MISSING_KEYWORDS, place, message)
        for error in _validator(part).iter_errors(content)
        for place, message in _problems(error)
    ]
    if found:
        lines = nearest_lines(text, [position_of(place) for _, place, _ in found], first_line)
        line, (_, place, message) = min(zip(lines, found, strict=True), key=lambda each: (each[1][0], each[0]))
        raise InvalidConfig(server_prefix(place) + message, file=file, line=line)


def server_prefix(place: Place) -> str:
    """The beginning of a message: the server of the setting."""
    return f"server {place[1]!r}: " if place[:1] == SERVERS and len(place) > 1 else ""


@cache
def schema() -> dict[str, Any]:
    return stdlib_json.loads((folder("schemas") / "config.schema.json").read_text(encoding="utf-8"))


@cache
def _validator(part: str | None) -> Validator:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    rules = schema() if part is None else {"$ref": f"#/$defs/{part}", "$defs": schema()["$defs"]}
    return Draft202012Validator(rules, registry=Registry())


def _problems(error: ValidationError) -> Iterator[tuple[Place, str]]:
    """Places and messages, without values; for unknown keys, one each."""
    place, keyword = tuple(error.absolute_path), str(error.validator)
    instance: Any = error.instance
    wanted: Any = error.validator_value
    rules: dict[str, Any] = error.schema if is_object(error.schema) else {}
    if keyword == "additionalProperties":
        for key in instance:
            if key not in rules["properties"]:
                yield (*place, key), _unknown(key, rules["properties"])
    elif "propertyNames" in error.absolute_schema_path:
        # Such a name may be the secret itself, in place of a value derived from it.
        prefix = "" if "x-secret" in rules else _key_prefix((*place, instance))
        yield (*place, instance), f"{prefix}expected {rules['title']}"
    elif keyword == "dependentRequired":
        for key, needed in wanted.items():
            if key in instance and needed[0] not in instance:
                yield (*place, key), f"{key!r} goes with {needed[0]!r}"
    elif keyword == "required":
        missing = next(key for key in wanted if key not in instance)
        yield place, f"{missing!r} is missing" + (", which its 'type' needs" if "type" in instance else "")
    elif keyword == "oneOf":
        names = [repr(each["required"][0]) for each in wanted]
        yield place, f"{_key_prefix(place)}expected either {', '.join(names[:-1])} or {names[-1]}"
    else:
        yield place, _key_prefix(place) + _expected(keyword, wanted, rules, instance)


def _unknown(key: str, properties: dict[str, Any]) -> str:
    louver_keys = [name for name, rules in properties.items() if "x-of" not in rules]
    section = properties.get("louver", {}).get("$ref", "").rpartition("/")[2]
    if key in GONE:
        return GONE[key]
    if section and key in schema()["$defs"][section]["properties"]:
        return f"unknown key {key!r}: it stands under 'louver'"
    return f"unknown key {key!r}: expected one of {', '.join(map(repr, louver_keys))}{did_you_mean(key, louver_keys)}"


def _expected(keyword: str, wanted: Any, rules: dict[str, Any], instance: Any) -> str:
    if keyword == "type":
        types = wanted if is_array(wanted) else [wanted]
        return f"expected {' or '.join(_TYPE_NAMES[each] for each in types)}, not {type_name(instance)}"
    if keyword == "enum" and isinstance(instance, str) and instance in GONE:
        return GONE[instance]
    if keyword == "enum":
        return f"expected one of {', '.join(map(repr, wanted))}"
    if "x-of" in rules:
        return f"not possible here. {rules['description']}"
    return f"expected {rules.get('title', 'a text that is not empty')}"


def _key_prefix(place: Place) -> str:
    """The last key of a place, to begin a message."""
    if not place or (place[:1] == SERVERS and len(place) == 2):
        return ""
    last = place[-1]
    return f"{place[-2]!r}, element {last}: " if isinstance(last, int) else f"{last!r}: "


_TYPE_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}


def type_name(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "a boolean"
    if isinstance(value, str):
        return _TYPE_NAMES["string"]
    return _TYPE_NAMES["object" if is_object(value) else "array" if is_array(value) else "number"]
