"""A process with all that it has started, and the memory that each holds. Linux only."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


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


def pss_mb(process: int) -> float:
    """Its memory; what it shares counts in equal parts for each that has it."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith("Pss:")]
    return int(line.split()[1]) * 1024 / 1e6
