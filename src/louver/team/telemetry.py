"""The providers of OpenTelemetry in `louver serve`: metrics to be fetched, and what is sent by OTLP over HTTP.

    --metrics HOST:PORT            /metrics, in the form of Prometheus     extra `metrics`
    OTEL_EXPORTER_OTLP_ENDPOINT    traces, metrics and logs go there       extra `otel`

Which signals are sent is read here; all else that variables say of them, the SDK reads.
"""

from __future__ import annotations

import logging
import time
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Final, Literal, get_args

from opentelemetry._logs import SeverityNumber

from louver import __version__
from louver.errors import InvalidInput
from louver.gateway.back.upstreams import LOGGER_PREFIX
from louver.shipped import with_extra
from louver.wire.uris import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opentelemetry._logs import LoggerProvider
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource

    from louver.cli.listen_address import ListenAddress

Signal = Literal["traces", "metrics", "logs"]

TELEMETRY_CLOSING_S = 1.0
"""How long a process that ends waits for the receiver of its telemetry, in seconds."""


_PROTOCOL: Final = "http/protobuf"
_SEVERITY: Final = {"WARNING": "WARN", "CRITICAL": "FATAL"}


def exported_signals(variables: Mapping[str, str]) -> list[Signal]:
    """The signals that variables have sent; InvalidInput for anything but OTLP over HTTP, or without the extra."""
    if variables.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    signals = [signal for signal in get_args(Signal) if _is_exported(signal, variables)]
    if signals:
        _check_extra("otel", "opentelemetry.exporter.otlp.proto.http", "what the variables OTEL_* have sent")
    return signals


def _is_exported(signal: Signal, variables: Mapping[str, str]) -> bool:
    kind = signal.upper()
    endpoint, protocol = (
        next((name for name in names if variables.get(name)), None)
        for names in (
            (f"OTEL_EXPORTER_OTLP_{kind}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
            (f"OTEL_EXPORTER_OTLP_{kind}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"),
        )
    )
    exporter = variables.get(f"OTEL_{kind}_EXPORTER") or ("none" if endpoint is None else "otlp")
    if exporter not in ("otlp", "none"):
        raise InvalidInput(f"OTEL_{kind}_EXPORTER is {exporter[:80]!r}: expected 'otlp' or 'none'")
    if exporter == "none":
        return False
    if protocol is not None and variables[protocol] != _PROTOCOL:
        raise InvalidInput(f"{protocol} is {variables[protocol][:80]!r}: expected {_PROTOCOL!r}, which Louver sends")
    if endpoint is not None and not is_url(variables[endpoint]):
        raise InvalidInput(f"{endpoint} is no URL: expected one such as http://collector:4318")
    return True


class Telemetry:
    """Measures, and traces, this process until it is closed."""

    def __init__(self, metrics: ListenAddress | None, signals: Sequence[Signal]) -> None:
        """Set the providers; InvalidInput if the extra `metrics` is missing, or if its address is taken."""
        self.log_handler: logging.Handler | None = None
        self._ends: list[Callable[[], object]] = []
        if metrics is not None:
            _check_extra("metrics", "opentelemetry.exporter.prometheus", "--metrics")
        # Lazy imports, as below: each only for what is on.
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource

        # Its attributes go before those of variables, which name the service too.
        named = {"service.name": "louver", "service.version": __version__, **OTELResourceDetector().detect().attributes}
        resource = Resource.create(named)
        readers = [*([] if metrics is None else [_served_at(metrics)]), *(_sent() if "metrics" in signals else [])]
        if readers:
            self._measure(readers, resource)
        if "traces" in signals:
            self._trace(resource)
        if "logs" in signals:
            self._log(resource)

    def close(self) -> None:
        """Send what is left, if the receiver takes it soon."""
        # Daemons, as the SDK's own: a process ends, also if nobody answers.
        ends = [Thread(target=end, daemon=True) for end in self._ends]
        for each in ends:
            each.start()
        until = time.monotonic() + TELEMETRY_CLOSING_S
        for each in ends:
            each.join(max(0, until - time.monotonic()))

    def _measure(self, readers: list[MetricReader], resource: Resource) -> None:
        from opentelemetry.metrics import set_meter_provider
        from opentelemetry.sdk.metrics import MeterProvider

        provider = MeterProvider(readers, resource, shutdown_on_exit=False)
        set_meter_provider(provider)
        self._ends.append(provider.shutdown)

    def _trace(self, resource: Resource) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace import set_tracer_provider

        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        set_tracer_provider(provider)
        self._ends.append(provider.shutdown)

    def _log(self, resource: Resource) -> None:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

        provider = LoggerProvider(resource, shutdown_on_exit=False)
        provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
        self.log_handler = _LogHandler(provider)
        self._ends.append(provider.shutdown)


class _LogHandler(logging.Handler):
    """Sends what Louver logs, without the lines of servers: these may hold values."""

    def __init__(self, provider: LoggerProvider) -> None:
        super().__init__()
        self._provider = provider

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(LOGGER_PREFIX):
            severity = _SEVERITY.get(record.levelname, record.levelname)
            self._provider.get_logger(record.name).emit(
                timestamp=int(record.created * 1e9),
                severity_number=SeverityNumber[severity],
                severity_text=severity,
                body=record.getMessage(),
            )


def _check_extra(extra: str, module: str, feature: str) -> None:
    try:
        import_module(module)
    except ImportError:
        raise InvalidInput(f"{feature} needs the extra {extra!r}: {with_extra(extra)}") from None


def _served_at(address: ListenAddress) -> MetricReader:
    """The metrics at an address, in a thread, for as long as the process lives."""
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from prometheus_client import start_http_server

    try:
        start_http_server(address.port, address.host)
    except OSError as error:
        place = f"{address.host}, port {address.port}"
        raise InvalidInput(f"metrics cannot be served at {place}: {error.strerror}") from None
    return PrometheusMetricReader(scope_info_enabled=False)


def _sent() -> list[MetricReader]:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    return [PeriodicExportingMetricReader(OTLPMetricExporter())]
