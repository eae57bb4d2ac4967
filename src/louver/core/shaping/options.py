"""Shaping: the part of a view that makes the kept value compact. Source: 001 pattern 4; the spelling is ours.

    {"select": {"ts": {"path": "created", "format": "minute"}, "from": "author.email"}, "at": "messages",
     "maxItems": 20, "maxString": 500, "dropNulls": true}

Members are selected (`select.py`) and written in a format (`formats.py`), then everything is shortened (`shorten.py`).
The view's paths apply first, so a shaping never widens anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from louver.core.json import Json, is_object
from louver.core.paths.path import FieldPath
from louver.core.shaping.select import MemberSource, Select
from louver.core.shaping.shorten import FORMATS
from louver.core.wrapper import from_root
from louver.errors import InvalidPath, InvalidView, ProjectionLimit

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SELECTED = 256
"""Members that a view selects of one object."""


# The keys of a view that are its shaping.
KEYS = ("select", "at", "maxItems", "maxString", "dropNulls")


@dataclass(frozen=True, slots=True)
class Shaping:
    """How the kept value is shaped. `None`: not set."""

    select: Select | None = None
    max_items: int | None = None
    max_string: int | None = None
    drop_nulls: bool | None = None

    @classmethod
    def read(cls, view: str, parts: dict[str, Any]) -> Shaping:
        """The shaping in the JSON form of a view; other members are ignored. `InvalidView` has the keys."""
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
        return (self.select, self.max_items, self.max_string) != (None, None, None) or self.drop_nulls is True

    def over(self, other: Shaping) -> Shaping:
        """This shaping, with what is not set taken from `other`."""
        return Shaping(
            self.select or other.select,
            self.max_items or other.max_items,
            self.max_string or other.max_string,
            other.drop_nulls if self.drop_nulls is None else self.drop_nulls,
        )

    def moved(self, change: Callable[[tuple[FieldPath, ...]], tuple[FieldPath, ...]]) -> Shaping:
        """This shaping with another place of `select`; without `select` if the place is gone."""
        if self.select is None:
            return self
        place = change((self.select.at,))
        return replace(self, select=replace(self.select, at=place[0]) if place else None)

    def to_json(self) -> dict[str, Any]:
        """The canonical JSON form: the parts that have an effect."""
        out: dict[str, Any] = {}
        if self.select is not None:
            out["select"] = {name: _written(source) for name, source in self.select.members}
            out |= {"at": str(self.select.at)} if self.select.at.steps else {}
        bounds = {"maxItems": self.max_items, "maxString": self.max_string, "dropNulls": self.drop_nulls or None}
        return out | {key: value for key, value in bounds.items() if value is not None}


def _written(source: MemberSource) -> Json:
    path = str(source.path)
    return path if source.format is None else {"path": path, "format": source.format}


class _Reader:
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

    def _source(self, name: str, source: Json) -> MemberSource:
        keys = ("select", name)
        parts: Json = {"path": source} if isinstance(source, str) else source
        if not is_object(parts) or "path" not in parts:
            message = f"the selected member {name!r} comes from a field path, or from {{'path', 'format'}}"
            raise self.wrong(message, *keys)
        if unknown := sorted(parts.keys() - {"path", "format"}):
            raise self.wrong(f"expected 'path' or 'format', not {unknown[0]!r}", *keys, unknown[0])
        path = from_root(self._path(parts["path"], *keys, *(["path"] if is_object(source) else [])))
        if not path.steps or None in path.steps:
            message = f"the path {str(path)!r} is to have names only; a name looks through arrays"
            raise self.wrong(message, *keys)
        if "format" in parts and parts["format"] not in list(FORMATS):
            raise self.wrong(f"'format' is one of {', '.join(map(repr, FORMATS))}", *keys, "format")
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise self.wrong(f"the selected member {name!r} holds a lone surrogate, which cannot be sent", *keys)
        return MemberSource(path, parts.get("format"))

    def _path(self, text: Json, *keys: str) -> FieldPath:
        if not isinstance(text, str):
            raise self.wrong(f"{keys[-1]!r} is a field path, a string", *keys)
        try:
            return FieldPath.parse(text)
        except (InvalidPath, ProjectionLimit) as error:
            raise self.wrong(error.message, *keys) from None
