"""The options of `louver.attach`, looked at before any is used: who writes one wrong is told so at once.

attach(server, warnings={"items": 9})   LouverError: 'warnings' is True, False or a `Warnings`, not of type 'dict'
attach(server, views={"get": ["id"]})   LouverError: 'views' of 'get' is a name of each view with its fields, ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from types import NoneType
from typing import Final, NamedTuple, cast

from mcp.server import MCPServer, Server

from louver.errors import LouverError
from louver.server.results import KeptResults
from louver.server.warnings import Warnings


def check_options(given: Mapping[str, object]) -> None:
    """See that each option is of a kind that it can be.

    Args:
        given: The options by their names, and the server.

    Raises:
        LouverError: One is not.
    """
    for option, known in _OPTIONS.items():
        said = given[option]
        # A text is a sequence of texts, and bytes of numbers.
        is_one_text = isinstance(said, str | bytes) and str not in known.kinds
        if not isinstance(said, known.kinds) or is_one_text:
            raise _unfit(repr(option), known.expected, said)
        if known.of is None:
            continue
        if isinstance(said, Mapping):
            for name, each in cast("Mapping[object, object]", said).items():
                _check_part(f"{option!r} of {name!r}", known.of, each)
        elif isinstance(said, list | tuple):
            for each in cast("Sequence[object]", said):
                _check_part(f"each of {option!r}", known.of, each)


class _Kind(NamedTuple):
    """What something can be.

    Args:
        kinds: Its types.
        expected: What these are, for who is to write one.
        of: Likewise, what is in it.
    """

    kinds: tuple[type, ...]
    expected: str
    of: _Kind | None = None


_SWITCH: Final = _Kind((bool,), "True or False")
_NUMBER: Final = _Kind((int,), "a number")
_FOLDER: Final = _Kind((str, PathLike, NoneType), "the path to a folder")
_FIELDS: Final = _Kind((Mapping,), "a name of each view with its fields, for example {'minimal': ['id']}")
_OPTIONS: Final = {
    "server": _Kind((MCPServer, Server), "an `MCPServer` or a lowlevel `Server` of the MCP SDK"),
    "views": _Kind((str, PathLike, Mapping, NoneType), "the path to a folder, or tools with their views", _FIELDS),
    "argument": _SWITCH,
    "default_views": _Kind((Mapping, NoneType), "tools with a view each", _Kind((str,), "the name of a view")),
    "exact": _SWITCH,
    "descriptions": _FOLDER,
    "keys": _Kind((Sequence,), "a list of secrets", _Kind((str, bytes), "a text, or bytes")),
    "reads_per_minute": _NUMBER,
    "search": _SWITCH,
    "queries_per_minute": _NUMBER,
    "guidance": _Kind((Sequence,), "a list of rules"),
    "warnings": _Kind((bool, Warnings), "True, False or a `Warnings`"),
    "results": _Kind((KeptResults, NoneType), "a `KeptResults`"),
}


def _check_part(what: str, known: _Kind, said: object) -> None:
    if not isinstance(said, known.kinds):
        raise _unfit(what, known.expected, said)


def _unfit(what: str, expected: str, said: object) -> LouverError:
    return LouverError(f"{what} is {expected}, not of type {type(said).__name__!r}")
