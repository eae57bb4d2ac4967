"""Messages of a client over stdio, and what is told of one that cannot be read.

::

    {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{...    a request, as SDKs write it in most languages
    {"jsonrpc":"2.0","method":"tools/call","id":1,"params":{...    likewise, in Java
    {"method":"tools/call",    ...    ,"jsonrpc":"2.0","id":1}     likewise, in TypeScript

MCP lets no error name the request `null`: where the id stands otherwise, nobody is answered. It is not `wire.py`, which
reads what upstreams say, strictly.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import mcp_types as types
from mcp import MCPError
from pydantic import ValidationError

from louver.core.json import is_object
from louver.gateway.stdio_lines import TooLong
from louver.limits import MAX_CLIENT_LINE

if TYPE_CHECKING:
    from louver.gateway.wire import RequestId


def read(line: bytes) -> types.JSONRPCMessage:
    """The message of a line.

    Raises:
        MCPError: It cannot be read. The error holds nothing of it.

    Source: "replace" is what the SDK reads by; half a surrogate pair could not be written to an upstream.
    """
    if isinstance(line, TooLong):
        message = f"a message has at most {MAX_CLIENT_LINE} bytes, this one has more"
        raise MCPError(types.INVALID_REQUEST, message)
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


def asked(line: bytes) -> RequestId | None:
    """The id of a request that cannot be read; where it is no JSON, as far as its beginning or its end shows it."""
    with suppress(ValueError, RecursionError):
        said = json.loads(line.decode(errors="replace"))
        number = said.get("id") if is_object(said) and "method" in said else None
        return number if isinstance(number, int | str) and not isinstance(number, bool) else None
    if (found := _ID_FIRST.match(line) or _METHOD_FIRST.match(line)) is None and _IS_REQUEST.match(line):
        found = _ID_LAST.search(line[-200:])
    return None if found is None else json.loads(found[1])


_JSONRPC: Final = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_ID: Final = rb'"id"\s*:\s*(0|[1-9]\d{0,14}|"[ !#-\[\]-~]{0,100}")\s*'
_METHOD: Final = rb'"method"\s*:\s*"[^"\\]{0,100}"\s*,\s*'
_IS_REQUEST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + rb'"method"\s*:')
_ID_FIRST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + _ID + rb",\s*" + _JSONRPC + rb'"(?:method|params)"\s*:')
_METHOD_FIRST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + _METHOD + _JSONRPC + _ID + rb"[,}]")
# Together: what is cut off may end with an id of something else.
_ID_LAST: Final = re.compile(rb',\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\}\s*\Z")
