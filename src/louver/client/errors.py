"""What a server says when it does not answer as asked, as our errors.

    error -32602, data {"error": {"code": "UNKNOWN_FIELD", ...}}     UnknownField: the tool has not run
    {"isError": true, "_meta": {"dev.louver/error": {"code": ...}}}  by the code, else ToolFailed
    {"isError": true, "content": [...]}                              ToolFailed, with the content beside the message

Of a refusal, which comes before the tool has run, the words are the server's; of an error result they are ours.
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
_MOST: Final = 400
"""Characters of a server's own words."""


def refusal(error: MCPError) -> LouverError | None:
    """Our error for a refused request; `None` if it is refused for other reasons."""
    said: Any = members(members(error.error.data).get("error"))
    refused = _REFUSALS.get(said.get("code")) if isinstance(said.get("code"), str) else None
    if refused is None:
        return None
    return refused(error.error.message[:_MOST], **{name: said[name] for name in _FIELDS if name in said})


def check_failed(tool: str, result: dict[str, Any]) -> None:
    """Raise what an error result says.

    Raises:
        ProjectionRequired: The server cannot project, and was told that it must.
        OutputInvalid: The tool's output is not what its schema says.
        ToolFailed: It is an error of the tool.
    """
    if not result.get("isError"):
        return
    told: object = members(members(result.get("_meta")).get(ERROR)).get("code")
    code = next((known for known in _codes(LouverError) if known == told), None)
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
