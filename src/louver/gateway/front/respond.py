"""The response to a request: its result or its error, as JSON.

{"jsonrpc":"2.0","id":3,"result":{...}}    an upstream's own text, if no step has changed its result
"""

from __future__ import annotations

import json
import logging
from operator import is_
from typing import TYPE_CHECKING, Any, Final

import msgspec

from louver.wire.jsonrpc.codec import Result, error_response
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, JsonRpcError
from louver.wire.mcp import NOTIFICATION_PREFIX

if TYPE_CHECKING:
    from louver.steps.request import Next, Request
    from louver.wire.jsonrpc.codec import RequestId

logger = logging.getLogger(__name__)


async def respond(answer: Next, request: Request) -> tuple[bytes, JsonRpcError | None]:
    """The text of the response, and its error, if it is one."""
    assert request.id is not None, "notifications have no response"
    try:
        result = await answer(request)
        return _result_text(request.id, result, request.record.received), None
    except JsonRpcError as error:
        return error_response(request.id, error), error
    except Exception as unexpected:  # noqa: BLE001 - whatever fails, the client gets a response
        # By its type alone: its message may hold a value.
        logger.error("a request cannot be answered: %s", type(unexpected).__name__)
        error = JsonRpcError(INTERNAL_ERROR, "Internal server error")
        return error_response(request.id, error), error


async def forward_notification(answer: Next, request: Request) -> None:
    """Pass on a notification of a client; errors are not reported."""
    if not request.method.startswith(NOTIFICATION_PREFIX):
        # A request without an id: a server that looks at the method alone would serve it, and no rule would be checked.
        return
    try:
        await answer(request)
    except Exception as error:  # noqa: BLE001 - the client gets no response, and its next message is served
        logger.error("a notification cannot be forwarded: %s", type(error).__name__)


_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


def on_one_line(message: bytes) -> bytes:
    """A message without line breaks, which end lines and events: JSON has them between its tokens only."""
    return message.translate(_LINE_BREAKS) if b"\n" in message or b"\r" in message else message


def _result_text(request_id: RequestId, result: dict[str, Any], received: dict[str, Any] | None) -> bytes:
    text = received.text() if isinstance(received, Result) and _is_same(result, received) else None
    if text is None:
        return _written({"jsonrpc": "2.0", "id": request_id, "result": result})
    return b"".join((b'{"jsonrpc":"2.0","id":', msgspec.json.encode(request_id), b',"result":', text, b"}"))


def _written(message: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        # Half a surrogate pair, read from JSON in a text, can stand in no message that all clients read.
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _is_same(result: dict[str, Any], received: Result) -> bool:
    # Identity of the members, not equality: cheap, and enough for a result that the steps passed through.
    return list(result) == list(received) and all(map(is_, result.values(), received.values()))
