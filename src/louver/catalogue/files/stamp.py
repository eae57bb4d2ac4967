"""Whether a file has changed since it was read: by a stamp that was taken before."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

Stamp = tuple[int, ...]


def stamp_of(file: Path) -> Stamp | None:
    """Differs after each change of a file, its mode, or a symlink to it; `None` if there is none, or a pipe, say."""
    try:
        status = file.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    # Size and inode too, since some file systems store times only to 10 ms or more.
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
