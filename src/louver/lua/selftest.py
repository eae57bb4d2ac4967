"""Self-test of the sandbox: a worker body that tries forbidden operations and reports those that succeed.

    {"done": []}                         contained
    {"done": ["open a file", "fork"]}    not contained

It is in Python, not Lua, to show what an attacker could do after escaping from Lua.
"""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


def attempts(channel: int) -> None:
    succeeded = [name for name, attempt in _ATTEMPTS.items() if _works(attempt)]
    text = json.dumps({"done": succeeded}).encode()
    os.write(channel, len(text).to_bytes(4, "big") + text)


def _works(attempt: Callable[[], object]) -> bool:
    try:
        return attempt() is not None
    except (OSError, ValueError):
        return False


def _fork() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return pid


def _connect() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.connect(("127.0.0.1", 9))
    return True


def _exec() -> bool:
    # The path does not exist: where exec is allowed, it fails with FileNotFoundError.
    try:
        os.execv("/nowhere/louver", ["louver"])
    except FileNotFoundError:
        return True


def _environment() -> str | None:
    return next((name for name in os.environ if name != "LC_CTYPE"), None)


_ATTEMPTS: Final[dict[str, Callable[[], object]]] = {
    "open a file": lambda: os.open("/", os.O_RDONLY),
    "read the environment": _environment,
    "look at a process": lambda: os.open("/proc/self/environ", os.O_RDONLY),
    "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "connect": _connect,
    "make a descriptor": os.pipe,
    "fork": _fork,
    "start a program": _exec,
    "signal a process": lambda: (os.kill(os.getppid(), 0), True),
}
