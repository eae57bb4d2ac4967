r"""JSON-RPC messages of an upstream, read strictly: a forwarded text must mean the same to every reader.

    b'{"jsonrpc":"2.0","id":1,"result":{...}}'                          a message: one line, one body or one event
    {"a": 1, "a": 2}    NaN    1e400    "\ud83d"    [[[[...             refused, as is a byte that is not UTF-8

The readers are those of `core/json.py`.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from louver.core.json import UNSURE, Json, NotJson, holds_more, is_object, levels, parse_fast, parse_slowly
from louver.errors import UpstreamInvalidOutput, UpstreamTooLarge
from louver.limits import (
    MAX_INTEGER_DIGITS,
    MAX_READ_ON_LOOP,
    MAX_TELLING_BYTES,
    MAX_UPSTREAM_DEPTH,
)
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, JsonRpcError

MAX_UPSTREAM_CONTAINERS = 1_000_000
"""Arrays and objects in an upstream's message. 8 MB of `[],` become 200 MB of lists."""

# MCP forbids to cancel `initialize`, and an old server does not know what `server/discover` was.
NEVER_CANCELLED: Final = frozenset({"initialize", "server/discover"})

_T = TypeVar("_T")

JsonValue = dict[str, Any] | list[Any] | str | float | bool | None

# `None` if the message has none.
Params = dict[str, Any] | None

# 0 and the empty text are ids too.
RequestId = int | str


class Message(NamedTuple):
    body: dict[str, Any]
    # `None` without an id, or with `null`. In a response: the number that was sent, even if it comes back as text.
    id: RequestId | None
    method: str | None  # `None` in a response
    params: Params
    raw: bytes  # the text of the message

    def result(self) -> Result:
        """The result of a response; an error response raises `JsonRpcError`."""
        error: JsonValue = self.body.get("error")
        result: JsonValue = self.body.get("result")
        if isinstance(error, dict) and _is_int(error.get("code")) and isinstance(error.get("message"), str):
            raise JsonRpcError(error["code"], error["message"], error.get("data"))
        if not is_object(result):
            raise invalid_output("it answers with neither a result nor an error")
        return Result(result, self)


class Result(dict[str, Any]):
    """A result that knows its JSON text, so that it can be forwarded without encoding it again."""

    def __init__(self, result: dict[str, Any], message: Message) -> None:
        super().__init__(result)
        self._message = message

    @property
    def size(self) -> int:
        """Bytes of the message, which has little more than the result."""
        return len(self._message.raw)

    def text(self) -> memoryview | None:
        """The JSON text; `None` unless the message is compact with the result as its first or last member."""
        body, raw = self._message.body, self._message.raw
        others = _bytes({key: value for key, value in body.items() if key != "result"})[1:-1]
        before, after = b"{" + others + b',"result":', b"}"
        if next(iter(body)) == "result":
            before, after = b'{"result":', b"," + others + b"}"
        if not raw.startswith(before) or not raw.endswith(after):
            return None
        return memoryview(raw)[len(before) : -len(after)]


# Reading


def read(raw: bytes) -> Message:
    body = read_strictly(raw)
    if not is_object(body) or body.get("jsonrpc") != "2.0":
        raise invalid_output("no JSON-RPC message")
    method, params, request_id = body.get("method"), body.get("params"), body.get("id")
    if method is not None and not isinstance(method, str):
        raise invalid_output("the method is no text")
    if params is not None and not is_object(params):
        raise invalid_output("the params are no object")
    if request_id is not None and not _is_int(request_id) and not isinstance(request_id, str):
        raise invalid_output("the id is neither a number nor a text")
    if request_id is None and "id" in body and method is not None:
        raise invalid_output("a request has no id")
    return Message(body, normalized_id(request_id) if method is None else request_id, method, params, raw)


async def read_in_thread(raw: bytes) -> Message:
    if len(raw) <= MAX_READ_ON_LOOP:
        return read(raw)
    return await asyncio.to_thread(read, raw)


def peek_response_id(raw: bytes) -> int | None:
    """The id of a response that cannot be read, as far as its beginning or its end shows it."""
    # White space is as long as the message: each pattern would go back over it.
    start = raw[:MAX_TELLING_BYTES]
    if (found := _ID_FIRST.match(start)) is None and _IS_RESPONSE.match(start):
        found = _ID_LAST.search(raw[-100:])
    return None if found is None else int(found[2])


