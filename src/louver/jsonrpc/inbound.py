"""Messages of clients, read from their text.

b'{"jsonrpc":"2.0","id":1,"method":"ping"}'    a request
b'{"jsonrpc":"2.0","method":"x"}'              a notification
b'{"jsonrpc":"2.0","id":1,"result":{}}'        a response
"""

from __future__ import annotations

from typing import Any

import msgspec

from louver.core.json import is_object
from louver.jsonrpc.errors import INVALID_REQUEST, PARSE_ERROR, JsonRpcError
from louver.jsonrpc.inbound_limits import check, is_id


def read(raw: bytes) -> dict[str, Any]:
    """A message; JsonRpcError if it is over the limits, or none of JSON-RPC. The error quotes nothing of it."""
    check(raw)
    try:
        message: object = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        if (replaced := raw.decode(errors="replace").encode()) != raw:
            return read(replaced)
        # Of msgspec's errors only these say what is wrong, with its position; they quote nothing.
        position = f"{error}; " if str(error).startswith("JSON is malformed") else ""
        raise JsonRpcError(
            PARSE_ERROR, f"{position}a message is JSON in UTF-8, without half a surrogate pair"
        ) from None
    if not is_object(message) or not (_is_request(message) or _is_response(message)):
        raise JsonRpcError(
            INVALID_REQUEST,
            "a message is a request, a notification or a response of JSON-RPC 2.0, whose params are an object",
        )
    return message


def _is_request(message: dict[str, Any]) -> bool:
    return (
        message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and ("id" not in message or is_id(message["id"]))
        and ("params" not in message or message["params"] is None or is_object(message["params"]))
    )


def _is_response(message: dict[str, Any]) -> bool:
    if message.get("jsonrpc") != "2.0" or "method" in message or not is_id(message.get("id")):
        return False
    error = message.get("error")
    if is_object(error):
        return isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    return is_object(message.get("result"))
