"""Spans of what clients ask, where somebody collects them.

The SDK makes one for every message, as OpenTelemetry wants it: `tools/call get_user`, without a value. That takes a
twentieth of a call's time, and is for nobody until a provider of spans is set; which can happen at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext


def if_collected(each: ServerMiddleware[Any]) -> ServerMiddleware[Any]:
    """A middleware of the SDK; the one that makes spans only while somebody collects them."""
    # By its name: the class is private to the SDK.
    return Traced(each) if type(each).__name__ == "OpenTelemetryMiddleware" else each


class Traced:
    """The middleware of the SDK that makes spans, left out while nobody collects them.

    Args:
        spans: That middleware.
    """

    def __init__(self, spans: ServerMiddleware[Any]) -> None:
        self._spans = spans

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """The answer to one message."""
        if isinstance(get_tracer_provider(), ProxyTracerProvider):
            return await call_next(ctx)
        return await self._spans(ctx, call_next)
