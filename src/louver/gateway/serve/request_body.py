"""Check request bodies over HTTP before the SDK parses them.

    POST {"id": 3, "params": {"arguments": {"x": [[], [], [], ...    -> 400 {"id": 3, "error": {"code": -32600, ...

The limits are those of `jsonrpc/inbound_limits.py`, as over stdio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp import MCPError
from starlette.responses import Response

from louver.core.json import compact
from louver.jsonrpc.inbound_limits import check, peek_request_id

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimitMiddleware:
    """ASGI wrapper that refuses a body over the limits."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The SDK's size limit, which runs before, delivers the body in one message.
        first = await receive()
        body: bytes = first.get("body", b"")
        try:
            check(body)
        except MCPError as error:
            message = {
                "jsonrpc": "2.0",
                "id": peek_request_id(body),
                "error": error.error.model_dump(exclude_none=True),
            }
            await Response(compact(message), 400, media_type="application/json")(scope, receive, send)
            return
        await self._app(scope, replay([first], receive), send)


def replay(messages: list[Message], receive: Receive) -> Receive:
    """Replay the messages already read, then receive the rest."""
    remaining = iter(messages)

    async def receive_replayed() -> Message:
        message = next(remaining, None)
        return await receive() if message is None else message

    return receive_replayed
