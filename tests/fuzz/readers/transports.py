"""A transport without a peer: what is written to it is kept."""

from __future__ import annotations

import asyncio
import atexit
import os
from functools import cache
from types import SimpleNamespace


@cache
def loop() -> asyncio.AbstractEventLoop:
    """One event loop for all inputs."""
    made = asyncio.new_event_loop()
    atexit.register(made.close)
    return made


def run(main):
    """The result of a coroutine; an error of a task or a callback that nobody awaits is one of the input."""
    errors: list[dict] = []
    loop().set_exception_handler(lambda _, context: errors.append(context))
    result = loop().run_until_complete(main)
    assert not errors, errors
    return result


async def settled(*parts) -> None:
    """Let tasks run until none of them can go on, which is when these lengths no longer change."""
    before = None
    idle = 0
    while idle < 4:
        after = [len(part) for part in parts]
        idle = idle + 1 if after == before else 0
        before = after
        await asyncio.sleep(0)


@cache
def _silent() -> SimpleNamespace:
    """What a socket is to `select`, while its peer neither sends nor closes."""
    source, _ = os.pipe()
    return SimpleNamespace(fileno=lambda: source)


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_paused = False
        self._is_closing = False

    def get_extra_info(self, name, default=None):
        return _silent() if name == "socket" else default

    def is_closing(self) -> bool:
        return self._is_closing

    def write(self, data) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def close(self) -> None:
        self._is_closing = True

    def abort(self) -> None:
        self._is_closing = True
