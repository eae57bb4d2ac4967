"""A view that was picked in the page, and what saving it changes in the folder of its server's views.

change = view_change(folder, "get_issue", "brief", Projection(include=["title"]))
change.lines     ["--- get_issue.views.json", "+++ get_issue.views.json with view 'brief'", ...]
change.save()    the file is replaced at once, if it is still what it was
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.views import SCHEMA, SUFFIX, ViewFile, file_name
from louver.cli.json_streams import pretty
from louver.core.json import digest, parse
from louver.core.projection.view import Views
from louver.desk.hosts.swap import exchange
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from louver.core.projection.request import Projection

MAX_VIEW_NAME = 64
"""Characters of a view's name that can be saved."""


@dataclass(frozen=True, slots=True)
class ViewChange:
    file: Path
    before: str  # empty, if there is no file yet
    after: str
    view: str

    @property
    def lines(self) -> list[str]:
        """A unified diff."""
        before, after, name = self.before.splitlines(), self.after.splitlines(), self.file.name
        return [*unified_diff(before, after, name, f"{name} with view {self.view!r}", lineterm="")]

    @property
    def digest(self) -> str:
        """What a save is asked by, so that it is of the change that was shown."""
        return digest([str(self.file), self.before, self.after])

    def save(self) -> None:
        """Write the file; LouverError if it cannot be written, or has changed meanwhile."""
        if self.before:
            mode = self.file.stat().st_mode & 0o777
            exchange(self.file, self.before.encode(), self.after.encode(), mode)
            return
        try:
            # Not over a file of another tool, whose name may give the same one.
            with self.file.open("x", encoding="utf-8") as out:
                out.write(self.after)
        except OSError as error:
            raise InvalidInput(f"{self.file} cannot be written: {error.strerror}") from None


def view_change(folder: Path, tool: str, view: str, projection: Projection, *, is_default: bool = False) -> ViewChange:
    """The change that adds a view of a tool, or replaces it; `is_default`: for calls without a request, too.

    Raises:
        InvalidInput: The view has no usable name.
        InvalidView: The folder's files are not valid, or would not be.
    """
    if not (view.isprintable() and 0 < len(view) <= MAX_VIEW_NAME):
        raise InvalidInput(f"'name': expected the view's name, of at most {MAX_VIEW_NAME} characters")
    known = next((each for each in map(ViewFile.read, sorted(folder.glob(f"*{SUFFIX}"))) if each.tool == tool), None)
    file, before = (folder / file_name(tool), "") if known is None else (known.path, known.text)
    content: dict[str, Any] = {"$schema": SCHEMA, "tool": tool, "views": {}} if known is None else parse(before)
    content["views"][view] = {projection.mode: [*map(str, projection.fields)]}
    if is_default:
        content["default"] = view
    Views.read(content["views"], content.get("always", []))
    after = pretty(content)
    return ViewChange(file, before, after.replace("\n", "\r\n") if "\r\n" in before else after, view)
