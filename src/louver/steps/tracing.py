"""A span for each message of a client, while a provider of spans is set; none holds a value or an error's text.

    client  traceparent: 00-TRACE-1-01  ->  span 2 of TRACE  ->  _meta.traceparent: 00-TRACE-2-01  server

A client's context is W3C's, in `_meta`, else that of the task: over HTTP that of headers (`team/trace_context.py`).
Source: OpenTelemetry's semantic conventions for MCP; SEP-414.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import (
    ProxyTracerProvider,
    SpanKind,
    StatusCode,
    format_trace_id,
    get_current_span,
    get_tracer,
    get_tracer_provider,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from louver.core.json import is_object, members
from louver.limits import MAX_LOG_LINE
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.mcp import TRACE_KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context

    from louver.steps.request import Next, Request

# Not the one of OTEL_PROPAGATORS: baggage may hold anything, and MCP has it in `_meta`, which is forwarded.
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_NAMED: Final = {"tools/call": "tool", "prompts/get": "prompt"}


def is_traced() -> bool:
    """Whether a provider of spans is set; one that is set later counts from the next configuration on."""
    return not isinstance(get_tracer_provider(), ProxyTracerProvider)


async def trace_request(request: Request, call_next: Next) -> dict[str, Any]:
    named = _named(request)
    with get_tracer("louver").start_as_current_span(
        " ".join((request.method[:MAX_LOG_LINE], *named.values())),
        kind=SpanKind.SERVER,
        attributes=_span_attributes(request) | named,
        context=read_context(members(request.params.get("_meta"))),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        if (context := span.get_span_context()).is_valid:
            request.record.trace = format_trace_id(context.trace_id)
        try:
            result = await call_next(_with_context(request))
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


def read_context(carrier: Mapping[str, object]) -> Context | None:
    """The trace context in `_meta` or in headers, if there is a valid one."""
    texts = {key: text for key in TRACE_KEYS if isinstance(text := carrier.get(key), str)}
    context = _PROPAGATOR.extract(texts)
    return context if get_current_span(context).get_span_context().is_valid else None


def _with_context(request: Request) -> Request:
    """The request as it goes on to a server, in the current span."""
    meta, context = request.params.get("_meta", {}), dict[str, str]()
    _PROPAGATOR.inject(context)
    # The params of `initialize` identify the client.
    if request.id is None or request.method == "initialize" or not context or not is_object(meta):
        return request
    kept = {key: value for key, value in meta.items() if key not in TRACE_KEYS}
    return replace(request, params={**request.params, "_meta": kept | context})


def _error_type(error: Exception) -> str:
    return str(error.code) if isinstance(error, JsonRpcError) else type(error).__qualname__


def _span_attributes(request: Request) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "mcp.method.name": request.method[:MAX_LOG_LINE],
        "mcp.protocol.version": request.revision,
    }
    if request.id is not None:
        attributes["jsonrpc.request.id"] = str(request.id)[:MAX_LOG_LINE]
    if request.method == "tools/call":
        attributes["gen_ai.operation.name"] = "execute_tool"
    return attributes


def _named(request: Request) -> dict[str, str]:
    """The tool or the prompt; of other methods `name` may be a value."""
    kind, name = _NAMED.get(request.method), request.params.get("name")
    return {f"gen_ai.{kind}.name": name[:MAX_LOG_LINE]} if kind is not None and isinstance(name, str) else {}
