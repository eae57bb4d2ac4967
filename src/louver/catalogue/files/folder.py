"""Files about tools in one folder, one a tool, as they are now.

::

    views/get_issue.views.json            what `louver.catalogue.files.views` reads
    schemas/get_issue.output.schema.json  what `louver.catalogue.files.output_schemas` reads
    tool_descriptions/get_issue.json      what `louver.catalogue.files.descriptions` reads

A file is read when the server starts and again when it changes. What is wrong
with it is told by file and line. A file that was right and is changed to
something wrong leaves the last good files in force; so does a folder that goes away.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from louver.catalogue.files.line_numbers import line_of_second
from louver.catalogue.files.open_regular import regular
from louver.core import json
from louver.errors import InvalidDescription, InvalidPolicy, InvalidSchema, InvalidView

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable
    from pathlib import Path

    from louver.core.json import Json

Invalid = type[InvalidView] | type[InvalidSchema] | type[InvalidDescription] | type[InvalidPolicy]


class _File(Protocol):
    @property
    def tool(self) -> str: ...

    @property
    def path(self) -> Path: ...


File = TypeVar("File", bound=_File)


def read_json(path: Path, what: str, invalid: Invalid) -> tuple[Json, str]:
    """The JSON value in a file, and the file's text to tell lines by.

    Args:
        path: The file.
        what: What it holds, for example `views`.
        invalid: The error of such a file.

    Raises:
        LouverError: Of the kind that was given: the file cannot be read, or is not JSON; with file and line.
    """
    try:
        with open(path, encoding="utf-8", opener=regular) as file:
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
    """The files of one folder.

    Args:
        folder: Where they stand.
        suffix: How their names end.
        read: Reads one.
        what: What they hold, for example `views`.
        invalid: The error of such a file.
        logger: Told of a change to something wrong.

    Raises:
        LouverError: Of the kind that was given: the folder is not there, a file in it is wrong, or two are of one tool.
    """

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
        """The file of `tool`, as it was read last."""
        return self._files.get(tool)

    def refresh(self) -> None:
        """Read files that have changed again; one that is wrong now is logged, and nothing changes."""
        if self._stamps == self._now():
            return
        try:
            self._load()
        except (InvalidView, InvalidSchema, InvalidDescription) as error:
            self._stamps = self._now()
            self._logger.error("%s stay as they were: %s", self._what, error)

    def tools(self) -> list[str]:
        """The tools that have a file."""
        return sorted(self._files)

    def _load(self) -> None:
        stamps = self._now()
        if stamps is None:
            raise self._invalid(f"the folder of {self._what} is not there", file=str(self._folder))
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
        """The files that there are, and when they were changed; `None` if the folder is not there."""
        stamps: dict[Path, int] = {}
        for path in self._folder.glob(f"*{self._suffix}"):
            # Gone since it was listed, or an editor's lock, which is a link that leads nowhere.
            with suppress(FileNotFoundError):
                stamps[path] = path.stat().st_mtime_ns
        # Looked at last: a folder may go while it is read.
        return stamps if self._folder.is_dir() else None
