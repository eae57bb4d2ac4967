"""Change a host's file and restore it, byte for byte.

    ~/.config/louver/hosts/cursor-1f2e3d4c/    before     the file as it was
                                               after      the file with Louver
                                               swap.json  {"host": "cursor", "file": "...", "mode": 420}
                                               mcp.json   Louver's configuration, with views and learned fields

The file is exchanged as a whole, and only if it still is what was read. Others than its owner must not be able to
write it. Of a link, the file behind it is changed.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from louver.catalogue.files.open_regular import trusted
from louver.cli.hosts.read import read_bytes
from louver.core.json import digest, members
from louver.core.json import parse as parse_json
from louver.errors import InvalidConfig, InvalidInput, LouverError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.cli.hosts.table import HostSource, Machine

_RECORD = "swap.json"


@dataclass(frozen=True, slots=True)
class Swap:
    """Louver in one host's file: the folder with what is needed to undo it."""

    folder: Path
    host: str
    file: Path  # not a link
    mode: int

    @property
    def is_recorded(self) -> bool:
        return (self.folder / _RECORD).exists()

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
            return cls(folder, content["host"], Path(content["file"]), content["mode"])
        except (OSError, ValueError, KeyError, TypeError):
            raise InvalidInput(f"{folder} does not hold what is needed to undo: restore its file 'before'") from None

    def write(self, before: bytes, after: bytes) -> None:
        """Store what is needed to undo; the record comes last."""
        write_private(self.folder / "before", before)
        write_private(self.folder / "after", after)
        record = {"host": self.host, "file": str(self.file), "mode": self.mode}
        write_private(self.folder / _RECORD, json.dumps(record).encode())

    def undo(self) -> list[str]:
        """Restore the file and remove the folder; or return the lines that have changed since, and do nothing."""
        current = read_bytes(self.file)
        if current not in (self.before, self.after):
            return _changed_lines(self.after, current)
        if current != self.before or stat.S_IMODE(self.file.stat().st_mode) != self.mode:
            exchange(self.file, current, self.before, self.mode)
        shutil.rmtree(self.folder)
        return []


def swap_for(machine: Machine, source: HostSource) -> Swap:
    """The swap for a place of a host's file, which may not have happened yet."""
    path = source.path.resolve()
    folder = _folder(machine) / f"{source.host.name}-{digest([str(path), list(source.place)])[:8]}"
    return Swap(folder, source.host.name, path, stat.S_IMODE(path.stat().st_mode))


def swaps(machine: Machine) -> Iterator[Swap]:
    """The swaps that can be undone, last first: one file can have had several."""
    records = _folder(machine).glob(f"*/{_RECORD}")
    for record in sorted(records, key=lambda file: -file.stat().st_mtime_ns):
        yield Swap.read(record.parent)


def _folder(machine: Machine) -> Path:
    return machine.settings_folder / "louver" / "hosts"


def check_can_write(file: Path) -> None:
    """Raise if the file is not the user's own, or if others can write it."""
    try:
        with open(file, "rb", opener=trusted) as opened:
            owner = os.fstat(opened.fileno()).st_uid
    except OSError as error:
        raise InvalidConfig(f"the file is not changed: {error.strerror}", file=str(file)) from None
    if hasattr(os, "getuid") and owner != os.getuid():
        raise InvalidConfig("the file is not changed: it belongs to another user", file=str(file))


def exchange(file: Path, expected: bytes, content: bytes, mode: int) -> None:
    """Replace a file at once, with a mode; raise if it is not what was expected."""
    check_can_write(file)
    try:
        number, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with open(number, "wb") as out:
                out.write(content)
                os.fchmod(number, mode)
                out.flush()
                os.fsync(number)
            # Read again as late as possible: the host may have written it meanwhile.
            if read_bytes(file) != expected:
                raise InvalidConfig("the file has changed meanwhile, and stays as it is: try again", file=str(file))
            os.replace(name, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise InvalidConfig(f"the file cannot be written: {error.strerror}", file=str(file)) from None


def write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner can read."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as out:
            out.write(content)
    except OSError as error:
        raise LouverError(f"{file} cannot be written: {error.strerror}") from None


def _changed_lines(after: bytes, current: bytes) -> list[str]:
    """The ranges of lines that differ, by their numbers in the current file."""
    matcher = difflib.SequenceMatcher(None, after.splitlines(), current.splitlines(), autojunk=False)
    found: list[str] = []
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind != "equal":
            found.append(f"{start + 1}" if end <= start + 1 else f"{start + 1} to {end}")
    return found
