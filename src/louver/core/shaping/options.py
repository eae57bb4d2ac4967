"""Shaping: what a view makes of the value that is left, so that it is compact.

What a view says beside its paths, each part optional::

    {"select": {"ts": {"path": "created", "format": "minute"}, "from": "author.email"}, "at": "messages",
     "maxItems": 20, "maxString": 500, "dropNulls": true}

First members are selected (`louver.core.shaping.select`) and written in a format (`louver.core.shaping.formats`), then
everything is made shorter (`louver.core.shaping.shorten`). What the paths leave out is gone before that, so a
shaping never widens anything.

Source: 001 pattern 4; the spelling is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from louver.core.json import Json, is_object
from louver.core.paths.path import FieldPath
from louver.core.shaping.formats import FORMATS
from louver.core.shaping.select import Select, Source
from louver.errors import InvalidPath, InvalidView, ProjectionLimit
from louver.limits import MAX_SELECTED

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = ("select", "at", "maxItems", "maxString", "dropNulls")
"""What of a view is its shaping."""

Keys = tuple[str, ...]
"""The way to something within a view."""


@dataclass(frozen=True, slots=True)
class Shaping:
    """What becomes of the value that is left. `None` is what is not said.

    Args:
        select: Which members objects get.
        max_items: Elements of the longest array.
        max_string: Characters of the longest text.
        drop_nulls: Whether members that are null are left out.
    """

    select: Select | None = None
    max_items: int | None = None
    max_string: int | None = None
    drop_nulls: bool | None = None

    @classmethod
    def read(cls, view: str, parts: dict[str, Any]) -> Shaping:
        """The shaping of a view's JSON form.

        Args:
            view: The view's name, for errors.
            parts: The view; other members are passed over.

        Raises:
            InvalidView: A part has another form; with the way to it.
        """
        reader = _Reader(view)
        if "at" in parts and "select" not in parts:
            raise reader.wrong("'at' says where to select, and there is no 'select'", "at")
        return cls(
            reader.select(parts["select"], parts.get("at", "*")) if "select" in parts else None,
            reader.count("maxItems", parts["maxItems"]) if "maxItems" in parts else None,
            reader.count("maxString", parts["maxString"]) if "maxString" in parts else None,
            reader.flag("dropNulls", parts["dropNulls"]) if "dropNulls" in parts else None,
        )

    def __bool__(self) -> bool:
        """Whether it can change a value."""
        return (self.select, self.max_items, self.max_string) != (None, None, None) or self.drop_nulls is True

    def over(self, other: Shaping) -> Shaping:
        """This shaping, and what it does not say as `other` says it."""
        return Shaping(
            self.select or other.select,
            self.max_items or other.max_items,
            self.max_string or other.max_string,
            other.drop_nulls if self.drop_nulls is None else self.drop_nulls,
        )

    def moved(self, change: Callable[[tuple[FieldPath, ...]], tuple[FieldPath, ...]]) -> Shaping:
        """This shaping at another place."""
        if self.select is None:
            return self
        (at,) = change((self.select.at,))
        return replace(self, select=replace(self.select, at=at))

    def to_json(self) -> dict[str, Any]:
        """The canonical JSON form: the parts that do something."""
        out: dict[str, Any] = {}
        if self.select is not None:
            out["select"] = {name: _written(source) for name, source in self.select.members}
            out |= {"at": str(self.select.at)} if self.select.at.steps else {}
        said = {"maxItems": self.max_items, "maxString": self.max_string, "dropNulls": self.drop_nulls or None}
        return out | {key: value for key, value in said.items() if value is not None}


def _written(source: Source) -> Json:
    path = str(source.path)
    return path if source.format is None else {"path": path, "format": source.format}


class _Reader:
    """Reads the parts of one view."""

    def __init__(self, view: str) -> None:
        self._view = view

    def wrong(self, message: str, *keys: str) -> InvalidView:
        return InvalidView(f"view {self._view!r}: {message}", keys=keys)

    def select(self, members: Json, at: Json) -> Select:
        if not is_object(members) or not members:
            raise self.wrong("'select' has at least one member: name -> field path, or {'path', 'format'}", "select")
        if len(members) > MAX_SELECTED:
            message = f"'select' has at most {MAX_SELECTED} members, this one has {len(members)}"
            raise self.wrong(message, "select")
        sources = tuple((name, self._source(name, source)) for name, source in members.items())
        return Select(sources, self._path(at, "at"))

    def count(self, key: str, value: Json) -> int:
        if type(value) is not int or value < 1:
            raise self.wrong(f"{key!r} is a whole number, at least 1", key)
        return value

    def flag(self, key: str, value: Json) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(f"{key!r} is true or false", key)
        return value

    def _source(self, name: str, source: Json) -> Source:
        keys = ("select", name)
        parts: Json = {"path": source} if isinstance(source, str) else source
        if not is_object(parts) or "path" not in parts:
            message = f"the selected member {name!r} comes from a field path, or from {{'path', 'format'}}"
            raise self.wrong(message, *keys)
        if unknown := sorted(parts.keys() - {"path", "format"}):
            raise self.wrong(f"expected 'path' or 'format', not {unknown[0]!r}", *keys, unknown[0])
        path = self._path(parts["path"], *keys, *(["path"] if is_object(source) else []))
        if not path.steps or None in path.steps:
            message = f"the path {str(path)!r} is to have names only; a name looks through arrays"
            raise self.wrong(message, *keys)
        if "format" in parts and parts["format"] not in list(FORMATS):
            raise self.wrong(f"'format' is one of {', '.join(map(repr, FORMATS))}", *keys, "format")
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise self.wrong(f"the selected member {name!r} holds a lone surrogate, which cannot be sent", *keys)
        return Source(path, parts.get("format"))

    def _path(self, text: Json, *keys: str) -> FieldPath:
        if not isinstance(text, str):
            raise self.wrong(f"{keys[-1]!r} is a field path, a string", *keys)
        try:
            return FieldPath.parse(text)
        except (InvalidPath, ProjectionLimit) as error:
            raise self.wrong(error.message, *keys) from None
