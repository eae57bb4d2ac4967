r"""Frames to and from one child, read as what an attacker says.

    length in 4 bytes, JSON      {"call": 1, "server": "files", "tool": "read", "arguments": {"path": "a"}}

How a frame looks stands in `child.py`. Bytes are counted in both directions; frames, by their kinds, in `bridge.py`.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from louver.core.json import Json, NotJson, compact, is_object, parse
from louver.errors import SandboxCallLimit, SandboxCrashed
from louver.limits import MAX_READ_ON_LOOP, MAX_SCRIPT_REPLY, MAX_SCRIPT_TRAFFIC

if TYPE_CHECKING:
    from typing import Any

    from louver.gateway.scripting.process_pool import Child

_HEAD: Final = 64 * 1024
"""What stands around a value in a frame, in bytes: numbers, names, the paths of a projection."""

_DEEPEST: Final = 40
"""Levels of a frame: those of a result, and a few around it."""

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Gone(Exception):
    """The child says no more."""


class Channel:
    """The talk with one child. Made by `open`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._traffic = 0

    @classmethod
    async def open(cls, child: Child) -> Channel:
        """The channel of a child that has just been given."""
        return cls(*await asyncio.open_connection(sock=child.socket))

    async def receive(self) -> dict[str, Any]:
        """The next frame.

        Raises:
            Gone: There will be none.
            SandboxCallLimit: Too much has been said.
            SandboxCrashed: It is nothing that a child says.
        """
        try:
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            if size > MAX_SCRIPT_REPLY + _HEAD:
                raise nonsense()
            self._count(size)
            text = await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Gone from None
        said = _read(text) if size <= MAX_READ_ON_LOOP else await asyncio.to_thread(_read, text)
        if not is_object(said):
            raise nonsense()
        return said

    def send(self, message: Json) -> None:
        """Send a frame.

        Raises:
            SandboxCallLimit: Too much has been said.
        """
        self.send_text(compact(message).encode())

    def send_text(self, text: bytes) -> None:
        """Likewise, one that is written already."""
        self._count(len(text))
        self._writer.write(len(text).to_bytes(4, "big") + text)

    def close(self) -> None:
        """Say no more, and hear no more."""
        self._writer.transport.abort()

    def _count(self, size: int) -> None:
        self._traffic += size
        if self._traffic > MAX_SCRIPT_TRAFFIC:
            message = f"the script and its calls have moved over {MAX_SCRIPT_TRAFFIC} bytes"
            raise SandboxCallLimit(message, limit=MAX_SCRIPT_TRAFFIC)


def nonsense() -> SandboxCrashed:
    """The error of a child that says what none of ours says."""
    return SandboxCrashed("the script's process has said what cannot be, and was ended")


def _read(text: bytes) -> Json:
    try:
        said = parse(text.decode(), deepest=_DEEPEST)
        if _SURROGATE.search(text):
            # Half of a pair could be sent to nobody.
            compact(said).encode()
    except (NotJson, UnicodeError):
        raise nonsense() from None
    return said
