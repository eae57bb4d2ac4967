"""Views as files: `<tool>.views.json`, one a tool.

::

    {"$schema": "...", "tool": "get_user_profile", "always": ["id"],
     "views": {"minimal": {"include": ["name"]},
               "public":  {"exclude": ["**.email"]},
               "contact": {"extends": "minimal", "include": ["email"]}}}

A file is read when the server starts and again when it changes. What is wrong
with it is told by file and line. A file that was right and is changed to
something wrong leaves the last good views in force.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.core import json, known
from louver.core.json import is_object
from louver.core.path import FieldPath
from louver.core.plan import within
from louver.core.view import Views
from louver.errors import InvalidProjection, InvalidView

if TYPE_CHECKING:
    from pathlib import Path

    from louver.core.json import Schema

logger = logging.getLogger(__name__)

SUFFIX = ".views.json"
_KEYS = ("$schema", "tool", "always", "views")


@dataclass(frozen=True, slots=True)
class ViewFile:
    """The views of one tool as a file says them.

    Args:
        tool: The tool's name.
        views: Its views.
        path: The file.
        text: The file's text, to tell lines by.
    """

    tool: str
    views: Views
    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> ViewFile:
        """The views in the file at `path`.

        Raises:
            InvalidView: The file cannot be read, or is not a file of views; with file and line.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InvalidView(f"the file of views cannot be read: {reason}", file=str(path)) from None
        try:
            content = json.parse(text)
        except json.NotJson as error:
            line = error.line if error.key is None else _line(text, error.key, occurrence=2)
            raise InvalidView(f"not JSON: {error.reason}", file=str(path), line=line) from None
        return cls(*_content(content, path, text), path, text)

    def check(self, schema: Schema) -> None:
        """Hold the views against the tool's output schema.

        Raises:
            InvalidView: A view names a field that the schema cannot have; with file and line.
        """
        problem = misfit(self.views, schema)
        if problem is not None:
            line = _line_of(self.text, problem.path)
            message = f"tool {self.tool!r}: {problem.message}"
            raise InvalidView(message, file=str(self.path), line=line)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A path of a view that the tool's output cannot have."""

    path: FieldPath
    message: str


def misfit(views: Views, schema: Schema) -> Misfit | None:
    """The first path in `views` that `schema` does not know, if any."""
    named = [(f"view {name!r}", (*view.include, *view.exclude)) for name, view in views.named.items()]
    for where, paths in [("'always'", views.always), *named]:
        for path in paths:
            for meant in known.unmatched(schema, within(schema, (path,))).values():
                hint = "" if meant is None else f"; did you mean {str(meant)!r}?"
                return Misfit(path, f"{where} names {str(path)!r}, which the output cannot have{hint}")
    return None


class ViewFolder:
    """The files of views in one folder, as they are now.

    Args:
        folder: Where `*.views.json` stand.

    Raises:
        InvalidView: A file in it is wrong, or two are of one tool.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InvalidView("the folder of views is not there", file=str(folder))
        self._folder = folder
        self._stamps: dict[Path, int] = {}
        self._files: dict[str, ViewFile] = {}
        self._load()

    def find(self, tool: str) -> ViewFile | None:
        """The views of `tool`; a changed file is read again, a changed one that is wrong is logged."""
        if self._stamps != self._now():
            try:
                self._load()
            except InvalidView as error:
                self._stamps = self._now()
                logger.error("views stay as they were: %s", error)
        return self._files.get(tool)

    def tools(self) -> list[str]:
        """The tools that have a file."""
        return sorted(self._files)

    def _load(self) -> None:
        stamps = self._now()
        files: dict[str, ViewFile] = {}
        for path in sorted(stamps):
            file = ViewFile.read(path)
            if file.tool in files:
                other = files[file.tool].path.name
                raise InvalidView(f"the views of tool {file.tool!r} stand in {other!r} already", file=str(path))
            files[file.tool] = file
        self._stamps, self._files = stamps, files

    def _now(self) -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in self._folder.glob(f"*{SUFFIX}")}


def _content(content: Any, path: Path, text: str) -> tuple[str, Views]:
    def wrong(message: str, near: str | None = None) -> InvalidView:
        return InvalidView(message, file=str(path), line=1 if near is None else _line(text, near))

    if not is_object(content):
        raise wrong("a file of views is an object with 'tool' and 'views'")
    for key in content:
        if key not in _KEYS:
            raise wrong(f"unknown key {key!r}: expected one of {', '.join(map(repr, _KEYS))}", key)
    tool, views, always = content.get("tool"), content.get("views"), content.get("always", [])
    if not isinstance(tool, str) or not tool:
        raise wrong("a file of views has the tool's name in 'tool'")
    if not is_object(views):
        raise wrong("a file of views has an object of views in 'views'")
    try:
        return tool, Views.read(views, always)
    except InvalidView as error:
        view = next((name for name in views if repr(name) in error.message), "always")
        raise wrong(error.message, view) from None


def _line(text: str, key: str, occurrence: int = 1) -> int | None:
    """The line, from 1, where a string stands in a JSON text; `None` if it is written otherwise there."""
    at = -1
    for _ in range(occurrence):
        at = text.find(json.compact(key), at + 1)
    return None if at < 0 else text.count("\n", 0, at) + 1


def _line_of(text: str, path: FieldPath) -> int | None:
    """The line, from 1, where a path stands in a JSON text, however it is written there."""
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"', text):
        try:
            written = FieldPath.parse(json.parse(found.group()), deep=True)
        except (ValueError, InvalidProjection):
            continue
        if written == path:
            return text.count("\n", 0, found.start()) + 1
    return None
