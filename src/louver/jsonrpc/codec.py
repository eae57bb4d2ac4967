"""Messages of an upstream: from bytes, strictly, and to bytes.

One line of a pipe, one body or one event of HTTP is one JSON-RPC message::

    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{...}}'    a request
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'  a notification
    b'{"jsonrpc":"2.0","id":1,"result":{...}}'                          an answer

`strict_json.py` says what is JSON. `server/wire.py` is about results as the SDK's middleware sees them.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Final, NamedTuple, TypeVar

import orjson
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from louver.core.json import is_object
from louver.jsonrpc import strict_json
from louver.limits import MAX_READ_ON_LOOP

NEVER_CANCELLED: Final = frozenset({"initialize", "server/discover"})
"""What opens a conversation: MCP forbids to cancel the one, and an old server would not know what the other was."""

_T = TypeVar("_T")

Params = dict[str, Any] | None
"""The `params` of a message; `None` where it has none."""

RequestId = int | str
"""What names a request. 0 and the empty text are ids too."""


class Message(NamedTuple):
    """One message as it was read.

    Args:
        body: The whole object.
        id: Its id; `None` where it has none, or the `null` of a refusal. Of an answer the number that was sent, also
            where it comes back as a text.
        method: What is said or asked; `None` in an answer.
        params: Likewise.
        raw: The text that it was read from.
    """

    body: dict[str, Any]
    id: RequestId | None
    method: str | None
    params: Params
    raw: bytes

    def result(self) -> Result:
        """The result that an answer brings.

        Raises:
            MCPError: It brings an error.
            UpstreamInvalidOutput: It brings neither.
        """
        error, result = self.body.get("error"), self.body.get("result")
        if is_object(error) and _is_int(error.get("code")) and isinstance(error.get("message"), str):
            raise MCPError(error["code"], error["message"], error.get("data"))
        if not is_object(result):
            raise strict_json.fault("it answers with neither a result nor an error")
        return Result(result, self)


class Result(dict[str, Any]):
    """A result that knows the text it was read from: sent on as it is, it need not be written anew.

    Args:
        result: The result.
        message: The answer that brings it.
    """

    def __init__(self, result: dict[str, Any], message: Message) -> None:
        super().__init__(result)
        self._message = message

    def text(self) -> memoryview | None:
        """That text; `None` where it stands unusually: not at the beginning or the end of the answer."""
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
    """The message of a text.

    Raises:
        UpstreamInvalidOutput: It is not strictly JSON, or no message.
        UpstreamTooLarge: It is, or has, more than is read.
    """
    body = strict_json.read(raw)
    if not is_object(body) or body.get("jsonrpc") != "2.0":
        raise strict_json.fault("no JSON-RPC message")
    return _message(body, raw)


async def read_aside(raw: bytes) -> Message:
    """`read`, in a thread where that takes long."""
    if len(raw) <= MAX_READ_ON_LOOP:
        return read(raw)
    return await asyncio.to_thread(read, raw)


def answered(raw: bytes) -> int | None:
    """The id of an answer that cannot be read, as far as can be seen from its beginning or its end."""
    if (found := _ID_FIRST.match(raw)) is None and _IS_ANSWER.match(raw):
        found = _ID_LAST.search(raw[-100:])
    return None if found is None else int(found[2])


_JSONRPC: Final = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?'
_ID: Final = rb'"id"\s*:\s*("?)(\d{1,15})\1\s*'
_ID_FIRST: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + _ID + rb",\s*" + _JSONRPC + rb'"(?:result|error)"')
_IS_ANSWER: Final = re.compile(rb"\s*\{\s*" + _JSONRPC + rb'"(?:result|error)"\s*:')
_ID_LAST: Final = re.compile(rb",\s*" + _ID + rb'(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


_DIGITS: Final = re.compile(r"[0-9]{1,15}")


def come_back(number: _T) -> _T | int:
    """A number that was sent, as an id or a token; some servers send it back as a text, which SDKs take for it."""
    return int(number) if isinstance(number, str) and _DIGITS.fullmatch(number) else number


def _message(body: dict[str, Any], raw: bytes) -> Message:
    method, params, number = body.get("method"), body.get("params"), body.get("id")
    if method is not None and not isinstance(method, str):
        raise strict_json.fault("the method is no text")
    if params is not None and not is_object(params):
        raise strict_json.fault("the params are no object")
    if number is not None and not _is_int(number) and not isinstance(number, str):
        raise strict_json.fault("the id is neither a number nor a text")
    if number is None and "id" in body and method is not None:
        raise strict_json.fault("a request has no id")
    return Message(body, come_back(number) if method is None else number, method, params, raw)


def _is_int(value: object) -> bool:
    """Whether it is an integer, which `True` is in Python alone."""
    return isinstance(value, int) and not isinstance(value, bool)


# Writing

_WRITER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def request(number: int, method: str, params: Params) -> bytes:
    """A request.

    Raises:
        MCPError: The params cannot be written as JSON.
    """
    return _write({"id": number, "method": method}, params)


def notification(method: str, params: Params) -> bytes:
    """A notification.

    Raises:
        MCPError: The params cannot be written as JSON.
    """
    return _write({"method": method}, params)


def answer(number: RequestId, result: dict[str, Any]) -> bytes:
    """The answer to a request of an upstream.

    Raises:
        MCPError: The result cannot be written as JSON.
    """
    return _bytes({"jsonrpc": "2.0", "id": number, "result": result})


def refusal(number: RequestId, error: MCPError) -> bytes:
    """Likewise, an error."""
    said = {"jsonrpc": "2.0", "id": number, "error": error.error.model_dump(exclude_none=True)}
    try:
        return _bytes(said)
    except MCPError:
        return _bytes({**said, "error": {"code": INTERNAL_ERROR, "message": "Internal error"}})


def _write(head: dict[str, Any], params: Params) -> bytes:
    return _bytes({"jsonrpc": "2.0", **head, **({} if params is None else {"params": params})})


def _bytes(message: dict[str, Any]) -> bytes:
    try:
        written = orjson.dumps(message)
    except orjson.JSONEncodeError:
        pass  # the slow writer says why, or writes it
    else:
        # It writes NaN as null.
        if b"null" not in written:
            return written
    try:
        return _WRITER.encode(message).encode()
    except (ValueError, RecursionError):
        raise MCPError(INVALID_PARAMS, "what is to be sent cannot be written as JSON") from None
