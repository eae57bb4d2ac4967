"""Spans of what clients ask, where somebody collects them.

The SDK makes one for every message, as OpenTelemetry wants it: `tools/call get_user`. That takes a twentieth of a
call's time, and is for nobody until a provider of spans is set; which can happen at any time. It would put the message
of an error into it, which can hold a value of a server's; so it is shown the error without that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext


_WITHHELD: Final = "the message is withheld"


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
        failed: Exception | None = None

        async def answer(ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
            nonlocal failed
            try:
                return await call_next(ctx)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again behind the span
                failed = error
                raise _without_message(error) from None

        try:
            return await self._spans(ctx, answer)
        except Exception:  # what was shown to the span; or, where nothing failed, the span itself
            if failed is None:
                raise
            raise failed from None


def _without_message(error: Exception) -> Exception:
    """What a span may know of an error: its code, or else its kind."""
    if isinstance(error, MCPError):
        return MCPError(error.error.code, _WITHHELD)
    return type(type(error).__qualname__, (Exception,), {})(_WITHHELD)
