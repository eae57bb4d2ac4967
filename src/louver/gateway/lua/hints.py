"""What was probably meant by a script that has failed: the usual mistakes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from louver.core.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

_GLOBAL: Final = re.compile(r"attempt to (?:index|call) a nil value \(global '(\w+)'\)")

_KNOWN: Final = {
    "await": "A call gives a promise: write server.tool({...}):await() to get its value.",
    "result": "Call result(value) once with what the script is to answer.",
}
_ABSENT: Final = {
    "print": "There is no print: give what you want to see to result(...).",
    "require": "There are no modules: a script has string, table, math, utf8, coroutine and json.",
    "os": "A script has neither files nor a clock: all it can do is call tools.",
    "io": "A script has neither files nor a clock: all it can do is call tools.",
    "getmetatable": "Metatables can be set and not read.",
    "load": "A script cannot load another.",
}


def hint_of(message: str, key: str | None, servers: Sequence[str]) -> str | None:
    """A sentence that helps, if there is one.

    Args:
        message: What the script's error says.
        key: What the prelude has seen itself.
        servers: The names of the servers that the script has.
    """
    if key is not None:
        return _KNOWN.get(key)
    if (found := _GLOBAL.search(message)) is None:
        return None
    name = found[1]
    if name in _ABSENT:
        return _ABSENT[name]
    near = nearest(name, servers)
    known = ", ".join(servers[:20]) if servers else "none"
    return f"Did you mean the server '{near[0]}'?" if near else f"There is no '{name}' here; the servers are: {known}."
