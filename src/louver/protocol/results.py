"""Kept results on the wire: what is said of one in place of the answer, and the URI by which parts of it are read.

::

    louver://results/<handle>                          all of it
    louver://results/<handle>?fields=items.id,total    these fields; also `fields=items.id&fields=total`
    louver://results/<handle>?view=minimal             a view of the tool
    louver://results/<handle>?page=2                   the second hundred elements of the longest array

A comma separates paths; one that is escaped (`%2C`) is part of a path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from louver.core.json import members
from louver.core.projection import Projection
from louver.errors import InvalidProjection
from louver.limits import MAX_KEPT_MINUTES
from louver.protocol.names import RESULT, RESULTS_URI
from louver.protocol.uris import UriForm

if TYPE_CHECKING:
    from collections.abc import Iterator

_URI = UriForm("a URI of a result", f"{RESULTS_URI}HANDLE?fields=id,name&page=1")
_HANDLE = re.compile(re.escape(RESULTS_URI) + r"[^?#]+")
_PARAMETERS = ("fields", "view", "page")


@dataclass(frozen=True, slots=True)
class Read:
    """What is to be read of a result.

    Args:
        handle: Which one.
        projection: What of it is kept.
        page: Which page, from 1; `None` is all of it.
    """

    handle: str
    projection: Projection
    page: int | None = None

    @classmethod
    def of(cls, uri: str) -> Read:
        """What a URI reads.

        Raises:
            InvalidUri: It cannot be read; with `offset` in code points from 0 and `expected`.
            InvalidProjection: Its fields are no paths, or stand beside a view.
        """
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
        return cls(base.removeprefix(RESULTS_URI), _projection(fields, view), page)


def kept_at(result: dict[str, Any]) -> str | None:
    """The URI of what is kept instead of an answer, if the answer is a preview of that."""
    uri: object = members(members(result.get("_meta")).get(RESULT)).get("uri")
    return uri if isinstance(uri, str) and _HANDLE.fullmatch(uri) else None


def kept_for(result: dict[str, Any]) -> float:
    """How long that is kept, in seconds, as the preview says; `MAX_KEPT_MINUTES` at most, and if it does not say."""
    seconds: object = members(members(result.get("_meta")).get(RESULT)).get("expiresInSeconds")
    longest = MAX_KEPT_MINUTES * 60
    return min(seconds, longest) if isinstance(seconds, int | float) and seconds > 0 else longest


def out_of_pages(uri: str, pages: int) -> Exception:
    """The refusal of a page that there is not."""
    offset = next((offset for offset, name, _ in _parameters(uri) if name == "page"), 0)
    return _URI.invalid(offset, f"a page from 1 to {pages}")


def _parameters(uri: str) -> Iterator[tuple[int, str, str]]:
    """Where each parameter of a query begins, its name, and its value as it is written."""
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
        return Projection.include(*(fields or ["*"]))
    if fields:
        raise InvalidProjection("a result is read by either 'fields' or a 'view', not by both")
    return Projection.view(view)
