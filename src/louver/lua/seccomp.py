"""The seccomp filter: an allowlist of the system calls that a running script needs.

    wrong architecture                                              the process is killed
    read, write, futex, ...; mmap, mprotect unless executable       allowed
    others: open, socket, fork, ...                                 refused with EPERM

EPERM rather than a kill lets a library's fallback work.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from typing import Final

_LOAD: Final = 0x20  # a word of the call's data
_AND: Final = 0x54
_IF_EQUAL: Final = 0x15
_RETURN: Final = 0x06

_KILL: Final = 0x80000000
_ALLOW: Final = 0x7FFF0000
_EPERM: Final = 0x00050000 | 1

_NUMBER: Final = 0  # offsets into the call's data
_ARCHITECTURE: Final = 4
_PROTECTION: Final = 16 + 2 * 8
_EXECUTABLE: Final = 4

_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP: Final = 22
_MODE_FILTER: Final = 2

_X86_64: Final = {
    "read": 0,
    "write": 1,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "sched_yield": 24,
    "mremap": 25,
    "madvise": 28,
    "exit": 60,
    "gettimeofday": 96,
    "sigaltstack": 131,
    "time": 201,
    "futex": 202,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "exit_group": 231,
    "getrandom": 318,
}
_AARCH64: Final = {
    "read": 63,
    "write": 64,
    "exit": 93,
    "exit_group": 94,
    "futex": 98,
    "clock_gettime": 113,
    "sched_yield": 124,
    "restart_syscall": 128,
    "sigaltstack": 132,
    "rt_sigaction": 134,
    "rt_sigprocmask": 135,
    "rt_sigreturn": 139,
    "gettimeofday": 169,
    "brk": 214,
    "munmap": 215,
    "mremap": 216,
    "madvise": 233,
    "getrandom": 278,
}
_MACHINES: Final = {
    # Audit architecture constant, allowed system calls, numbers of mmap and mprotect.
    "x86_64": (0xC000003E, _X86_64, (9, 10)),
    "aarch64": (0xC00000B7, _AARCH64, (222, 226)),
}


def unavailable_reason() -> str | None:
    """Return why the filter is unavailable here; `None` if it is available."""
    if not sys.platform.startswith("linux"):
        return f"seccomp is of Linux, and this is {sys.platform}"
    if platform.machine() not in _MACHINES:
        return f"the filter is made for {' and '.join(_MACHINES)}, and this is {platform.machine()}"
    return None


def program(machine: str) -> bytes:
    """Return the filter as a BPF program for `platform.machine()`."""
    architecture, allowed, guarded = _MACHINES[machine]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in sorted(allowed.values()):
        lines += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    lines += [
        (_IF_EQUAL, 2, 0, guarded[0]),
        (_IF_EQUAL, 1, 0, guarded[1]),
        (_RETURN, 0, 0, _EPERM),
        (_LOAD, 0, 0, _PROTECTION),
        (_AND, 0, 0, _EXECUTABLE),
        (_IF_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _EPERM),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def install() -> None:
    """Install the filter on this process, irrevocably."""
    text = program(platform.machine())
    buffer = ctypes.create_string_buffer(text, len(text))
    filters = struct.pack("@HP", len(text) // 8, ctypes.addressof(buffer))
    call = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _MODE_FILTER, filters, 0, 0)):
        if call(
            *(
                ctypes.c_char_p(argument) if isinstance(argument, bytes) else ctypes.c_ulong(argument)
                for argument in arguments
            )
        ):
            errno = ctypes.get_errno()
            raise OSError(errno, "the kernel does not take the filter")
