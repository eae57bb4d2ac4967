"""Results as the middleware gets and makes them: wire objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import HandlerResult


def result_dict(result: HandlerResult) -> dict[str, Any]:
    """The wire object of a result; a new one, which may be changed at its top level."""
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dict(result or {})


def envelope_of(result: dict[str, Any]) -> dict[str, Any]:
    """What the SDK put into a result that is not about its content."""
    return {key: value for key, value in result.items() if key not in ("content", "structuredContent", "isError")}


def envelope(server: Server[Any], protocol_version: str) -> dict[str, Any]:
    """What a result needs that is made without the SDK's handlers: its type and the server's identity."""
    if protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return {}
    return {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: server.server_info_stamp}}
