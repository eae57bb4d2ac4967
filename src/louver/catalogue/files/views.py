"""Views as files: `<tool>.views.json`, read again when they change (`louver.catalogue.files.folder`).

{"$schema": "...", "tool": "get_user_profile", "always": ["id"], "default": "minimal",
 "views": {"minimal": {"include": ["name"]}, "public": {"exclude": ["**.email"]},
           "contact": {"extends": "minimal", "include": ["email"]},
           "compact": {"select": {"name": "name", "town": "address.city"}, "dropNulls": true}}}
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.files.folder import Folder, read_json
from louver.catalogue.files.line_numbers import Place, line_of, spots
from louver.core.json import is_object, parse
from louver.core.nearest import did_you_mean
from louver.core.paths.path import FieldPath
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import View, Views
from louver.core.schema import known_fields
from louver.core.shaping.options import Shaping
from louver.core.wrapper import text_wrapper, within
from louver.errors import InvalidProjection, InvalidView, ProjectionLimit
from louver.limits import MAX_VIEWS_STEPS
from louver.shipped import folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from louver.catalogue.files.line_numbers import Spot
    from louver.core.json import Schema


logger = logging.getLogger(__name__)

SUFFIX = ".views.json"
SCHEMA = "https://louver.dev/schemas/view-file.schema.json"
_KEYS = ("$schema", "tool", "always", "default", "views")


def file_name(tool: str) -> str:
    """A name for the file of a tool's views."""
    # The server chooses the tool's name, and slashes in it would lead out of the folder.
    return re.sub(r"[^A-Za-z0-9_.-]", "_", tool) + SUFFIX


@dataclass(frozen=True, slots=True)
class ViewFile:
    tool: str
    views: Views
    default: str | None  # the view for calls without a request
    path: Path
    text: str  # for line numbers

    @classmethod
    def read(cls, path: Path) -> ViewFile:
        content, text = read_json(path, "views", InvalidView)
        return cls(*_content(content, path, text), path, text)

    def check(self, schema: Schema) -> None:
        """Refuse a view that names a field which the output schema cannot have."""
        problem = find_mismatch(self.views, schema)
        if problem is not None:
            line = _line_of(self.text, problem)
            message = f"tool {self.tool!r}: {problem.message}"
            raise InvalidView(message, file=str(self.path), line=line)


@dataclass(frozen=True, slots=True)
class ViewMismatch:
    path: FieldPath
    message: str
    place: Place


def find_mismatch(views: Views, schema: Schema) -> ViewMismatch | None:
    return next(find_mismatches(views, schema), None)


def find_mismatches(views: Views, schema: Schema) -> Iterator[ViewMismatch]:
    """The first unknown path of each view, and of `always`."""
    if text_wrapper(schema) is not None:
        # The text may be any JSON.
        return
    named = [(("always",), "'always'", View(views.always))]
    named += [(("views", name), f"view {name!r}", view) for name, view in views.named.items()]
    paths = known_fields.Known(schema, MAX_VIEWS_STEPS)
    for place, where, view in named:
        problem = _unknown(view, schema, paths) or _unshapeable(views, view, schema)
        if problem is not None:
            path, message = problem
            yield ViewMismatch(path, f"{where} {message}", place)


def _unknown(view: View, schema: Schema, paths: known_fields.Known) -> tuple[FieldPath, str] | None:
    included = frozenset(view.include)
    for path in (*view.include, *view.exclude):
        include, exclude = ((path,), ()) if path in included else ((), (path,))
        for meant in paths.unmatched(within(schema, include), within(schema, exclude)).values():
            hint = "" if meant is None else f"; did you mean {str(meant)!r}?"
            return path, f"names {str(path)!r}, which the output cannot have{hint}"
    return None


