"""Confine a worker process before it receives a script: rlimits, no capabilities, and the seccomp filter if `strict`.

With RLIMIT_NOFILE 0, no file descriptor can be opened. The worker also dies together with the fork server.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
from typing import Final

from louver.limits import SCRIPT_CPU_S
from louver.lua import seccomp

MAX_SCRIPT_MEMORY = 192 * 1024 * 1024
"""Address space of a script's process, in bytes: 20 MB for the interpreters, the heap, and copies of texts."""


_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_CAPABILITY_VERSION: Final = 0x20080522  # _LINUX_CAPABILITY_VERSION_3

_RLIMITS: Final = (
    # Above the limit of Lua's hook, which reports the line and measures more finely than the kernel's ticks.
    (resource.RLIMIT_CPU, SCRIPT_CPU_S + 1, SCRIPT_CPU_S + 2),
    (resource.RLIMIT_AS, MAX_SCRIPT_MEMORY, MAX_SCRIPT_MEMORY),
    (resource.RLIMIT_FSIZE, 0, 0),
    (resource.RLIMIT_CORE, 0, 0),
    (resource.RLIMIT_NPROC, 0, 0),
    (resource.RLIMIT_NOFILE, 0, 0),
)


def confine(server_pid: int, *, strict: bool) -> None:
    """Drop all rights that a script does not need; `zygote` is the pid of the fork server, this process's parent."""
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # With capabilities, root could raise its limits again.
        libc.capset(struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24))
    if os.getppid() != server_pid:
        os._exit(1)
    for bound, soft, hard in _RLIMITS:
        # macOS does not enforce a limit on the address space.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(bound, (soft, hard))
    if strict:
        seccomp.install()
