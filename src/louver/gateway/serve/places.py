"""How many connections are for clients, and how many processes of servers there may be, by what the machine has.

About half of the files that the process may open are for clients. The other half is for upstreams, and for accepting a
connection in order to refuse it.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Final

from louver.limits import MAX_CLIENT_CONNECTIONS, MIN_PROCESSES, PROCESS_BYTES, PROCESS_FILES


def client_connections() -> int:
    return min(MAX_CLIENT_CONNECTIONS, max_open_files() // 2)


def max_processes() -> int:
    by_memory = max(MIN_PROCESSES, _memory_bytes() // PROCESS_BYTES)
    return min(by_memory, max_open_files() // 2 // PROCESS_FILES)


def max_open_files() -> int:
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED_FILES if soft_limit == resource.RLIM_INFINITY else soft_limit


_UNLIMITED_FILES = 1_000_000


# The memory of a container; `max` without a bound.
_CONTAINER_MEMORY: Final = Path("/sys/fs/cgroup/memory.max")


def _memory_bytes() -> int:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(machine, int(_CONTAINER_MEMORY.read_text()))
    except (OSError, ValueError):
        return machine
