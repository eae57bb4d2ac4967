"""A call: its request, from its options to the wire; its refusal by the server; and what a client returns of it.

call_tool(..., include=["id", "user.login"], strict=True)
-> _meta.projection = {"mode": "include", "fields": ["id", "user.login"], "strict": true, "schema": "none"}

error -32602, data {"error": {"code": "UNKNOWN_FIELD", ...}}     UnknownField: the tool has not run
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from louver.core.json import members
from louver.core.projection.request import Projection
from louver.errors import InvalidProjection, ProjectionLimit, UnknownField, UnknownView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp import MCPError

    from louver.core.json import Schema
    from louver.errors import LouverError
    from louver.wire.projection import Applied, NotApplied

Data = TypeVar("Data", covariant=True)

_REFUSALS: Final = {each.code: each for each in (InvalidProjection, ProjectionLimit, UnknownField, UnknownView)}
_FIELDS: Final = ("path", "offset", "expected", "position", "limit", "unmatched", "suggestions", "view", "views")

# Most characters of a server's message.
_MOST: Final = 400

# The request of a call that names nothing.
EVERYTHING = Projection(include=["*"])


def requested_projection(given: Mapping[str, Any], *, strict: bool, required: bool) -> Projection | None:
    """The projection of `include`, `exclude` or `view`, whichever is not `None`; `None` if all are."""
    named = {mode: value for mode, value in given.items() if value is not None}
    if not named:
        if strict or required:
            raise InvalidProjection("'strict' and 'required' go with 'include', 'exclude', 'view' or 'into'")
        return None
    if len(named) > 1:
        raise InvalidProjection(f"one of {', '.join(map(repr, (*given, 'into')))} at a time")
    return Projection(**named, strict=strict, required=required)


def wire_form(projection: Projection, *, knows_options: bool, derives: bool) -> dict[str, Any]:
    """The request as sent: our own options only to a server that knows them. The client enforces them itself.

    One that derives the schema here needs none.
    """
    if not knows_options:
        return projection.with_options(strict=False, required=False).to_wire()
    return projection.with_options(schema="none" if derives else "inline").to_wire()


def refusal(error: MCPError) -> LouverError | None:
    """Our error for a refused request; `None` if the server refused it for another reason."""
    details: Any = members(members(error.error.data).get("error"))
    refused = _REFUSALS.get(details.get("code")) if isinstance(details.get("code"), str) else None
    if refused is None:
        return None
    return refused(error.error.message[:_MOST], **{name: details[name] for name in _FIELDS if name in details})


@dataclass(frozen=True, slots=True)
class ProjectedResult(Generic[Data]):
    """The result of a call, checked against the request.

    Args:
        data: The output without the SDK's wrapper, as the requested type if there is one; `None` for prose.
        schema: A self-contained JSON Schema (draft 2020-12) of the output, which allows only what was requested.
        applied: Whether the server sent just what was requested.
        pruned: Whether the server sent more, which the client removed.
        receipt: What the result says about its projection, if anything.
        raw: The whole result as received. Its other parts are not checked.
    """

    data: Data
    schema: Schema
    applied: bool
    pruned: bool
    receipt: Applied | NotApplied | None
    raw: dict[str, Any] = field(repr=False)
