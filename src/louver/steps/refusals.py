r"""Our errors on the wire; the only module of the server that makes protocol errors and error results of them.

    {"code": -32602, "message": ..., "data": {"error": {"code": "INVALID_PROJECTION", ..., "path": "a..b"}}}
    {"isError": true, "content": [{"type": "text", "text": "{\"error\": {...}}"}], "_meta": {"dev.louver/error": ...}}

There is no `structuredContent`: some clients validate it even on errors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from louver.errors import InvalidProjection, UnknownField, UnknownView
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError
from louver.wire.names import ERROR

if TYPE_CHECKING:
    from louver.errors import LouverError


def protocol_error(error: LouverError) -> JsonRpcError:
    """The protocol error of a request that is refused before the tool runs."""
    payload = error.to_json()
    return JsonRpcError(code=INVALID_PARAMS, message=payload["message"], data={"error": payload})


def unknown_tool() -> JsonRpcError:
    """The error for a tool that is missing, or hidden from the caller, who is not to know which."""
    return JsonRpcError(code=INVALID_PARAMS, message="Unknown tool")


def model_error_result(error: LouverError, argument: str, envelope: dict[str, Any]) -> dict[str, Any]:
    """The error result for a model with a refused argument: a sentence, with the right form to send."""
    # Unknown fields and views: the message lists those that exist.
    is_enough = not isinstance(error, InvalidProjection) or isinstance(error, UnknownField | UnknownView)
    form = "" if is_enough else ". Send a list of field names, such as ['id', 'user.login'], or leave it out"
    text = f"{argument}: {error.message}{form}"
    return {**envelope, "content": [{"type": "text", "text": text}], "isError": True}


def error_result(error: LouverError, envelope: dict[str, Any]) -> dict[str, Any]:
    """The error result of a call; `envelope` has the members of every result, such as `resultType`."""
    payload = {"error": error.to_json()}
    return {
        **envelope,
        "content": [{"type": "text", "text": json.dumps(payload, ensure_ascii=False)}],
        "isError": True,
        "_meta": {**envelope.get("_meta", {}), ERROR: payload["error"]},
    }
