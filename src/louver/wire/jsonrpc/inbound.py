"""Messages of clients, read from their text; limits first: four megabytes of `[],` would block the gateway for seconds.

    {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{...    a request, as most SDKs write it
    {"jsonrpc":"2.0","method":"tools/call","id":1,"params":{...    in Java
    {"method":"tools/call",    ...    ,"jsonrpc":"2.0","id":1}     in TypeScript

These forms give the id of a message that is refused. The transports limit the number of bytes.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import msgspec

from louver.core.json import holds_more, is_deeper, is_object
from louver.limits import MAX_TELLING_BYTES
from louver.wire.jsonrpc.errors import INVALID_REQUEST, PARSE_ERROR, JsonRpcError

if TYPE_CHECKING:
    from louver.wire.jsonrpc.codec import RequestId

MAX_ID_CHARACTERS = 1000
MAX_ID_BITS = 1024
"""Longest id of a client's request, as a text and as a number."""

MAX_CLIENT_VALUES = 200_000
MAX_CLIENT_CONTAINERS = 100_000
"""Elements and members of a client's message (parsed on the event loop in 0.1 s), and slower arrays and objects."""

MAX_CLIENT_DEPTH = 128
"""Nesting of a client's message, in levels."""


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


def check(raw: bytes) -> None:
    """Refuse a message over the limits; the error quotes nothing of it."""
    if b"\0" in raw:
        # Python's parser takes it for UTF-16, in which nothing could be counted.
        raise JsonRpcError(PARSE_ERROR, "a message is JSON in UTF-8, which has no byte 0")
    for marks, unit, limit in _LIMITS:
        if len(raw) > limit and holds_more(raw, marks, limit):
            raise JsonRpcError(INVALID_REQUEST, f"a message has at most {limit} {unit}, this one has more")
    if is_deeper(raw, MAX_CLIENT_DEPTH):
        message = f"a message is nested at most {MAX_CLIENT_DEPTH} levels deep, this one is deeper"
        raise JsonRpcError(INVALID_REQUEST, message)


def peek_request_id(raw: bytes) -> RequestId | None:
    """The id of a request; if it cannot be read, as far as its beginning or its end shows the id."""
    with suppress(JsonRpcError, ValueError, RecursionError):
        check(raw)
        message = json.loads(raw.decode(errors="replace"))
        request_id = message.get("id") if is_object(message) and "method" in message else None
        # Half a surrogate pair cannot be written.
        str(request_id).encode()
        return request_id if is_id(request_id) else None
    # White space is as long as the message: each pattern would go back over it.
    start = raw[:MAX_TELLING_BYTES]
    if (found := _ID_FIRST.match(start) or _METHOD_FIRST.match(start)) is None and _IS_REQUEST.match(start):
        found = _ID_LAST.search(raw[-200:])
    return None if found is None else json.loads(found[1])


def is_id(value: object) -> TypeGuard[int | str]:
    """Whether a value can be the id of a request; texts are bounded, since ids are kept with streams."""
    if isinstance(value, str):
        return len(value) <= MAX_ID_CHARACTERS
    return isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= MAX_ID_BITS


_LIMITS: Final = (
    # Each value but the first follows one of these bytes.
    (b"[{,", "values", MAX_CLIENT_VALUES),
    (b"[{", "arrays and objects", MAX_CLIENT_CONTAINERS),
)


_JSONRPC: Final = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_ID: Final = rb'"id"\s*:\s*(0|[1-9]\d{0,14}|"[ !#-\[\]-~]{0,100}")\s*'
_METHOD: Final = rb'"method"\s*:\s*"[^"\\]{0,100}"\s*,\s*'
_IS_REQUEST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + rb'"method"\s*:')
_ID_FIRST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + _ID + rb",\s*" + _JSONRPC + rb'"(?:method|params)"\s*:')
_METHOD_FIRST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + _METHOD + _JSONRPC + _ID + rb"[,}]")
# With `jsonrpc`: a truncated message may end with the id of something else.
_ID_LAST: Final = re.compile(rb',\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\}\s*\Z")
