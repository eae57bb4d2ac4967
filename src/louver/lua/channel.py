"""Frames to and from one worker process, read as untrusted input.

    length in 4 bytes, JSON      {"call": 1, "server": "files", "tool": "read", "arguments": {"path": "a"}}

The channel limits the bytes in both directions; `bridge.py` limits the frames of each kind.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from louver.core.json import Json, NotJson, check_encodable, compact_bytes, is_object, parse
from louver.errors import SandboxCallLimit, SandboxCrashed
from louver.limits import MAX_READ_ON_LOOP, MAX_SCRIPT_REPLY

if TYPE_CHECKING:
    from typing import Any

    from louver.lua.process_pool import Worker

MAX_SCRIPT_TRAFFIC = 8 * 1024 * 1024
"""All bytes between a script and the gateway, so that calls cannot keep the gateway busy with parsing."""


# Allowance for the rest of a frame around its value, in bytes: ids, names, field paths.
_FRAME_OVERHEAD: Final = 64 * 1024

# Most nesting levels of a frame: those of a result, and a few around it.
_MAX_DEPTH: Final = 40

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class ChannelClosed(Exception):
    """The worker has closed its end."""


class WorkerChannel:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._traffic = 0

    @classmethod
    async def open(cls, worker: Worker) -> WorkerChannel:
        return cls(*await asyncio.open_connection(sock=worker.socket))

    async def receive(self) -> dict[str, Any]:
        """Return the next frame; raise `Gone` at the end, `SandboxCrashed` for a malformed frame."""
        try:
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            if size > MAX_SCRIPT_REPLY + _FRAME_OVERHEAD:
                raise invalid_frame()
            self._count(size)
            text = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise ChannelClosed from None
        frame = _read(text) if size <= MAX_READ_ON_LOOP else await asyncio.to_thread(_read, text)
        if not is_object(frame):
            raise invalid_frame()
        return frame

    def send(self, message: Json) -> None:
        self.send_text(compact_bytes(message))

    def send_text(self, text: bytes) -> None:
        self._count(len(text))
        self._writer.write(len(text).to_bytes(4, "big") + text)

    def close(self) -> None:
        self._writer.transport.abort()

    def _count(self, size: int) -> None:
        self._traffic += size
        if self._traffic > MAX_SCRIPT_TRAFFIC:
            message = f"the script and its calls have moved over {MAX_SCRIPT_TRAFFIC} bytes"
            raise SandboxCallLimit(message, limit=MAX_SCRIPT_TRAFFIC)


def invalid_frame() -> SandboxCrashed:
    """Return the error for a worker that sends a frame which our own prelude never sends."""
    return SandboxCrashed("the script's process has said what cannot be, and was ended")


def _read(text: bytes) -> Json:
    try:
        frame = parse(text.decode(), deepest=_MAX_DEPTH)
        if _SURROGATE.search(text):
            # Half a surrogate pair could not be sent to any upstream.
            check_encodable(frame)
    except (NotJson, UnicodeError):
        raise invalid_frame() from None
    return frame
