"""Whether the JSON of a value has more bytes than may be sent, before it is written.

    is_over([{"id": 7}], 8)    True: it has 10

It counts too few rather than too many, so what it refuses is too large. It stops where that is clear: writing holds
up all other threads, and an upstream's answer can be many times as large as what a script may get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object

if TYPE_CHECKING:
    from louver.core.json import Json


def is_over(value: Json, most: int) -> bool:
    """Whether a value has surely more than `most` bytes of JSON."""
    size = 0
    todo: list[Json] = [value]
    while todo and size <= most:
        part = todo.pop()
        if isinstance(part, str):
            size += len(part) + 2
        elif is_object(part):
            size += 1 + 4 * len(part) + sum(map(len, part))
            todo += part.values()
        elif is_array(part):
            size += 1 + len(part)
            todo += part
        elif isinstance(part, int):
            # A digit takes 3.3 bits.
            size += 1 + part.bit_length() // 4
        else:
            size += 1
    return size > most
