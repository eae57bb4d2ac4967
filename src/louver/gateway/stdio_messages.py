r"""Messages of a client over stdio: a line each.

    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{...}}\n'

MCP lets no error name the request `null`: where `unread.py` does not know which one is not read, nobody is answered. It
is not `wire.py`, which reads what upstreams say, strictly.
"""

from __future__ import annotations

import mcp_types as types
from mcp import MCPError
from pydantic import ValidationError

from louver.gateway.stdio_lines import TooLong
from louver.gateway.unread import check
from louver.limits import MAX_CLIENT_LINE


def read(line: bytes) -> types.JSONRPCMessage:
    """The message of a line.

    Raises:
        MCPError: It cannot be read. The error holds nothing of it.

    Source: "replace" is what the SDK reads by; half a surrogate pair could not be written to an upstream.
    """
    if isinstance(line, TooLong):
        message = f"a message has at most {MAX_CLIENT_LINE} bytes, this one has more"
        raise MCPError(types.INVALID_REQUEST, message)
    check(line)
    try:
        return types.jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            # Its message says what and where, and quotes nothing.
            message = f"{first['msg']}; a message is a line of JSON, without half a surrogate pair"
            raise MCPError(types.PARSE_ERROR, message) from None
        message = "a message is a request, a notification or an answer of JSON-RPC 2.0, whose params are an object"
        raise MCPError(types.INVALID_REQUEST, message) from None
