"""A span for each message of a client, while a provider of spans is set; none holds a value or an error's text.

Source: OpenTelemetry's semantic conventions for MCP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.propagate import extract
from opentelemetry.trace import (
    ProxyTracerProvider,
    SpanKind,
    StatusCode,
    get_current_span,
    get_tracer,
    get_tracer_provider,
)

from louver.core.json import members
from louver.wire.jsonrpc.errors import JsonRpcError

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from louver.steps.request import Next, Request


def is_traced() -> bool:
    """Whether a provider of spans is set; one that is set later counts from the next configuration on."""
    return not isinstance(get_tracer_provider(), ProxyTracerProvider)


async def trace_request(request: Request, call_next: Next) -> dict[str, Any]:
    name: object = request.params.get("name")
    target = f" {name}" if isinstance(name, str) else ""
    with get_tracer("louver").start_as_current_span(
        f"{request.method}{target}",
        kind=SpanKind.SERVER,
        attributes=_span_attributes(request, name),
        context=_parent_context(request),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            result = await call_next(request)
        except Exception as error:  # each has its span
            error_type = _error_type(error)
            span.set_attribute("error.type", error_type)
            if isinstance(error, JsonRpcError):
                span.set_attribute("rpc.response.status_code", error_type)
            span.set_status(StatusCode.ERROR)
            raise
        if request.method == "tools/call" and result.get("isError"):
            span.set_attribute("error.type", "tool_error")
            span.set_status(StatusCode.ERROR)
        return result


def _error_type(error: Exception) -> str:
    return str(error.code) if isinstance(error, JsonRpcError) else type(error).__qualname__


def _span_attributes(request: Request, name: object) -> dict[str, Any]:
    attributes: dict[str, Any] = {"mcp.method.name": request.method, "mcp.protocol.version": request.revision}
    if request.id is not None:
        attributes["jsonrpc.request.id"] = str(request.id)
    if request.method == "tools/call":
        attributes["gen_ai.operation.name"] = "execute_tool"
    kind = {"tools/call": "tool", "prompts/get": "prompt"}.get(request.method)
    if kind is not None and isinstance(name, str):
        attributes[f"gen_ai.{kind}.name"] = name
    return attributes


def _parent_context(request: Request) -> Context | None:
    """The trace that the client names in `_meta`, if any."""
    carrier = {key: value for key, value in members(request.params.get("_meta")).items() if isinstance(value, str)}
    if not carrier:
        return None
    context = extract(carrier)
    return context if get_current_span(context).get_span_context().is_valid else None
