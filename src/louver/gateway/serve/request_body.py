"""Bodies of requests over HTTP, before the SDK reads them.

    POST {"id": 3, "params": {"arguments": {"x": [[], [], [], ...    -> 400 {"id": 3, "error": {"code": -32600, ...

Which are not read says `unread.py`, as over stdio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp import MCPError
from starlette.responses import Response

from louver.core.json import compact
from louver.jsonrpc.inbound_limits import asked, check

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Bounded:
    """Refuses a body with too much in it.

    Args:
        app: What reads the others.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whose body comes in one message."""
        first = await receive()
        body: bytes = first.get("body", b"")
        try:
            check(body)
        except MCPError as error:
            said = {"jsonrpc": "2.0", "id": asked(body), "error": error.error.model_dump(exclude_none=True)}
            await Response(compact(said), 400, media_type="application/json")(scope, receive, send)
            return
        await self._app(scope, again([first], receive), send)


def again(read: list[Message], receive: Receive) -> Receive:
    """What was read of a request, and then the rest."""
    left = iter(read)

    async def again() -> Message:
        message = next(left, None)
        return await receive() if message is None else message

    return again
