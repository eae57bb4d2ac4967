"""`/metrics` of `louver serve --metrics HOST:PORT`, in the form of Prometheus. Needs the extra `metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.errors import InvalidInput
from louver.shipped import with_extra

if TYPE_CHECKING:
    from louver.cli.listen_address import ListenAddress


def serve_metrics(address: ListenAddress) -> None:
    """Serve the metrics of this process, in a thread, for as long as the process lives."""
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from opentelemetry.metrics import set_meter_provider
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.resources import Resource
        from prometheus_client import start_http_server
    except ImportError:
        raise InvalidInput(f"--metrics needs the extra 'metrics': {with_extra('metrics')}") from None
    set_meter_provider(
        MeterProvider([PrometheusMetricReader(scope_info_enabled=False)], Resource.create({"service.name": "louver"}))
    )
    try:
        start_http_server(address.port, address.host)
    except OSError as error:
        place = f"{address.host}, port {address.port}"
        raise InvalidInput(f"metrics cannot be served at {place}: {error.strerror}") from None
