"""The SDK's OpenTelemetry spans, made only while a tracer provider is set: they take a twentieth of a call's time.

Spans get errors without their messages, which could hold a server's data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext


_WITHHELD: Final = "the message is withheld"


def if_collected(each: ServerMiddleware[Any]) -> ServerMiddleware[Any]:
    """A middleware of the SDK; the one that makes spans is wrapped."""
    # By name, as the class is private to the SDK.
    return Traced(each) if type(each).__name__ == "OpenTelemetryMiddleware" else each


class Traced:
    """The SDK's middleware that makes spans, skipped while no tracer provider is set."""

    def __init__(self, spans: ServerMiddleware[Any]) -> None:
        self._spans = spans

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if isinstance(get_tracer_provider(), ProxyTracerProvider):
            return await call_next(ctx)
        failed: Exception | None = None

        async def answer(ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
            nonlocal failed
            try:
                return await call_next(ctx)
            except Exception as error:  # noqa: BLE001 - it is raised again outside of the span
                failed = error
                raise _without_message(error) from None

        try:
            return await self._spans(ctx, answer)
        except Exception:  # the error that the span got or, if nothing failed, the span's own
            if failed is None:
                raise
            raise failed from None


def _without_message(error: Exception) -> Exception:
    """An error with its code or its type alone."""
    if isinstance(error, MCPError):
        return MCPError(error.error.code, _WITHHELD)
    return type(type(error).__qualname__, (Exception,), {})(_WITHHELD)
