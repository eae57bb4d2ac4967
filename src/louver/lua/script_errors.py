"""Convert the end of a script to a `SandboxError`: from the worker's error frame, or from the signal that killed it."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import members
from louver.core.nearest import nearest
from louver.errors import (
    LouverError,
    SandboxCallLimit,
    SandboxCrashed,
    SandboxError,
    SandboxMemory,
    SandboxOutputLimit,
    SandboxRuntime,
    SandboxSyntax,
    SandboxTimeout,
    UnknownName,
)
from louver.limits import MAX_SCRIPT_HEAP, SCRIPT_CPU_S
from louver.lua.channel import invalid_frame
from louver.lua.process_pool import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_SCRIPT_MESSAGE = 1000
"""Length of the message of a script's error, in code points."""


# The exit status `OUT_OF_MEMORY` of `worker.py`, which the gateway cannot import without Lua.
_OUT_OF_MEMORY: Final = 3

_ERROR_TYPES: Final[dict[str, type[SandboxError]]] = {
    kind.code: kind
    for kind in (SandboxSyntax, SandboxRuntime, SandboxTimeout, SandboxMemory, SandboxCallLimit, SandboxOutputLimit)
}


def error_of(payload: Any, failures: Mapping[int, LouverError], servers: Sequence[str]) -> SandboxError:
    """Convert the worker's `error` member; `failures` holds the errors of failed calls by call number."""
    fields = members(payload)
    message, line = fields.get("message"), _positive_int(fields, "line")
    if not isinstance(message, str) or not isinstance(fields.get("code"), str):
        return invalid_frame()
    if (failure := failures.get(_positive_int(fields, "number") or 0)) is not None:
        return _of_failure(failure, line)
    kind = _ERROR_TYPES.get(fields["code"])
    if kind is None:
        return invalid_frame()
    key = fields.get("hint")
    hint = hint_of(message, key if isinstance(key, str) else None, servers) if kind is SandboxRuntime else None
    return kind(message[:MAX_SCRIPT_MESSAGE], line=line, hint=hint, limit=_positive_int(fields, "limit"))


def _of_failure(failure: LouverError, line: int | None) -> SandboxError:
    """Convert the error of a failed call that the script did not catch."""
    if isinstance(failure, SandboxError):
        return type(failure)(failure.message, line=line, hint=failure.hint, limit=failure.fields.get("limit"))
    near = failure.nearest if isinstance(failure, UnknownName) else []
    hint = f"Did you mean '{near[0]}'?" if near else None
    error = SandboxRuntime(f"{failure.code}: {failure.message}", line=line, hint=hint)
    error.__cause__ = failure
    return error


def error_of_exit(exit_status: ExitStatus) -> SandboxError:
    """Convert the end of a worker that sent no error frame."""
    if exit_status.signal == signal.SIGXCPU:
        return SandboxTimeout("the script has used up its CPU time", limit=SCRIPT_CPU_S)
    if exit_status.status == _OUT_OF_MEMORY:
        return SandboxMemory("the script has used up its memory", limit=MAX_SCRIPT_HEAP)
    if exit_status == ExitStatus():
        return SandboxCrashed("the sandbox's process has ended while the script ran: try again")
    return SandboxCrashed("the script's process has ended without a word")


def _positive_int(fields: Mapping[str, Any], key: str) -> int | None:
    value = fields.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None


_GLOBAL: Final = re.compile(r"attempt to (?:index|call) a nil value \(global '(\w+)'\)")

_HINTS: Final = {
    "await": "A call gives a promise: write server.tool({...}):await() to get its value.",
    "result": "Call result(value) once with what the script is to answer.",
}
_ABSENT_GLOBALS: Final = {
    "print": "There is no print: give what you want to see to result(...).",
    "require": "There are no modules: a script has string, table, math, utf8, coroutine and json.",
    "os": "A script has neither files nor a clock: all it can do is call tools.",
    "io": "A script has neither files nor a clock: all it can do is call tools.",
    "getmetatable": "Metatables can be set and not read.",
    "load": "A script cannot load another.",
}


def hint_of(message: str, key: str | None, servers: Sequence[str]) -> str | None:
    """Return a hint for a script's error; `key` is the prelude's own hint key, a key of `_KNOWN`."""
    if key is not None:
        return _HINTS.get(key)
    if (found := _GLOBAL.search(message)) is None:
        return None
    name = found[1]
    if name in _ABSENT_GLOBALS:
        return _ABSENT_GLOBALS[name]
    near = nearest(name, servers)
    known = ", ".join(servers[:20]) if servers else "none"
    return f"Did you mean the server '{near[0]}'?" if near else f"There is no '{name}' here; the servers are: {known}."
