"""Views: named projections that the author of a tool prepares.

    {"minimal": {"include": ["id", "name"]}, "public": {"exclude": ["**.email"]},
     "contact": {"extends": "minimal", "include": ["email"]},
     "compact": {"include": ["name", "address"], "select": {"name": "name", "town": "address.city"}}}

A list is short for `{"include": [...]}`. Exclude wins over include. `extends` adds paths, and shaping that is unset.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from louver.core.json import is_object, strings
from louver.core.paths.path import FieldPath, check_rows, fold
from louver.core.shaping.options import KEYS, Shaping
from louver.errors import InvalidPath, InvalidView, ProjectionLimit, UnknownView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from louver.core.json import Json

MAX_VIEWS = 256
"""Views of one tool from one source, such as a hint or a file. Each is checked against the tool's schema."""

MAX_SHAPING_VIEWS = 16
"""Views of one tool that shape. Each needs a plan of the whole schema for the tool list."""

MAX_EXTENDS = 32
"""Views in a row that extend one another."""


@dataclass(frozen=True, slots=True)
class View:
    """One named projection, merged with the view that it extends."""

    include: tuple[FieldPath, ...] = ()  # none: everything
    exclude: tuple[FieldPath, ...] = ()
    shaping: Shaping = field(default_factory=Shaping)


@dataclass(frozen=True, slots=True)
class Views:
    named: Mapping[str, View] = field(default_factory=dict[str, View])
    always: tuple[FieldPath, ...] = ()  # added to every include, and to every view that includes

    @classmethod
    def read(cls, views: Mapping[str, Json], always: Sequence[Json] = ()) -> Views:
        """The views of their JSON form; `InvalidView` for another form, too many, or unknown or circular `extends`."""
        if len(views) > MAX_VIEWS:
            raise InvalidView(f"a tool has at most {MAX_VIEWS} views; these are {len(views)}")
        check_rows(part for view in views.values() for part in _texts(view))
        written = {name: _written(name, view) for name, view in views.items()}
        named = {name: _flattened(name, written, ()) for name in written}
        shaping = sum(bool(view.shaping) for view in named.values())
        if shaping > MAX_SHAPING_VIEWS:
            raise InvalidView(f"a tool has at most {MAX_SHAPING_VIEWS} views that shape; these are {shaping}")
        return cls(named, fold(_paths("always", "always", always, deep=False)))

    def joined(self, other: Views) -> Views:
        """These views and `other`; if both have a name, the view of `other` counts."""
        return Views({**self.named, **other.named}, fold((*self.always, *other.always)))

    def each(self, change: Callable[[tuple[FieldPath, ...]], tuple[FieldPath, ...]]) -> Views:
        named = {
            name: View(change(view.include), change(view.exclude), view.shaping.moved(change))
            for name, view in self.named.items()
        }
        return Views(named, change(self.always))

    def without(self, hides: Callable[[FieldPath], bool]) -> Views:
        """These views without hidden paths; a view that keeps nothing, or lacks a selected member, is gone."""

        def left(paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
            return tuple(path for path in paths if not hides(path))

        named: dict[str, View] = {}
        for name, view in self.named.items():
            select = view.shaping.select
            selected = () if select is None else tuple(source.path for _, source in select.members)
            is_whole = left(selected) == selected and (select is None or not hides(select.at))
            kept = View(left(view.include), left(view.exclude), view.shaping)
            if is_whole and (kept.include or not view.include) and (kept.exclude or kept.include or kept.shaping):
                named[name] = kept
        return Views(named, left(self.always))

    def to_json(self) -> Json:
        named = {
            name: [list(map(str, view.include)), list(map(str, view.exclude)), view.shaping.to_json()]
            for name, view in self.named.items()
        }
        return [named, list(map(str, self.always))]

    def find(self, name: str) -> View:
        """The view called `name`; `UnknownView` lists the known ones."""
        view = self.named.get(name)
        if view is None:
            known = ", ".join(repr(known) for known in sorted(self.named)) or "none"
            message = f"view {name[:80]!r} is not a view of this tool: its views are {known}"
            raise UnknownView(message, view=name[:80], views=sorted(self.named))
        return view


_PATHS = ("include", "exclude", "extends")
_EXPECTED = ", ".join(map(repr, (*_PATHS, *KEYS)))


@dataclass(frozen=True, slots=True)
class _Written:
    include: tuple[FieldPath, ...]
    exclude: tuple[FieldPath, ...]
    shaping: Shaping
    extends: str | None


def _texts(view: Json) -> list[str]:
    """What may be field paths of a view."""
    lists: list[Any] = [*view.values()] if is_object(view) else [view]
    return [text for each in lists for text in strings(each)]


def _written(name: str, view: Json) -> _Written:
    parts: Json = view
    if isinstance(view, list | tuple):
        parts = dict[str, Any](include=view)
    if not is_object(parts):
        raise InvalidView(f"view {name!r}: expected a list of field paths, or an object")
    if unknown := sorted(parts.keys() - {*_PATHS, *KEYS}):
        raise InvalidView(f"view {name!r}: expected one of {_EXPECTED}, not {unknown[0]!r}", keys=(unknown[0],))
    if not parts:
        raise InvalidView(f"view {name!r}: expected one of {_EXPECTED}, not nothing")
    extends = parts.get("extends")
    if "extends" in parts and not isinstance(extends, str):
        raise InvalidView(f"view {name!r}: 'extends' is the name of another view")
    include = _paths(name, "include", parts["include"], deep=False) if "include" in parts else ()
    exclude = _paths(name, "exclude", parts["exclude"], deep=True) if "exclude" in parts else ()
    return _Written(include, exclude, Shaping.read(name, parts), extends)


def _paths(view: str, keyword: str, texts: Json, *, deep: bool) -> tuple[FieldPath, ...]:
    if not isinstance(texts, list | tuple):
        raise InvalidView(f"view {view!r}: {keyword!r} is a list of field paths")
    if not texts and keyword != "always":
        raise InvalidView(f"view {view!r}: {keyword!r} has at least one field path; '*' is everything")
    listed: list[Any] = list(texts)  # pyright: ignore[reportUnknownArgumentType] - JSON
    paths: list[FieldPath] = []
    for text in listed:
        if not isinstance(text, str):
            raise InvalidView(f"view {view!r}: {keyword!r} is a list of field paths, each a string")
        try:
            paths.append(FieldPath.parse(text, deep=deep, rows=keyword != "always"))
        except (InvalidPath, ProjectionLimit) as error:
            raise InvalidView(f"view {view!r}: {error.message}") from None
    return tuple(paths)


def _flattened(name: str, written: Mapping[str, _Written], below: tuple[str, ...]) -> View:
    if name in below:
        raise InvalidView(f"view {name!r} extends itself: {' -> '.join((*below, name))}")
    if len(below) == MAX_EXTENDS:
        raise InvalidView(f"view {below[0]!r} extends more than {MAX_EXTENDS} views in a row")
    view = written[name]
    parent = View()
    if view.extends is not None:
        if view.extends not in written:
            raise InvalidView(f"view {name!r} extends {view.extends!r}, which is not a view of this tool")
        parent = _flattened(view.extends, written, (*below, name))
    include, exclude = fold((*parent.include, *view.include)), fold((*parent.exclude, *view.exclude))
    return View(include, exclude, view.shaping.over(parent.shaping))
