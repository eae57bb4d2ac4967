"""The types of the options of `attach` and of the middleware classes: their callers may be unchecked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from types import NoneType
from typing import Any, Final, NamedTuple, cast

from louver.errors import LouverError
from louver.steps.results.results import KeptResults


def check_options(options: Mapping[str, object]) -> None:
    """Raise LouverError for an option of another type; names without a type here are not checked."""
    for option in options.keys() & _OPTIONS.keys():
        option_type, value = _OPTIONS[option], options[option]
        # A string is a sequence of strings, and bytes are one of numbers.
        is_single_text = isinstance(value, str | bytes) and str not in option_type.types
        if not isinstance(value, option_type.types) or is_single_text:
            raise invalid_option(repr(option), option_type.expected, value)
        if option_type.element is None:
            continue
        if isinstance(value, Mapping):
            for name, each in cast("Mapping[object, object]", value).items():
                _check_element(f"{option!r} of {name!r}", option_type.element, each)
        elif isinstance(value, list | tuple):
            for each in cast("Sequence[object]", value):
                _check_element(f"each of {option!r}", option_type.element, each)


class _OptionType(NamedTuple):
    types: tuple[type, ...]
    expected: str  # for the error message
    element: _OptionType | None = None  # of its elements or members


_SWITCH: Final = _OptionType((bool,), "True or False")
_NUMBER: Final = _OptionType((int,), "a number")
_FIELDS: Final = _OptionType((Mapping,), "a name of each view with its fields, for example {'minimal': ['id']}")
_OPTIONS: Final = {
    "views": _OptionType(
        (str, PathLike, Mapping, NoneType), "the path to a folder, or tools with their views", _FIELDS
    ),
    "argument": _SWITCH,
    "default_views": _OptionType(
        (Mapping, NoneType), "tools with a view each", _OptionType((str,), "the name of a view")
    ),
    "exact": _SWITCH,
    "descriptions": _OptionType((str, PathLike, NoneType), "the path to a folder"),
    "keys": _OptionType((Sequence,), "a list of secrets", _OptionType((str, bytes), "a text, or bytes")),
    "meaning": _OptionType((str, PathLike, NoneType), "the path to a folder"),
    "reads_per_minute": _NUMBER,
    "search": _SWITCH,
    "queries_per_minute": _NUMBER,
    "guidance": _OptionType((Sequence,), "a list of rules"),
    "warnings": _SWITCH,
    "results": _OptionType((KeptResults, NoneType), "a `KeptResults`"),
    "policy_file": _OptionType((str, PathLike), "the path to a file"),
    "audit": _OptionType((str, PathLike), "the path to a file"),
    "pseudonym_key": _OptionType((str, bytes), "a secret: a text, or bytes"),
}


def _check_element(name: str, option_type: _OptionType, value: object) -> None:
    if not isinstance(value, option_type.types):
        raise invalid_option(name, option_type.expected, value)


def invalid_option(name: str, expected: str, value: Any) -> LouverError:
    return LouverError(f"{name} is {expected}, not of type {type(value).__name__!r}")
