"""Lua identifiers of servers and tools. Source: 003, "Name Sanitization"; the rule for collisions is ours.

    data-server    data_server       my.api    my_api
    123numbers     _123numbers       while     _while    (a keyword; a global such as `json` becomes `_json`)

Any character but ASCII letters, digits and underscores becomes an underscore. If several names become the same
identifier, each gets the first digits of its own SHA-256 as a suffix: `my_api_5f0c2b`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import chain, count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# The keywords of Lua 5.4.
RESERVED: Final = frozenset(
    "and break do else elseif end false for function goto if in local nil not or repeat return then true until"
    " while".split()
)

_OTHER: Final = re.compile(r"[^A-Za-z0-9_]")
_DIGEST: Final = 6


def identifier(name: str, taken: frozenset[str] = frozenset()) -> str:
    """Return the Lua identifier of a name; `taken` holds the globals that a script already has."""
    said = _OTHER.sub("_", name) or "_"
    return f"_{said}" if said[0].isdigit() or said in RESERVED or said in taken else said


def identifiers(names: Iterable[str], taken: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return unique Lua identifiers: identifier -> name."""
    said = {name: identifier(name, taken) for name in names}
    often = Counter(said.values())
    found = {one: name for name, one in said.items() if often[one] == 1}
    for name, one in sorted(said.items()):
        if often[one] > 1:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
            # A longer suffix if another name already is that identifier.
            ends = chain((digest[:length] for length in range(_DIGEST, len(digest) + 1)), map(str, count(2)))
            found[next(each for end in ends if (each := f"{one}_{end}") not in found)] = name
    of = {name: one for one, name in found.items()}
    return {of[name]: name for name in said}
