r"""Our errors, as a client meets them: the one place on this side that makes protocol errors.

A request in `_meta` that is refused is a protocol error, before the tool has run::

    {"code": -32602, "message": "field path 'a..b': expected ...",
     "data": {"error": {"code": "INVALID_PROJECTION", "message": ..., "path": "a..b", "offset": 2}}}

A program reads an error result as JSON. A model is told once, in a sentence with the right form to send::

    {"isError": true, "content": [{"type": "text", "text": "{\"error\": {...}}"}], "_meta": {"dev.louver/error": ...}}
    {"isError": true, "content": [{"type": "text", "text": "output_fields: ... Send a list of field names, ..."}]}

There is never `structuredContent` in it: some clients validate that even on errors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import INVALID_PARAMS

from louver.errors import InvalidProjection, UnknownField, UnknownView
from louver.protocol.names import ERROR

if TYPE_CHECKING:
    from louver.errors import LouverError


def protocol_error(error: LouverError) -> MCPError:
    """The protocol error of a refused request."""
    said = error.to_json()
    return MCPError(code=INVALID_PARAMS, message=said["message"], data={"error": said})


def told_to_model(error: LouverError, argument: str, envelope: dict[str, Any]) -> dict[str, Any]:
    """The error result for a model whose request by the argument is not possible.

    Args:
        error: What is wrong.
        argument: What the argument is called.
        envelope: What every result on this connection has.
    """
    # These name the fields and views that there are.
    is_enough = not isinstance(error, InvalidProjection) or isinstance(error, UnknownField | UnknownView)
    form = "" if is_enough else ". Send a list of field names, such as ['id', 'user.login'], or leave it out"
    text = f"{argument}: {error.message}{form}"
    return {**envelope, "content": [{"type": "text", "text": text}], "isError": True}


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
