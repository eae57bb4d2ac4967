"""Names of servers and tools as a Lua script writes them.

    data-server    data_server       my.api    my_api
    123numbers     _123numbers       while     _while

Whatever is no letter, digit or underscore of ASCII becomes an underscore. Names that would become one, or one that a
script has already, get the beginning of their digest behind them, each and always the same: `my_api_5f0c2b`.
Source: 003, "Name Sanitization"; collisions are ours.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import chain, count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

RESERVED: Final = frozenset(
    "and break do else elseif end false for function goto if in local nil not or repeat return then true until"
    " while".split()
)
"""The words of Lua 5.4."""

_OTHER: Final = re.compile(r"[^A-Za-z0-9_]")
_DIGEST: Final = 6


def identifier(name: str, taken: frozenset[str] = frozenset()) -> str:
    """The Lua identifier of a name.

    Args:
        name: Any text.
        taken: Names that a script has already.
    """
    said = _OTHER.sub("_", name) or "_"
    return f"_{said}" if said[0].isdigit() or said in RESERVED or said in taken else said


def identifiers(names: Iterable[str], taken: frozenset[str] = frozenset()) -> dict[str, str]:
    """The Lua identifiers of names that stand side by side: identifier -> name."""
    said = {name: identifier(name, taken) for name in names}
    often = Counter(said.values())
    found = {one: name for name, one in said.items() if often[one] == 1}
    for name, one in sorted(said.items()):
        if often[one] > 1:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
            # Longer where somebody has given another the very name that comes of it.
            ends = chain((digest[:length] for length in range(_DIGEST, len(digest) + 1)), map(str, count(2)))
            found[next(each for end in ends if (each := f"{one}_{end}") not in found)] = name
    of = {name: one for one, name in found.items()}
    return {of[name]: name for name in said}
