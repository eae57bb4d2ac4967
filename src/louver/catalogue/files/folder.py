"""Files about tools: a folder with one file a tool, read again when a file changes.

    views/get_issue.views.json            read by `louver.catalogue.files.views`
    schemas/get_issue.output.schema.json  read by `louver.catalogue.files.output_schemas`
    tool_descriptions/get_issue.json      read by `louver.catalogue.files.descriptions`

If a file becomes invalid, or the folder disappears, the error is logged and the last valid files stay in force.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from louver.catalogue.files.line_numbers import line_of_second
from louver.catalogue.files.open_regular import regular
from louver.core import json
from louver.errors import InvalidDescription, InvalidPolicy, InvalidSchema, InvalidView

if TYPE_CHECKING:
    import logging
    from pathlib import Path

    from louver.core.json import Json

Invalid = type[InvalidView] | type[InvalidSchema] | type[InvalidDescription] | type[InvalidPolicy]


Opener = Callable[[str, int], int]


class _File(Protocol):
    @property
    def tool(self) -> str: ...

    @property
    def path(self) -> Path: ...


File = TypeVar("File", bound=_File)


def read_json(path: Path, what: str, invalid: Invalid, opener: Opener = regular) -> tuple[Json, str]:
    """The JSON value in a file, and the text for line numbers; `what` names the content in errors."""
    try:
        with open(path, encoding="utf-8", newline="", opener=opener) as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise invalid(f"the file of {what} cannot be read: {reason}", file=str(path)) from None
    try:
        return json.parse(text), text
    except json.NotJson as error:
        line = error.line if error.key is None else line_of_second(text)
        raise invalid(f"not JSON: {error.reason}", file=str(path), line=line) from None


class Folder(Generic[File]):
    def __init__(
        self,
        folder: Path,
        suffix: str,
        read: Callable[[Path], File],
        what: str,
        invalid: Invalid,
        logger: logging.Logger,
    ) -> None:
        self._folder = folder
        self._suffix = suffix
        self._read = read
        self._what = what
        self._invalid = invalid
        self._logger = logger
        self._stamps: dict[Path, int] | None = None
        self._files: dict[str, File] = {}
        self._load()

    def find(self, tool: str) -> File | None:
        return self._files.get(tool)

    def refresh(self) -> None:
        if self._stamps == self._now():
            return
        try:
            self._load()
        except (InvalidView, InvalidSchema, InvalidDescription) as error:
            self._stamps = self._now()
            self._logger.error("%s stay as they were: %s", self._what, error)

    def tools(self) -> list[str]:
        return sorted(self._files)

    def _load(self) -> None:
        stamps = self._now()
        if stamps is None:
            problem = "cannot be read" if os.path.isdir(self._folder) else "is not there"
            raise self._invalid(f"the folder of {self._what} {problem}", file=str(self._folder))
        files: dict[str, File] = {}
        for path in sorted(stamps):
            file = self._read(path)
            if file.tool in files:
                other = files[file.tool].path.name
                message = f"the {self._what} of tool {file.tool!r} stand in {other!r} already"
                raise self._invalid(message, file=str(path))
            files[file.tool] = file
        self._stamps, self._files = stamps, files

    def _now(self) -> dict[Path, int] | None:
        """The files and when they were changed, in ns; `None` if the folder cannot be read."""
        stamps: dict[Path, int] = {}
        # Not by `glob`, to which a folder that is closed to the user is an empty one.
        try:
            with os.scandir(self._folder) as entries:
                paths = [self._folder / entry.name for entry in entries if entry.name.endswith(self._suffix)]
            for path in paths:
                # The file is gone since it was listed, or is an editor's lock: a dangling symlink.
                with suppress(FileNotFoundError):
                    stamps[path] = path.stat().st_mtime_ns
        except OSError:
            return None
        # Checked last: the folder may disappear during the loop.
        return stamps if os.path.isdir(self._folder) else None
