"""How many connections are for clients, and how many processes of servers there may be, by what the machine has.

About half of the files that the process may open are for clients. The other half is for upstreams, and for accepting a
connection in order to refuse it. The command raises its limit of files; what it starts gets the one of before.
"""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

PROCESS_BYTES = 128 * 1024 * 1024
PROCESS_FILES = 4
MIN_PROCESSES = 32
"""Memory of a server's process (Python and Node.js take some 70 MB, and not all is for them), and the gateway's files
for it: three pipes and the process. A machine has room for as many, and for the servers of one host at least."""

MAX_CLIENT_CONNECTIONS = 20_000
"""Connections of clients, two for each of `MAX_HTTP_SESSIONS`; half of the files that the process may open, if fewer.
One principal, or one address without tokens, has at most half of them with open requests."""


def client_connections() -> int:
    return min(MAX_CLIENT_CONNECTIONS, max_open_files() // 2)


def max_processes() -> int:
    by_memory = max(MIN_PROCESSES, _memory_bytes() // PROCESS_BYTES)
    return min(by_memory, max_open_files() // 2 // PROCESS_FILES)


def max_open_files() -> int:
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED_FILES if soft_limit == resource.RLIM_INFINITY else soft_limit


_UNLIMITED_FILES = 1_000_000

# The soft limit from which this process has raised its own; `None`: it has not.
_raised_from: int | None = None


def remember_raised(soft_limit: int) -> None:
    """The process has raised its soft limit of open files from this one."""
    global _raised_from
    _raised_from = soft_limit


def restore_limit(pid: int) -> None:
    """Give a started process the soft limit from which this one raised its own, unless it has set one itself."""
    if _raised_from is None or not sys.platform.startswith("linux"):
        return
    raised, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # It may have ended, or be another user's.
    with suppress(OSError):
        soft_limit, hard_limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        if soft_limit == raised:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_raised_from, hard_limit))


# The memory of a container; `max` without a bound.
_CONTAINER_MEMORY: Final = Path("/sys/fs/cgroup/memory.max")


def _memory_bytes() -> int:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(machine, int(_CONTAINER_MEMORY.read_text()))
    except (OSError, ValueError):
        return machine
