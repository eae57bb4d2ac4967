r"""The process of one script, from within: frames in, frames out, and Lua between them.

    a frame: its length in 4 bytes, the greatest first, then JSON
    <- {"script": "result(a.b():await())", "servers": ["a"], "limits": {...}}
    -> {"call": 1, "server": "a", "tool": "b", "arguments": {}}
    -> {"wait": true}
    <- {"reply": 1, "value": {"x": 2}}
    -> {"result": {"x": 2}}

Nothing here is believed by anybody: whatever this process says is read as what an attacker says (`bridge.py`).
What the texts mean is known to `prelude.lua` and to the gateway; Python only carries them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lupa import lua54

from louver.limits import MAX_SCRIPT_HEAP

if TYPE_CHECKING:
    from collections.abc import Callable

OUT_OF_MEMORY: Final = 3
"""The status of a process that has no memory left to say so."""

_PARTS: Final = [
    (Path(__file__).parent / name).read_bytes() for name in ("watch.lua", "json.lua", "project.lua", "prelude.lua")
]
_MARGIN: Final = 64 * 1024
"""What handing in a text takes beside the text, in bytes, and more."""

_NO_MEMORY: Final = b'{"error":{"code":"SANDBOX_MEMORY","message":"the script has used up its memory"}}'


def serve(channel: int) -> None:
    """Run the script that the first frame brings. Its end is that of the process.

    Args:
        channel: The descriptor of a stream socket, the only one that is open.
    """
    try:
        lua, step = _lua()
        text = _receive(channel)
        while text is not None:
            if not _has_room(lua, len(text)):
                _send(channel, _NO_MEMORY)
                return
            said = step(text)
            _send(channel, said[1:])
            if said.startswith(b"."):
                return
            text = _receive(channel) if said.startswith(b"?") else b""
    except lua54.LuaMemoryError:
        _send(channel, _NO_MEMORY)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _lua() -> tuple[Any, Callable[[bytes], bytes]]:
    """A Lua of its own, which has no object of Python in it, and what runs the script in it."""
    make: Any = lua54.LuaRuntime
    lua = make(
        encoding=None,
        register_eval=False,
        register_builtins=False,
        unpack_returned_tuples=False,
        attribute_filter=_refuse,
        max_memory=MAX_SCRIPT_HEAP,
    )
    # What the parts share is a table of Lua.
    shared = lua.table()
    return lua, [lua.execute(part, shared, name=b"=prelude", mode=b"t") for part in _PARTS][-1]


def _has_room(lua: Any, size: int) -> bool:
    """Whether a text of that size can be handed in: Lua would end the process if not."""
    most = MAX_SCRIPT_HEAP - size - _MARGIN
    if lua.get_memory_used() > most:
        lua.gccollect()
    return lua.get_memory_used() <= most


def _refuse(_object: object, _name: object, _is_setting: bool) -> None:
    raise AttributeError("there is nothing here")


def _receive(channel: int) -> bytes | None:
    """The next frame; `None` if there is no other side any more."""
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
