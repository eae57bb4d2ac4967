"""The response to a request: its result or its error, as JSON.

{"jsonrpc":"2.0","id":3,"result":{...}}    an upstream's own text, if no step has changed its result
"""

from __future__ import annotations

import logging
from operator import is_
from typing import TYPE_CHECKING, Any, Final

import msgspec

from louver.jsonrpc.codec import Result
from louver.jsonrpc.errors import INTERNAL_ERROR, JsonRpcError

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.jsonrpc.codec import RequestId
    from louver.server.request import Next, Request

logger = logging.getLogger(__name__)


async def respond(answer: Next, request: Request) -> tuple[bytes, JsonRpcError | None]:
    """The text of the response, and its error, if it is one."""
    assert request.id is not None, "notifications have no response"
    try:
        result = await answer(request)
        return _result_text(request.id, result, request.record.received), None
    except JsonRpcError as error:
        return error_text(request.id, error), error
    except Exception:
        logger.exception("a request cannot be answered")
        error = JsonRpcError(INTERNAL_ERROR, "Internal server error")
        return error_text(request.id, error), error


async def forward_notification(answer: Next, request: Request) -> None:
    """Pass on a notification of a client; errors are not reported."""
    try:
        await answer(request)
    except Exception:
        logger.exception("a notification cannot be forwarded")


def error_text(request_id: RequestId | None, error: JsonRpcError) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "error": error.to_json()})


def message_text(method: str, params: dict[str, Any] | None, request_id: RequestId | None = None) -> bytes:
    """A request, or without an id a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if request_id is not None:
        message["id"] = request_id
    message["method"] = method
    if params is not None:
        message["params"] = params
    return encode(message)


_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


def on_one_line(message: bytes) -> bytes:
    """A message without line breaks, which end lines and events: JSON has them between its tokens only."""
    return message.translate(_LINE_BREAKS)


def encode(message: Json) -> bytes:
    return msgspec.json.encode(message)


def _result_text(request_id: RequestId, result: dict[str, Any], received: dict[str, Any] | None) -> bytes:
    text = received.text() if isinstance(received, Result) and _is_same(result, received) else None
    if text is None:
        return encode({"jsonrpc": "2.0", "id": request_id, "result": result})
    return b"".join((b'{"jsonrpc":"2.0","id":', encode(request_id), b',"result":', text, b"}"))


def _is_same(result: dict[str, Any], received: Result) -> bool:
    # Identity of the members, not equality: cheap, and enough for a result that the steps passed through.
    return list(result) == list(received) and all(map(is_, result.values(), received.values()))
