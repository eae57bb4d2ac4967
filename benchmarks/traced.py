"""Which functions of Louver a program enters, in order: a call enters one, and so does the resume of a coroutine.

    python -m benchmarks.traced ARGUMENTS    the command `louver ARGUMENTS`, recorded

That command answers each line on its standard input with the entries since the line before, as JSON in one line; the
line `modules` with the names of Louver's modules that are imported.

A comprehension is no function of its own, and generated code has no file: neither is an entry or a counted frame. What
varies from call to call is one entry each: the walk of a policy over a value, and the audit's commit in its thread. Of
other threads nothing is recorded.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import louver
from louver.cli import main
from louver.gateway.front import endpoint, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PACKAGE = Path(louver.__file__).parent
_WATCH = PACKAGE / "concurrency" / "stalls.py"
WALK = "Visibility.of"
COMMIT = "AuditWriter._commit"
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_LOOP = asyncio.Runner.run.__code__
"""Below it on the stack are frames of the command, not of a request."""


class Entry(NamedTuple):
    """One call, or one resume of a coroutine.

    Args:
        file: The file of the function, relative to the package.
        function: Its qualified name.
        depth: The number of Louver's frames on the stack, this one included.
    """

    file: str
    function: str
    depth: int


class Recorder:
    """A profile function (`sys.setprofile`) that records entries of this thread."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._walk: FrameType | None = None
        self._entries: list[Entry] = []
        self._received: int | None = None
        self._sent: int | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Record an event."""
        if threading.get_ident() != self._thread and frame.f_code.co_qualname != COMMIT:
            return
        if self._walk is not None:
            if event == "return" and frame is self._walk:
                self._walk = None
        elif event == "call" and (file := _file(frame)) is not None:
            self._entries.append(Entry(file, frame.f_code.co_qualname, _depth(frame)))
            if frame.f_code.co_qualname == WALK:
                self._walk = frame
        elif event == "c_call" and _is_tcp(argument, "send", "sendmsg"):
            self._sent = len(self._entries)
        elif event == "c_call" and self._received is None and _is_tcp(argument, "recv", "recv_into"):
            self._received = len(self._entries)

    def take(self) -> list[Entry]:
        """The entries since the last time; over TCP, from the first receipt to the last send: the answer."""
        entries, path = self._entries, slice(self._received, self._sent)
        self._entries, self._received, self._sent = [], None, None
        return entries[path]


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record this thread, and of those that start in the block the audit's commit."""
    recorder = Recorder()
    before, before_in_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(before)
        threading.setprofile(before_in_threads)


def _file(frame: FrameType) -> str | None:
    """The file of a function of Louver."""
    return None if frame.f_code.co_name in COMPREHENSIONS else _in_package(frame.f_code.co_filename)


@cache
def _in_package(name: str) -> str | None:
    path = Path(name)
    # What watches the event loop between two callbacks is no part of a request.
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) and path != _WATCH else None


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None and frame.f_code is not _LOOP:
        depth += _file(frame) is not None
        frame = frame.f_back
    return depth


def _is_tcp(function: Any, *names: str) -> bool:
    # asyncio wakes its loop by a socket too, of another family.
    of = getattr(function, "__self__", None)
    return isinstance(of, socket.socket) and of.family == socket.AF_INET and function.__name__ in names


def _answer_lines(recorder: Recorder) -> None:
    for line in sys.stdin:
        imported = [name for name in sorted(sys.modules) if name.partition(".")[0] == "louver"]
        print(json.dumps(imported if line.strip() == "modules" else recorder.take()), flush=True)


if __name__ == "__main__":
    # On a slow machine, too, an answer comes at once.
    sessions.BEGIN_AFTER_S = endpoint.WATCH_AFTER_S = 60.0
    with recording() as recorder:
        threading.Thread(target=_answer_lines, args=[recorder], daemon=True).start()
        sys.exit(main())
