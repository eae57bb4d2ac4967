"""A process with all that it has started, and the memory and other things that each holds. Linux only."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Usage(NamedTuple):
    """What one process holds.

    Args:
        memory: RSS, in MB.
        descriptors: Open files and sockets.
        threads: Its threads.
    """

    memory: float
    descriptors: int
    threads: int


def tree(root: int) -> list[int]:
    """A process and all that it has started, directly or not."""
    parents = {int(stat.parent.name): _parent(stat) for stat in Path("/proc").glob("[0-9]*/stat")}
    found = [root]
    for each in found:
        found += [pid for pid, parent in parents.items() if parent == each]
    return found


def _parent(stat: Path) -> int:
    with suppress(OSError):
        return int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    return 0


def processor_s(process: int) -> float:
    """What it has used of processors, in seconds, without the processes that it has started."""
    # The processor clock of another process: clock_getcpuclockid(3).
    return time.clock_gettime((~process << 3) | 2)


def usage(process: int) -> Usage:
    """What it holds now, without the processes that it has started."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    status = dict(line.split(":", 1) for line in lines)
    descriptors = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return Usage(int(status["VmRSS"].split()[0]) * 1024 / 1e6, descriptors, int(status["Threads"]))
