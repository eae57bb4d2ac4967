"""Validation of a value by one of two backends; draft 2020-12, without formats, and nothing is fetched.

Kept values are validated before they are sent: a wrong schema shows on the server, not in a client. A schema that
cannot be applied admits nothing. No pattern can stall: `jsonschema-rs` (extra `fast`) matches in linear time or bounded
steps; `jsonschema` runs on Python's `re`, and skips patterns that are not plainly linear (`without_slow_patterns`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from louver.core.json import canonical, is_array, is_object
from louver.core.schema.patterns import for_python
from louver.core.schema.references import MANY, NAMED, ONE
from louver.limits import MAX_BACKTRACKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from louver.core.json import Json, Schema

# Keywords under which, or next to which, looser is not looser.
_SWITCHED = frozenset("not if then else unevaluatedItems unevaluatedProperties maxContains".split())

Backend = Literal["jsonschema-rs", "jsonschema"]


class Validator(Protocol):
    is_quick: bool  # even for a large value

    def is_valid(self, value: Json) -> bool: ...


def validator(schema: Schema, backend: Backend | None = None) -> Validator:
    """The validator of a self-contained 2020-12 schema; by default of the fastest backend that is installed."""
    if backend == "jsonschema":
        return _Python(schema)
    try:
        return _Rust(schema)
    except ImportError:
        if backend == "jsonschema-rs":
            raise
        return _Python(schema)


class _Rust:
    def __init__(self, schema: Schema) -> None:
        import jsonschema_rs

        divides = any("multipleOf" in part for part in _parts(schema))
        own: Any = {"keywords": {"multipleOf": _Multiple}} if divides else {}
        self.is_quick = not divides

        linear, bounded = jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(MAX_BACKTRACKS)
        self._validator: Any = None
        # The linear engine has no look-around, which shielded patterns need; neither engine accepts a huge pattern.
        for patterns, leave_out in ((linear, False), (bounded, False), (linear, True)):
            readable = without_slow_patterns(schema, _if_plain) if leave_out else schema
            try:
                self._validator = jsonschema_rs.Draft202012Validator(
                    readable, validate_formats=False, retriever=_no_retrieval, pattern_options=patterns, **own
                )
                return
            except ValueError:
                continue

    def is_valid(self, value: Json) -> bool:
        try:
            return self._validator is not None and self._validator.is_valid(value)
        except Exception:  # noqa: BLE001 - whatever a strange schema makes the backend raise, nothing was validated
            return False


class _Python:
    is_quick = False

    def __init__(self, schema: Schema) -> None:
        # Imported here: the command line and most plans never validate.
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]
        from referencing import Registry

        exact = {"uniqueItems": _unique, "multipleOf": _multiple}
        make: Any = extend(Draft202012Validator, exact)  # pyright: ignore[reportUnknownVariableType]
        nothing: Registry[Any] = Registry()
        self._validator: Any = make(without_slow_patterns(schema), registry=nothing)

    def is_valid(self, value: Json) -> bool:
        try:
            return self._validator.is_valid(value)
        except Exception:  # noqa: BLE001 - whatever a strange schema makes the backend raise, nothing was validated
            return False


def without_slow_patterns(schema: Schema, read: Callable[[object], str | None] = for_python) -> Schema:
    """A schema that admits at least as much, with patterns that can run; `read` rewrites one or returns `None`."""
    patterns = [pattern for part in _parts(schema) for pattern in _patterns(part)]
    readable = {pattern: read(pattern) for pattern in patterns if isinstance(pattern, str)}
    if all(pattern == written for pattern, written in readable.items()):
        return schema
    return _looser(schema, read, loosen=None in readable.values())


def _if_plain(pattern: object) -> str | None:
    return None if for_python(pattern) is None else str(pattern)


def _looser(schema: Schema, read: Callable[[object], str | None], *, loosen: bool) -> Schema:
    if isinstance(schema, bool):
        return schema
    # Where a pattern is dropped, looser parts could make the keywords of `_SWITCHED` stricter.
    looser = {
        keyword: _mapped(keyword, argument, partial(_looser, read=read, loosen=loosen))
        for keyword, argument in schema.items()
        if not (loosen and keyword in _SWITCHED)
    }
    if loosen and "oneOf" in looser:
        looser["allOf"] = [*looser.get("allOf", []), {"anyOf": looser.pop("oneOf")}]
    if "pattern" in looser:
        pattern = read(looser.pop("pattern"))
        looser |= {} if pattern is None else {"pattern": pattern}
    names: Any = looser.get("patternProperties")
    if is_object(names):
        read_names = {read(name): part for name, part in names.items()}
        looser["patternProperties"] = read_names
        if None in read_names:
            del looser["patternProperties"]
            looser.pop("additionalProperties", None)
    return looser


def _mapped(keyword: str, argument: Any, change: Callable[[Schema], Schema]) -> Any:
    if keyword in ONE and (isinstance(argument, bool) or is_object(argument)):
        return change(argument)
    if keyword in MANY and is_array(argument):
        return [change(part) for part in argument]
    if (keyword in NAMED or keyword == "$defs") and is_object(argument):
        return {name: change(part) for name, part in argument.items()}
    return argument


def _parts(schema: Schema) -> Iterator[dict[str, Any]]:
    todo: list[Any] = [schema]
    while todo:
        part = todo.pop()
        if not is_object(part):
            continue
        yield part
        for keyword, argument in part.items():
            if keyword in ONE:
                todo.append(argument)
            elif keyword in MANY and is_array(argument):
                todo.extend(argument)
            elif (keyword in NAMED or keyword == "$defs") and is_object(argument):
                todo.extend(argument.values())


def _patterns(part: dict[str, Any]) -> list[Any]:
    names: Any = part.get("patternProperties")
    return [*((part["pattern"],) if "pattern" in part else ()), *(names if is_object(names) else ())]


def _unique(_validator: Any, argument: Any, value: Json, _schema: Any) -> Iterator[Any]:
    """`uniqueItems` in linear time; that of the backend compares all pairs."""
    from jsonschema import ValidationError

    if argument is not True or not is_array(value):
        return
    if len({canonical(_comparable(element)) for element in value}) < len(value):
        yield ValidationError("elements are not unique")


def _multiple(_validator: Any, argument: Any, value: Json, _schema: Any) -> Iterator[Any]:
    """`multipleOf` of numbers as they are written; that of the backend divides the nearest floats."""
    from jsonschema import ValidationError

    if not _is_divided(value, _written(argument)):
        yield ValidationError("not a multiple")


class _Multiple:
    """The same for `jsonschema-rs`: from 0.61 on it divides the nearest floats of large numbers."""

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


def _comparable(value: Json) -> Json:
    """`value` with equal numbers written alike: 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_array(value):
        return [_comparable(element) for element in value]
    if is_object(value):
        return {name: _comparable(member) for name, member in value.items()}
    return value


def _no_retrieval(_uri: str) -> Json:
    raise ValueError("nothing is fetched for a schema")
