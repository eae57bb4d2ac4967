"""Kept results on the wire: URIs, and calls of the tool for models, that read a result or a part of it.

louver://results/<handle>?fields=items.id,total    these fields; also `fields=items.id&fields=total`
louver://results/<handle>?view=minimal             a view of the tool
louver://results/<handle>?page=2                   the second hundred elements of the longest array
louver://results/<handle>?sort_by=-size&limit=5    its first five elements by size, descending
louver://results/<handle>?count_by=user.login      how often each login is in its elements
read_result {"handle": "<handle>", "output_fields": ["items.id", "total"]}    or "fields"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from louver.core.json import members
from louver.core.paths.path import FieldPath
from louver.core.projection.request import Projection
from louver.errors import InvalidArguments, InvalidProjection
from louver.limits import MAX_KEPT_MINUTES
from louver.wire.names import ARGUMENT, RESULT, RESULT_TOOL, RESULTS_URI
from louver.wire.projection import requested_by_argument
from louver.wire.uris import UriForm

if TYPE_CHECKING:
    from collections.abc import Iterator

_URI = UriForm("a URI of a result", f"{RESULTS_URI}HANDLE?fields=id,name&page=1")
_DIGITS = re.compile("[0-9]{1,9}")
_HANDLE = re.compile(re.escape(RESULTS_URI) + r"[^?#]+")
_PARAMETERS = ("fields", "view", "page", "sort_by", "limit", "count_by")
_NUMBERS = ("page", "limit")
_TEXTS = {
    "handle": "the text that the answer gave",
    "view": "the name of a view",
    "sort_by": "one field path, such as 'id', or '-id' to descend",
    "count_by": "one field path, such as 'state'",
}

READ_RESULT: Final[dict[str, Any]] = {
    "name": RESULT_TOOL,
    "title": "Read a kept result",
    "description": (
        "Read part of an answer that was too large to send: some fields, or a page, the top or counts of its "
        "longest list."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "As the answer gave it."},
            ARGUMENT: {"type": "array", "items": {"type": "string"}, "description": "Field paths."},
            "view": {"type": "string", "description": "A view of the tool, instead of fields."},
            "page": {"type": "integer", "description": "From 1."},
            "sort_by": {"type": "string", "description": "Field path; -path descends."},
            "limit": {"type": "integer"},
            "count_by": {"type": "string", "description": "Field path: counts its values, missing as null."},
        },
        "required": ["handle"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
}


@dataclass(frozen=True, slots=True)
class RowQuery:
    """What is read of the rows of a result, the elements of its longest array. `InvalidProjection`: a path is none."""

    sort_by: str | None = None  # a field path; with a leading `-` descending
    limit: int | None = None  # the first so many, from 1
    count_by: str | None = None  # a field path; in place of the rows, how often it has each value

    def __post_init__(self) -> None:
        if self.sort_by is not None:
            FieldPath.parse(self.sort_by.removeprefix("-"))
        if self.count_by is not None:
            FieldPath.parse(self.count_by)


ALL_ROWS: Final = RowQuery()
_EVERYTHING: Final = Projection(include=["*"])


@dataclass(frozen=True, slots=True)
class Read:
    handle: str
    projection: Projection
    page: int | None = None  # from 1; `None` is all of it
    uri: str | None = None  # if the request is by a URI
    rows: RowQuery = ALL_ROWS

    def __post_init__(self) -> None:
        if self.rows.count_by is not None and (self.rows.sort_by is not None or self.projection != _EVERYTHING):
            raise InvalidArguments(
                "'count_by' counts all elements, most frequent first: leave out 'sort_by', fields and 'view'",
                argument="count_by",
            )

    @classmethod
    def of(cls, uri: str) -> Read:
        """Parse a URI. A comma separates paths; an escaped comma is part of a path."""
        _URI.check_length(uri)
        _URI.check(uri)
        base, _, _ = uri.partition("?")
        fields: list[str] = []
        given: dict[str, Any] = {}
        for offset, name, value in _parameters(uri):
            if name == "fields":
                fields += [unquote(path) for path in value.split(",")]
            elif name in _PARAMETERS and name not in given:
                given[name] = _number(name, unquote(value), offset) if name in _NUMBERS else unquote(value)
            else:
                once = " once" if name in _PARAMETERS else ""
                raise _URI.invalid(offset, f"one of {', '.join(map(repr, _PARAMETERS))}{once}")
        projection = _projection(fields, given.pop("view", None))
        return cls(base.removeprefix(RESULTS_URI), projection, given.pop("page", None), uri, RowQuery(**given))

    @classmethod
    def by_arguments(cls, arguments: dict[str, Any]) -> Read:
        """Parse the arguments of the tool; null and empty count as left out."""
        given: dict[str, Any] = {"handle": None}
        given |= {name: value for name, value in arguments.items() if value not in (None, "", [], {}, 0)}
        if unknown := given.keys() - {*READ_RESULT["inputSchema"]["properties"], "fields"}:
            name = min(unknown)[:80]
            expected = ", ".join(map(repr, READ_RESULT["inputSchema"]["properties"]))
            raise InvalidArguments(f"{name!r} is no argument: {RESULT_TOOL!r} takes {expected}", argument=name)
        for name, expected in _TEXTS.items():
            if name in given and not isinstance(given[name], str):
                raise InvalidArguments(f"{name!r}: expected {expected}", argument=name)
        page, limit = (_number_in(given, name) for name in _NUMBERS)
        handle, view, fields = given["handle"], given.get("view"), given.get(ARGUMENT, given.get("fields"))
        projection = requested_by_argument(fields) or _projection([], view)
        if view is not None and fields is not None:
            _projection(["*"], view)
        rows = RowQuery(given.get("sort_by"), limit, given.get("count_by"))
        return cls(handle.removeprefix(RESULTS_URI).partition("?")[0], projection, page, rows=rows)

    def to_uri(self) -> str:
        if self.uri is not None:
            return self.uri
        if self.projection.mode == "exclude":
            raise InvalidArguments(
                f"{ARGUMENT!r}: of this answer, only paths to include can be read", argument=ARGUMENT
            )
        rows = self.rows
        named = {
            "view": quote(self.projection.name or "", ""),
            "fields": ",".join(quote(str(path), "") for path in self.projection.fields),
            "sort_by": quote(rows.sort_by or "", ""),
            "limit": rows.limit,
            "count_by": quote(rows.count_by or "", ""),
            "page": self.page,
        }
        return f"{RESULTS_URI}{self.handle}?{'&'.join(f'{name}={value}' for name, value in named.items() if value)}"

    def out_of_pages(self, pages: int) -> Exception:
        if self.uri is None:
            return InvalidArguments(f"'page': expected a number from 1 to {pages}", argument="page")
        offset = next((offset for offset, name, _ in _parameters(self.uri) if name == "page"), 0)
        return _URI.invalid(offset, f"a page from 1 to {pages}")


def kept_at(result: dict[str, Any]) -> str | None:
    """The URI of the kept result, if a result is the preview of one."""
    uri: object = members(members(result.get("_meta")).get(RESULT)).get("uri")
    return uri if isinstance(uri, str) and _HANDLE.fullmatch(uri) else None


def kept_for(result: dict[str, Any]) -> float:
    """Seconds that the result is kept, as its preview says; `MAX_KEPT_MINUTES` at most, and by default."""
    seconds: object = members(members(result.get("_meta")).get(RESULT)).get("expiresInSeconds")
    longest = MAX_KEPT_MINUTES * 60
    return min(seconds, longest) if isinstance(seconds, int | float) and seconds > 0 else longest


def _parameters(uri: str) -> Iterator[tuple[int, str, str]]:
    base, mark, query = uri.partition("?")
    offset = len(base + mark)
    for parameter in query.split("&") if query else ():
        name, _, value = parameter.partition("=")
        yield offset, unquote(name), value
        offset += len(parameter) + 1


def _number(name: str, text: str, offset: int) -> int:
    if not (_DIGITS.fullmatch(text) and int(text) > 0):
        raise _URI.invalid(offset, f"a {name} from 1")
    return int(text)


def _number_in(arguments: dict[str, Any], name: str) -> int | None:
    value = arguments.get(name)
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
        raise InvalidArguments(f"{name!r}: expected a whole number from 1", argument=name)
    return number


def _projection(fields: list[str], view: str | None) -> Projection:
    if view is None:
        return Projection(include=fields or ["*"])
    if fields:
        raise InvalidProjection("a result is read by either fields or a 'view', not by both")
    return Projection(view=view)
