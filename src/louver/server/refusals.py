r"""Our errors, as a client meets them: the one place on this side that makes protocol errors.

A request in `_meta` that is refused is a protocol error, before the tool has run::

    {"code": -32602, "message": "field path 'a..b': expected ...",
     "data": {"error": {"code": "INVALID_PROJECTION", "message": ..., "path": "a..b", "offset": 2}}}

A request by argument comes from a model, so it is a result that the model reads::

    {"isError": true, "content": [{"type": "text", "text": "{\"error\": {...}}"}]}

There is never `structuredContent` in it: some clients validate that even on errors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import INVALID_PARAMS

from louver.protocol.names import ERROR

if TYPE_CHECKING:
    from louver.errors import LouverError


def protocol_error(error: LouverError) -> MCPError:
    """The protocol error of a refused request."""
    said = error.to_json()
    return MCPError(code=INVALID_PARAMS, message=said["message"], data={"error": said})


def error_result(error: LouverError, envelope: dict[str, Any]) -> dict[str, Any]:
    """The error result of a call that cannot be answered as asked.

    Args:
        error: What is wrong.
        envelope: What every result on this connection has, such as `resultType`.
    """
    said = {"error": error.to_json()}
    return {
        **envelope,
        "content": [{"type": "text", "text": json.dumps(said, ensure_ascii=False)}],
        "isError": True,
        "_meta": {**envelope.get("_meta", {}), ERROR: said["error"]},
    }
