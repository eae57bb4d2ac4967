"""What a child gives up before it sees a line of a script.

Bounds of the kernel on memory, CPU time, files and processes; no new rights; its end with that of the zygote; and,
where the level is `strict`, the filter of `seccomp.py`. Nothing can be opened afterwards: there is no number left
that a new descriptor could have.
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

from louver.gateway.scripting import seccomp
from louver.limits import MAX_SCRIPT_MEMORY, SCRIPT_CPU_S

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_CAPABILITIES: Final = 0x20080522
"""The version of the kernel's interface to them."""

_BOUNDS: Final = (
    # The hook within comes first, which tells the line. It counts finer: the kernel takes a tick for a tick.
    (resource.RLIMIT_CPU, SCRIPT_CPU_S + 1, SCRIPT_CPU_S + 2),
    (resource.RLIMIT_AS, MAX_SCRIPT_MEMORY, MAX_SCRIPT_MEMORY),
    (resource.RLIMIT_FSIZE, 0, 0),
    (resource.RLIMIT_CORE, 0, 0),
    (resource.RLIMIT_NPROC, 0, 0),
    (resource.RLIMIT_NOFILE, 0, 0),
)


def confine(zygote: int, *, strict: bool) -> None:
    """Give up all that a script does not need.

    Args:
        zygote: The process that has made this one, which ends with it.
        strict: Whether the filter is put on too.

    Raises:
        OSError: The kernel refuses the filter.
    """
    if sys.platform.startswith("linux"):
        native = ctypes.CDLL(None)
        native.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        native.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Root could raise its bounds again.
        native.capset(struct.pack("=Ii", _CAPABILITIES, 0), bytes(24))
    if os.getppid() != zygote:
        os._exit(1)
    for bound, soft, hard in _BOUNDS:
        # macOS has no bound on the address space that it keeps to.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(bound, (soft, hard))
    if strict:
        seccomp.install()
