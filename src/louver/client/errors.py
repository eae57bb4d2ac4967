"""Turns a server's refusals and error results into our errors.

error -32602, data {"error": {"code": "UNKNOWN_FIELD", ...}}     UnknownField: the tool has not run
{"isError": true, "_meta": {"dev.louver/error": {"code": ...}}}  by the code, else ToolFailed
{"isError": true, "content": [...]}                              ToolFailed, with the content
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import members
from louver.errors import (
    InvalidProjection,
    LouverError,
    OutputInvalid,
    ProjectionLimit,
    ProjectionRequired,
    ToolFailed,
    UnknownField,
    UnknownView,
)
from louver.protocol.names import ERROR
from louver.protocol.output import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp import MCPError

_REFUSALS: Final = {each.code: each for each in (InvalidProjection, ProjectionLimit, UnknownField, UnknownView)}
_FIELDS: Final = ("path", "offset", "expected", "position", "limit", "unmatched", "suggestions", "view", "views")

# Most characters of a server's message.
_MOST: Final = 400


def refusal(error: MCPError) -> LouverError | None:
    """Our error for a refused request; `None` if the server refused it for another reason."""
    details: Any = members(members(error.error.data).get("error"))
    refused = _REFUSALS.get(details.get("code")) if isinstance(details.get("code"), str) else None
    if refused is None:
        return None
    return refused(error.error.message[:_MOST], **{name: details[name] for name in _FIELDS if name in details})


def check_failed(tool: str, result: dict[str, Any]) -> None:
    """Raise our error for an error result, with our own message; a refusal keeps the server's."""
    if not result.get("isError"):
        return
    reported: object = members(members(result.get("_meta")).get(ERROR)).get("code")
    code = next((known for known in _codes(LouverError) if known == reported), None)
    if code == ProjectionRequired.code:
        raise ProjectionRequired(f"a projection is required, and not possible for what tool {tool!r} answers")
    if code == OutputInvalid.code:
        raise OutputInvalid(f"what tool {tool!r} answers does not satisfy its own schema, says the server")
    known = "" if code is None else f" {code}"
    raise ToolFailed(
        f"tool {tool!r} answers with an error{known}: what it says stands in 'content'",
        tool=tool,
        content=blocks(result),
    )


def _codes(of: type[LouverError]) -> Iterator[str]:
    yield of.code
    for each in of.__subclasses__():
        yield from _codes(each)
