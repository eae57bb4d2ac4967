"""Validation of a value by `jsonschema-rs`; draft 2020-12, without formats, and nothing is fetched.

Kept values are validated before they are sent: a wrong schema shows on the server, not in a client. A schema that
cannot be applied admits nothing. No pattern can stall: patterns match in linear time, those with look-around in a
bounded number of steps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from louver.core.json import is_array, is_object
from louver.core.schema.applicators import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP
from louver.core.schema.patterns import for_python

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.json import Json, Schema

MAX_BACKTRACKS = 100_000
"""Steps of matching one pattern with look-around, in the backend that supports it."""


# Keywords under which, or next to which, looser is not looser.
_SWITCHED = frozenset("not if then else unevaluatedItems unevaluatedProperties maxContains".split())


class Validator:
    def __init__(self, schema: Schema) -> None:
        # Imported here: the command line and most plans never validate.
        import jsonschema_rs

        divides = any("multipleOf" in part for part in _parts(schema))
        own: Any = {"keywords": {"multipleOf": _Multiple}} if divides else {}
        self.is_quick = not divides  # even for a large value

        linear, bounded = jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(MAX_BACKTRACKS)
        self._validator: Any = None
        # The linear engine has no look-around, which shielded patterns need; neither engine accepts a huge pattern.
        for patterns, leave_out in ((linear, False), (bounded, False), (linear, True)):
            readable = without_slow_patterns(schema) if leave_out else schema
            try:
                self._validator = jsonschema_rs.Draft202012Validator(
                    readable,
                    validate_formats=False,
                    retriever=_no_retrieval,
                    pattern_options=patterns,
                    mask="the value",
                    **own,
                )
                return
            except ValueError:
                continue

    def is_valid(self, value: Json) -> bool:
        """Whether `value` satisfies the schema."""
        try:
            return self._validator is not None and self._validator.is_valid(value)
        except Exception:  # noqa: BLE001 - whatever a strange schema makes the backend raise, nothing was validated
            return False

    def mismatches(self, value: Json) -> list[Mismatch]:
        """Where `value` does not satisfy the schema; empty if the schema cannot be applied."""
        try:
            found = [] if self._validator is None else list(self._validator.iter_errors(value))
        except Exception:  # noqa: BLE001 - as in `is_valid`
            return []
        return [
            Mismatch(
                tuple(step for step in error.instance_path if isinstance(step, str)),
                str(error.schema_path[-1]) if error.schema_path else "",
                error.message,
            )
            for error in found
        ]


class Mismatch(NamedTuple):
    """Where and why a value does not satisfy a schema."""

    names: tuple[str, ...]  # of the members that lead there; elements of arrays are looked through
    keyword: str
    reason: str  # without the value


def validator(schema: Schema) -> Validator:
    """The validator of a self-contained 2020-12 schema."""
    return Validator(schema)


def without_slow_patterns(schema: Schema) -> Schema:
    """A schema that admits at least as much, with patterns that every engine can run."""
    patterns = [pattern for part in _parts(schema) for pattern in _patterns(part)]
    return schema if all(map(_is_plain, patterns)) else _looser(schema)


def _is_plain(pattern: object) -> bool:
    # Any other value makes the whole schema inapplicable.
    return not isinstance(pattern, str) or for_python(pattern) is not None


def _looser(schema: Schema) -> Schema:
    if isinstance(schema, bool):
        return schema
    # Where a pattern is dropped, looser parts could make the keywords of `_SWITCHED` stricter.
    looser = {keyword: _below(keyword, argument) for keyword, argument in schema.items() if keyword not in _SWITCHED}
    if "oneOf" in looser:
        looser["allOf"] = [*looser.get("allOf", []), {"anyOf": looser.pop("oneOf")}]
    if not _is_plain(looser.get("pattern")):
        del looser["pattern"]
    names: Any = looser.get("patternProperties")
    if is_object(names) and not all(map(_is_plain, names)):
        del looser["patternProperties"]
        looser.pop("additionalProperties", None)
    return looser


def _below(keyword: str, argument: Any) -> Any:
    if keyword in ONE_SCHEMA and (isinstance(argument, bool) or is_object(argument)):
        return _looser(argument)
    if keyword in SCHEMA_LIST and is_array(argument):
        return [_looser(part) for part in argument]
    if (keyword in SCHEMA_MAP or keyword == "$defs") and is_object(argument):
        return {name: _looser(part) for name, part in argument.items()}
    return argument


def _parts(schema: Schema) -> Iterator[dict[str, Any]]:
    todo: list[Any] = [schema]
    while todo:
        part = todo.pop()
        if not is_object(part):
            continue
        yield part
        for keyword, argument in part.items():
            if keyword in ONE_SCHEMA:
                todo.append(argument)
            elif keyword in SCHEMA_LIST and is_array(argument):
                todo.extend(argument)
            elif (keyword in SCHEMA_MAP or keyword == "$defs") and is_object(argument):
                todo.extend(argument.values())


def _patterns(part: dict[str, Any]) -> list[Any]:
    names: Any = part.get("patternProperties")
    return [*((part["pattern"],) if "pattern" in part else ()), *(names if is_object(names) else ())]


class _Multiple:
    """`multipleOf` of the numbers as they are written; the library divides the nearest floats."""

    def __init__(self, _parent: Any, argument: Any, _path: Any) -> None:
        self._divisor = _written(argument)

    def validate(self, value: Json) -> None:
        if not _is_divided(value, self._divisor):
            raise ValueError("not a multiple")


def _is_divided(value: Json, divisor: int | Fraction) -> bool:
    return not isinstance(value, int | float) or isinstance(value, bool) or not _written(value) % divisor


def _written(number: float) -> int | Fraction:
    # Quick: the shortest text of a float has at most 17 digits, and three of its exponent.
    return number if isinstance(number, int) else Fraction(repr(number))


def _no_retrieval(_uri: str) -> Json:
    raise ValueError("nothing is fetched for a schema")
