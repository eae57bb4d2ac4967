"""Worker process of one script: passes frames between the gateway's socket and Lua. The gateway does not trust it.

    <- {"script": "result(a.b():await())", "servers": ["a"], "limits": {...}}
    -> {"call": 1, "server": "a", "tool": "b", "arguments": {}}, {"wait": true}
    <- {"reply": 1, "value": {"x": 2}}    -> {"result": {"x": 2}}

A frame is a length in 4 bytes, big-endian, then JSON.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lupa import lua54

from louver.limits import MAX_SCRIPT_HEAP

if TYPE_CHECKING:
    from collections.abc import Callable

OUT_OF_MEMORY: Final = 3  # exit status when there is not even memory for an error frame

_LUA_SOURCES: Final = [
    (Path(__file__).parent / name).read_bytes() for name in ("watch.lua", "json.lua", "project.lua", "prelude.lua")
]
_MARGIN: Final = 64 * 1024  # generous overhead of passing a text to Lua, in bytes

_NO_MEMORY: Final = b'{"error":{"code":"SANDBOX_MEMORY","message":"the script has used up its memory"}}'


def serve(channel: int) -> None:
    """Run the script of the first frame; `channel` is the descriptor of the stream socket to the gateway."""
    try:
        lua, step = _lua()
        text = _receive(channel)
        while text is not None:
            if not _has_room(lua, len(text)):
                _send(channel, _NO_MEMORY)
                return
            frame = step(text)
            _send(channel, frame[1:])
            if frame.startswith(b"."):
                return
            text = _receive(channel) if frame.startswith(b"?") else b""
    except lua54.LuaMemoryError:
        _send(channel, _NO_MEMORY)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _lua() -> tuple[Any, Callable[[bytes], bytes]]:
    """Create a Lua state without any Python object in it; return it with the prelude's `step` function."""
    make: Any = lua54.LuaRuntime
    lua = make(
        encoding=None,
        register_eval=False,
        register_builtins=False,
        unpack_returned_tuples=False,
        attribute_filter=_refuse,
        max_memory=MAX_SCRIPT_HEAP,
    )
    # Lua's own seed is an address and the time, which are equal in processes forked within a second.
    lua.execute(b"math.randomseed(...)", *struct.unpack("=2q", os.urandom(16)))
    # The Lua files share this table.
    shared = lua.table()
    return lua, [lua.execute(part, shared, name=b"=prelude", mode=b"t") for part in _LUA_SOURCES][-1]


def _has_room(lua: Any, size: int) -> bool:
    """Whether a text of this size fits into Lua's memory; if it did not, Lua would abort the process."""
    limit = MAX_SCRIPT_HEAP - size - _MARGIN
    if lua.get_memory_used() > limit:
        lua.gccollect()
    return lua.get_memory_used() <= limit


def _refuse(_object: object, _name: object, _is_setting: bool) -> None:
    raise AttributeError("there is nothing here")


def _receive(channel: int) -> bytes | None:
    """Return the next frame; `None` if the gateway has closed the socket."""
    head = _exactly(channel, 4)
    return None if head is None else _exactly(channel, int.from_bytes(head, "big"))


def _exactly(channel: int, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(channel, size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _send(channel: int, text: bytes) -> None:
    rest = memoryview(len(text).to_bytes(4, "big") + text)
    while rest:
        rest = rest[os.write(channel, rest) :]
