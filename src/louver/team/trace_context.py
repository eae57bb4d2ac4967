"""The trace context of an HTTP request, `traceparent` and `tracestate`, for the spans of its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.context import attach, detach

from louver.gateway.front.exchange import folded
from louver.steps.tracing import read_context

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class TraceContext:
    """ASGI wrapper, where spans are made."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = read_context(folded(tuple(scope["headers"]))) if scope["type"] == "http" else None
        if context is None:
            await self._app(scope, receive, send)
            return
        token = attach(context)
        try:
            await self._app(scope, receive, send)
        finally:
            detach(token)
