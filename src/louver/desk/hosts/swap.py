"""Change a host's file and restore it, byte for byte.

    ~/.config/louver/hosts/cursor-1f2e3d4c/    before     the file as it was
                                               after      the file with Louver
                                               swap.json  {"host": "cursor", "file": "...", "place": [...], "mode": 420}
                                               mcp.json   Louver's configuration, with views and learned fields

The file is exchanged as a whole, and only if it still is what was read. Others than its owner must not be able to
write it. Of a link, the file behind it is changed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from louver.catalogue.files.open_regular import trusted
from louver.core.json import digest, members
from louver.core.json import parse as parse_json
from louver.desk.hosts.edit import restore_servers
from louver.desk.hosts.read import decode, encode, read_bytes
from louver.errors import InvalidConfig, InvalidInput, LouverError

if TYPE_CHECKING:
    from collections.abc import Generator

    from louver.catalogue.files.line_numbers import Place
    from louver.desk.hosts.table import HostSource, Machine

_RECORD = "swap.json"


class Undone(NamedTuple):
    lines: str  # that have changed since Louver was put into the file
    is_left: bool = False  # unchanged, because its servers have changed


@dataclass(frozen=True, slots=True)
class Swap:
    """Louver in one host's file: the folder with what is needed to undo it."""

    folder: Path
    host: str
    file: Path  # not a link
    place: Place  # of the servers in the file
    mode: int

    @property
    def is_recorded(self) -> bool:
        return self.folder in _times(self.folder.parent)

    @property
    def before(self) -> bytes:
        return read_bytes(self.folder / "before")

    @property
    def after(self) -> bytes:
        return read_bytes(self.folder / "after")

    @classmethod
    def read(cls, folder: Path) -> Swap:
        try:
            content = members(parse_json((folder / _RECORD).read_text("utf-8")))
            mode = stat.S_IMODE(content["mode"])
            return cls(folder, content["host"], Path(content["file"]), tuple(content["place"]), mode)
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            raise InvalidInput(f"{folder} does not hold what is needed to undo: restore its file 'before'") from None

    def write(self, before: bytes, after: bytes) -> None:
        """Store what is needed to undo; the record comes last."""
        write_private(self.folder / "before", before)
        write_private(self.folder / "after", after)
        record = {"host": self.host, "file": str(self.file), "place": [*self.place], "mode": self.mode}
        part = self.folder / f"{_RECORD}.part"
        write_private(part, json.dumps(record).encode())
        part.replace(self.folder / _RECORD)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other processes from the folders of swaps."""
        self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.folder.parent, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def undo(self) -> Undone:
        """Restore the file or its servers, and remove the folder; do nothing if its servers have changed since."""
        with self.locked():
            # Another process may have undone it meanwhile.
            return self._undo() if self.is_recorded else Undone("")

    def remove(self) -> None:
        """Remove the folder; the record first, since without it the rest means nothing."""
        try:
            (self.folder / _RECORD).unlink(missing_ok=True)
            shutil.rmtree(self.folder)
        except OSError as error:
            why = f"{self.folder} cannot be removed: {error.strerror}"
            raise LouverError(f"{self.file} has its servers from before Louver, but {why}") from None

    def _undo(self) -> Undone:
        current, before, after = read_bytes(self.file), self.before, self.after
        mode = stat.S_IMODE(self.file.stat().st_mode)
        if current in (before, after):
            restored, undone = before, Undone("")
        else:
            first, second, third = (decode(each, self.file) for each in (before, after, current))
            text = restore_servers(first, second, third, self.file, self.place)
            undone = Undone(_changed_lines(after, current), is_left=text is None)
            if text is None:
                return undone
            restored = encode(text, current)
        if (current, mode) != (restored, self.mode):
            exchange(self.file, current, restored, mode if undone.lines else self.mode)
        with suppress(OSError):
            _part(self.file)
        self.remove()
        return undone


def swap_for(machine: Machine, source: HostSource) -> Swap:
    """The swap for a place of a host's file, which may not have happened yet."""
    path = source.path.resolve()
    folder = _folder(machine) / f"{source.host.name}-{digest([str(path), list(source.place)])[:8]}"
    return Swap(folder, source.host.name, path, source.place, stat.S_IMODE(path.stat().st_mode))


def recorded(machine: Machine) -> list[Path]:
    """The folders of swaps that can be undone, last first: one file can have had several."""
    times = _times(_folder(machine))
    return sorted(times, key=lambda folder: -times[folder])


def _times(parent: Path) -> dict[Path, int]:
    """The folders of swaps, with the times of their records."""
    times: dict[Path, int] = {}
    try:
        for folder in parent.iterdir():
            # Another process may undo it meanwhile.
            with suppress(FileNotFoundError, NotADirectoryError):
                times[folder] = (folder / _RECORD).stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise LouverError(f"{parent} cannot be read: {error.strerror}") from None
    return times


def _folder(machine: Machine) -> Path:
    return machine.settings_folder / "louver" / "hosts"


def check_can_write(file: Path) -> None:
    """Raise if the file is not the user's own, if others can write it, or if the user cannot."""
    try:
        with open(file, "rb", opener=trusted) as opened:
            found = os.fstat(opened.fileno())
    except OSError as error:
        raise InvalidConfig(f"the file is not changed: {error.strerror}", file=str(file)) from None
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise InvalidConfig("the file is not changed: it belongs to another user", file=str(file))
    if not found.st_mode & stat.S_IWUSR:
        raise InvalidConfig(f"the file is not changed: it is read-only, until chmod u+w {file}", file=str(file))


def check_unchanged(file: Path, expected: bytes) -> None:
    """Raise if the file is not what was expected."""
    if read_bytes(file) != expected:
        raise InvalidConfig("the file has changed meanwhile, and stays as it is: try again", file=str(file))


def exchange(file: Path, expected: bytes, content: bytes, mode: int) -> None:
    """Replace a file at once, with a mode; raise if it is not what was expected."""
    check_can_write(file)
    # It may have become a link since Louver was put into it.
    file = file.resolve()
    try:
        part = _part(file)
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with open(number, "wb") as out:
                out.write(content)
                with suppress(PermissionError):
                    os.fchown(number, -1, file.stat().st_gid)
                os.fchmod(number, mode)
                out.flush()
                os.fsync(number)
            # Read again as late as possible: the host may have written it meanwhile.
            check_unchanged(file, expected)
            os.replace(part, file)
        except BaseException:  # an interruption, too, leaves no copy of secrets
            with suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise InvalidConfig(f"the file cannot be written: {error.strerror}", file=str(file)) from None


def _part(file: Path) -> Path:
    """The name under which a file is written before it takes its place; what a killed process has left is removed."""
    part = file.with_name(f".{file.name}.louver")
    part.unlink(missing_ok=True)
    return part


def write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read, so that it outlasts a loss of power."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise LouverError(f"{file} cannot be written: {error.strerror}") from None


def _changed_lines(after: bytes, current: bytes) -> str:
    """From the first to the last line that differs, by their numbers in the current file."""
    old, new = after.splitlines(keepends=True), current.splitlines(keepends=True)
    same = _count_same(old, new)
    same_after = _count_same(old[same:][::-1], new[same:][::-1])
    first, last = same + 1, len(new) - same_after
    return f"{first}" if last <= first else f"{first} to {last}"


def _count_same(some: list[bytes], others: list[bytes]) -> int:
    """How many lines are equal, before the first that is not."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))