def _unshapeable(views: Views, view: View, schema: Schema) -> tuple[FieldPath, str] | None:
    """The first selected path that the view's own include and exclude do not keep, and an error text."""
    if not view.shaping:
        return None
    before = Views({COMPACT: replace(view, shaping=Shaping())}, views.always)
    try:
        kept = compile_projection(Projection(view=COMPACT), schema, views=before).schema
    except ProjectionLimit as error:
        # The listed output schema is made from the view's plan, so the plan must be possible.
        return view.include[0] if view.include else view.exclude[0], f"is not possible: {error.message}"
    select = view.shaping.select
    if select is None:
        return None
    # Of an output that looks wrapped, the derived schema says less than the declared one.
    paths = known_fields.Known(kept if view.include or view.exclude or views.always else schema)
    for part in (select.at, *(source.path for _, source in select.members)):
        path = select.at if part is select.at else FieldPath((*select.at.steps, *part.steps))
        for meant in paths.unmatched(within(schema, (path,))).values():
            hint = "" if meant is None else f"; did you mean {str(meant)!r}?"
            return part, f"selects {str(path)!r}, which is not among what it keeps{hint}"
    return None


class ViewFolder(Folder[ViewFile]):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SUFFIX, ViewFile.read, "views", InvalidView, logger)


def _content(content: Any, path: Path, text: str) -> tuple[str, Views, str | None]:
    def wrong(message: str, line: int | None = 1) -> InvalidView:
        return InvalidView(message, file=str(path), line=line)

    if not is_object(content):
        raise wrong("a file of views is an object with 'tool' and 'views'")
    for key in content:
        if key not in _KEYS:
            expected = f"expected one of {', '.join(map(repr, _KEYS))}{did_you_mean(key, _KEYS)}"
            raise wrong(f"unknown key {key!r}: {expected}", line_of(text, (key,)))
    tool, views, always = content.get("tool"), content.get("views"), content.get("always", [])
    default = content.get("default")
    if not isinstance(tool, str) or not tool:
        raise wrong("a file of views has the tool's name in 'tool'", line_of(text, ("tool",)) or 1)
    if not is_object(views):
        raise wrong("a file of views has an object of views in 'views'", line_of(text, ("views",)) or 1)
    if "default" in content and not (isinstance(default, str) and default):
        raise wrong("'default' is the name of a view", line_of(text, ("default",)))
    try:
        return tool, Views.read(views, always), default
    except InvalidView as error:
        raise wrong(error.message, _line_of_wrong(text, error, views)) from None


def _line_of_wrong(text: str, error: InvalidView, views: dict[str, Any]) -> int | None:
    """The line of the error's keys, else of the string that the message quotes, else of the view."""
    message = error.message
    name = next((name for name in views if message.startswith(f"view {name!r}")), None)
    place = ("always",) if name is None else ("views", name)
    if error.keys:
        return line_of(text, (*place, *error.keys))
    rest = message if name is None else message.removeprefix(f"view {name!r}")
    quoted = (spot.line for spot in _values(text, place) if repr(spot.text) in rest)
    return next(quoted, line_of(text, place))


def _line_of(text: str, problem: ViewMismatch) -> int | None:
    """The line of the path, however it is spelled there, in the view or in one that it extends."""
    for place in (problem.place, ("views",)):
        for spot in _values(text, place):
            try:
                written = FieldPath.parse(spot.text, deep=True, rows=True)
            except InvalidProjection:
                continue
            if written == problem.path:
                return spot.line
    return None


def _values(text: str, place: Place) -> Iterator[Spot]:
    return (spot for spot in spots(text) if spot.place[: len(place)] == place and not spot.is_key)


# What a suggested view is called.
COMPACT: Final = "compact"


def ready_views(server: str | None) -> ViewFolder | None:
    """The views that ship for a server, by its `serverInfo.name`."""
    return None if server not in (folders := ready_folders()) else _read(folders[server])


@cache
def ready_folders() -> dict[str, str]:
    """`serverInfo.name` -> the folder of its views."""
    return parse((folder("views") / "servers.json").read_text("utf-8"))


@cache
def _read(name: str) -> ViewFolder:
    return ViewFolder(folder("views") / name)
