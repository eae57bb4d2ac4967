"""Kept results on the wire: URIs, and calls of the tool for models, that read a result or a part of it.

louver://results/<handle>?fields=items.id,total    these fields; also `fields=items.id&fields=total`
louver://results/<handle>?view=minimal             a view of the tool
louver://results/<handle>?page=2                   the second hundred elements of the longest array
read_result {"handle": "<handle>", "output_fields": ["items.id", "total"]}    or "fields"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from louver.core.json import members
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
_PARAMETERS = ("fields", "view", "page")

READ_RESULT: Final[dict[str, Any]] = {
    "name": RESULT_TOOL,
    "title": "Read a kept result",
    "description": "Read part of an answer that was too large to send: some fields, or a page of its longest list.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "As the answer gave it."},
            ARGUMENT: {"type": "array", "items": {"type": "string"}, "description": "Field paths."},
            "view": {"type": "string", "description": "A view of the tool, instead of fields."},
            "page": {"type": "integer", "description": "From 1."},
        },
        "required": ["handle"],
    },
    "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
}


@dataclass(frozen=True, slots=True)
class Read:
    handle: str
    projection: Projection
    page: int | None = None  # from 1; `None` is all of it
    uri: str | None = None  # if the request is by a URI

    @classmethod
    def of(cls, uri: str) -> Read:
        """Parse a URI. A comma separates paths; an escaped comma is part of a path."""
        _URI.check_length(uri)
        _URI.check(uri)
        base, _, _ = uri.partition("?")
        fields: list[str] = []
        view = page = None
        for offset, name, value in _parameters(uri):
            if name == "fields":
                fields += [unquote(path) for path in value.split(",")]
            elif name == "view" and view is None:
                view = unquote(value)
            elif name == "page" and page is None:
                page = _page(unquote(value), offset)
            else:
                once = " once" if name in _PARAMETERS else ""
                raise _URI.invalid(offset, f"one of {', '.join(map(repr, _PARAMETERS))}{once}")
        return cls(base.removeprefix(RESULTS_URI), _projection(fields, view), page, uri)

    @classmethod
    def by_arguments(cls, arguments: dict[str, Any]) -> Read:
        """Parse the arguments of the tool; null and empty count as left out."""
        given = {name: value for name, value in arguments.items() if value not in (None, "", [], {}, 0)}
        if unknown := given.keys() - {*READ_RESULT["inputSchema"]["properties"], "fields"}:
            name = min(unknown)[:80]
            expected = ", ".join(map(repr, READ_RESULT["inputSchema"]["properties"]))
            raise InvalidArguments(f"{name!r} is no argument: {RESULT_TOOL!r} takes {expected}", argument=name)
        handle, view, page = given.get("handle"), given.get("view"), given.get("page")
        if not isinstance(handle, str):
            raise InvalidArguments("'handle': expected the text that the answer gave", argument="handle")
        if view is not None and not isinstance(view, str):
            raise InvalidArguments("'view': expected the name of a view", argument="view")
        number = int(page) if isinstance(page, str) and _DIGITS.fullmatch(page) else page
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise InvalidArguments("'page': expected a whole number from 1", argument="page")
        fields = given.get(ARGUMENT, given.get("fields"))
        projection = requested_by_argument(fields) or _projection([], view)
        if view is not None and fields is not None:
            _projection(["*"], view)
        return cls(handle.removeprefix(RESULTS_URI).partition("?")[0], projection, number)

    def to_uri(self) -> str:
        if self.uri is not None:
            return self.uri
        if self.projection.mode == "exclude":
            raise InvalidArguments(
                f"{ARGUMENT!r}: of this answer, only paths to include can be read", argument=ARGUMENT
            )
        named = {
            "view": self.projection.name,
            "fields": ",".join(quote(str(path), "") for path in self.projection.fields),
        }
        parts = [f"{name}={quote(value, ',%')}" for name, value in named.items() if value]
        parts += [] if self.page is None else [f"page={self.page}"]
        return f"{RESULTS_URI}{self.handle}?{'&'.join(parts)}"

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


def _page(text: str, offset: int) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise _URI.invalid(offset, "a page from 1")
    return int(text)


def _projection(fields: list[str], view: str | None) -> Projection:
    if view is None:
        return Projection(include=fields or ["*"])
    if fields:
        raise InvalidProjection("a result is read by either fields or a 'view', not by both")
    return Projection(view=view)
