"""Results in the store of state that replicas share: each reads what any of them has kept."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from louver.limits import MAX_SHARED_RESULT_BYTES
from louver.steps.results.store import stored_size

if TYPE_CHECKING:
    from louver.steps.results.store import Stored
    from louver.steps.shared_state import SharedState

_LENGTH: Final = struct.Struct(">I")


class SharedStore:
    def __init__(self, state: SharedState) -> None:
        self._state = state

    async def put(self, key: str, seconds: float, stored: Stored) -> bool:
        if stored_size(stored) > MAX_SHARED_RESULT_BYTES:
            return False
        info, value = stored
        await self._state.put(_name(key), _LENGTH.pack(len(info)) + info + value, seconds)
        return True

    async def get(self, key: str) -> Stored | None:
        joined = await self._state.get(_name(key))
        if joined is None:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(joined)[0]
        return joined[_LENGTH.size : end], joined[end:]


def _name(key: str) -> str:
    return f"result:{key}"
