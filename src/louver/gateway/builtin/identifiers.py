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

# The globals of every script. A server with such a name gets another Lua identifier.
GLOBALS: Final = frozenset(
    "_G _VERSION assert await_all coroutine error ipairs json math next null pairs pcall project rawequal rawget "
    "rawlen rawset result select setmetatable string table tonumber tostring type utf8 xpcall".split()
)

_INVALID: Final = re.compile(r"[^A-Za-z0-9_]")
_DIGEST_DIGITS: Final = 6


def identifier(name: str, taken: frozenset[str] = frozenset()) -> str:
    """Return the Lua identifier of a name; `taken` holds the globals that a script already has."""
    lua_name = _INVALID.sub("_", name) or "_"
    return f"_{lua_name}" if lua_name[0].isdigit() or lua_name in RESERVED or lua_name in taken else lua_name


def identifiers(names: Iterable[str], taken: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return unique Lua identifiers: identifier -> name."""
    lua_names = {name: identifier(name, taken) for name in names}
    counts = Counter(lua_names.values())
    unique = {lua_name: name for name, lua_name in lua_names.items() if counts[lua_name] == 1}
    for name, lua_name in sorted(lua_names.items()):
        if counts[lua_name] > 1:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
            # A longer suffix if another name already is that identifier.
            suffixes = chain((digest[:length] for length in range(_DIGEST_DIGITS, len(digest) + 1)), map(str, count(2)))
            unique[next(each for suffix in suffixes if (each := f"{lua_name}_{suffix}") not in unique)] = name
    by_name = {name: lua_name for lua_name, name in unique.items()}
    return {by_name[name]: name for name in lua_names}
