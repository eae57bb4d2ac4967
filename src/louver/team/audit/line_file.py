"""Ship audit records as JSON lines to a file, which a log shipper may read, and rotate by renaming.

    {"spool": "0f31...", "number": 7, "time": "2026-01-01T12:00:00.000Z", "principal": "9f2c...", ...}

The last line tells what has arrived. Half a line, of a process that was killed, is removed and written again.
"""

from __future__ import annotations

import fcntl
import json
import os
from typing import IO, TYPE_CHECKING, Final

from louver.concurrency.offload import in_thread
from louver.core.json import compact_bytes
from louver.errors import AuditFailed
from louver.team.audit.spool import LastRecord

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from louver.team.audit.spool import SpooledRecord

_BEGINNING: Final = b'{"spool":"'
_BLOCK: Final = 64 * 1024
_SOMETHING_ELSE: Final = "it holds something else: expected a file of records, or none"


class LineFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.shown = repr(os.fspath(path))

    async def append(self, spool: str, select: Callable[[LastRecord | None], list[SpooledRecord]]) -> None:
        """Add durably what `select` returns for the last record of the spool that is there; others wait meanwhile."""
        # It is opened for each batch: a renamed one is left.
        await in_thread(lambda: self._append(spool, select))

    def _append(self, spool: str, select: Callable[[LastRecord | None], list[SpooledRecord]]) -> None:
        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with open(descriptor, "r+b") as file:
            # Processes of one machine may have the spool in common.
            fcntl.flock(file, fcntl.LOCK_EX)
            records = select(_last_record(file, spool))
            file.seek(0, os.SEEK_END)
            file.writelines(_line(spool, record) for record in records)
            file.flush()
            os.fsync(file.fileno())


def _line(spool: str, spooled: SpooledRecord) -> bytes:
    return compact_bytes({"spool": spool, "number": spooled.number, **spooled.record.to_json()}) + b"\n"


def _last_record(file: IO[bytes], spool: str) -> LastRecord | None:
    """The last record of the file, if it is of the spool; removes half a line after it."""
    end = file.seek(0, os.SEEK_END)
    tail, length = b"", 0
    # The end of the line before the last one, or the beginning of the file.
    while tail.count(b"\n") < 2 and length < end:
        length = min(end, length * 2 or _BLOCK)
        file.seek(end - length)
        tail = file.read(length)
    lines, _, half = tail.rpartition(b"\n")
    line = lines.rpartition(b"\n")[2]
    # After a loss of power, zeros may stand where nothing was written yet.
    if not all(part.startswith(_BEGINNING[: len(part)]) for part in (line, half.rstrip(b"\0"))):
        raise AuditFailed(_SOMETHING_ELSE)
    if half:
        file.truncate(end - len(half))
    if not line:
        return None
    try:
        record = json.loads(line)
        return LastRecord(record["number"], record["correlation"]) if record["spool"] == spool else None
    except (ValueError, KeyError):
        raise AuditFailed(_SOMETHING_ELSE) from None