_JSONRPC: Final = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_ID: Final = rb'"id"\s*:\s*("?)(\d{1,15})\1\s*'
_ID_FIRST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + _ID + rb",\s*" + _JSONRPC + rb'"(?:result|error)"')
_IS_RESPONSE: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + rb'"(?:result|error)"\s*:')
_ID_LAST: Final = re.compile(rb",\s*" + _ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


_DIGITS: Final = re.compile(r"[0-9]{1,15}")


def normalized_id(value: _T) -> _T | int:
    """An id or token that came back as a text, as the number that was sent: SDKs accept that too."""
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Strict JSON


def read_strictly(raw: bytes) -> Json:
    try:
        return _parse(raw)
    except NotJson as error:
        # Other reasons of the parser may quote the text.
        reason = error.reason if error.reason in _REASONS else "it is not JSON"
        raise invalid_output(f"not strictly JSON: {reason}") from None


def invalid_output(reason: str) -> UpstreamInvalidOutput:
    """The error of a message that cannot be used; `reason` is our own text."""
    return UpstreamInvalidOutput(f"the upstream sends what cannot be used: {reason}")


_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_MANY_DIGITS: Final = "an integer has too many digits"
_REASONS: Final = {
    "a key stands twice",
    "NaN and infinities are no numbers of JSON",
    "a number is too large",
    "a text holds half a surrogate pair",
    "it is not UTF-8",
    f"it is nested deeper than {MAX_UPSTREAM_DEPTH} levels",
    _TOO_MANY_DIGITS,
}


def _parse(raw: bytes) -> Json:
    value = parse_fast(raw, MAX_UPSTREAM_DEPTH)
    if value is not UNSURE:
        return value
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise NotJson("it is not UTF-8") from None
    if holds_more(raw, b"[{", MAX_UPSTREAM_CONTAINERS):
        message = f"the upstream's answer has over {MAX_UPSTREAM_CONTAINERS} arrays and objects"
        raise UpstreamTooLarge(message, limit=MAX_UPSTREAM_CONTAINERS)
    return _parse_slow(text)


def _parse_slow(text: str) -> Json:
    try:
        value = parse_slowly(text, deepest=MAX_UPSTREAM_DEPTH)
    except NotJson as error:
        if error.reason != _TOO_MANY_DIGITS:
            raise
        value = parse_slowly(text, deepest=MAX_UPSTREAM_DEPTH, integer=_integer)
    if _SURROGATE.search(text) and not all(_is_encodable(part) for level in levels(value) for part in level):
        raise NotJson("a text holds half a surrogate pair")
    return value


def _integer(digits: str) -> int:
    """An integer of up to `MAX_INTEGER_DIGITS` digits: Python's limit is 4,300."""
    if len(digits) > MAX_INTEGER_DIGITS:
        raise NotJson(_TOO_MANY_DIGITS)
    number = 0
    for start in range(0, len(unsigned := digits.removeprefix("-")), 4000):
        part = unsigned[start : start + 4000]
        number = number * 10 ** len(part) + int(part)
    return -number if digits.startswith("-") else number


def _is_encodable(part: Json) -> bool:
    text = part if isinstance(part, str) else "".join(part) if is_object(part) else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# Writing

_WRITER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def request(request_id: RequestId, method: str, params: Params) -> bytes:
    return _write({"id": request_id, "method": method}, params)


def notification(method: str, params: Params) -> bytes:
    return _write({"method": method}, params)


def response(request_id: RequestId, result: dict[str, Any]) -> bytes:
    return _bytes({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_response(request_id: RequestId | None, error: JsonRpcError) -> bytes:
    """An error response; an error that cannot be written becomes an internal error."""
    message = {"jsonrpc": "2.0", "id": request_id, "error": error.to_json()}
    try:
        return _bytes(message)
    except JsonRpcError:
        return _bytes({**message, "error": {"code": INTERNAL_ERROR, "message": "Internal error"}})


def _write(head: dict[str, Any], params: Params) -> bytes:
    return _bytes({"jsonrpc": "2.0", **head, **({} if params is None else {"params": params})})


def _bytes(message: dict[str, Any]) -> bytes:
    try:
        written = orjson.dumps(message)
    except orjson.JSONEncodeError:
        pass  # the slow encoder reports why, or succeeds
    else:
        # orjson writes NaN as null.
        if b"null" not in written:
            return written
    try:
        return _WRITER.encode(message).encode()
    except (ValueError, RecursionError):
        raise JsonRpcError(INVALID_PARAMS, "what is to be sent cannot be written as JSON") from None
