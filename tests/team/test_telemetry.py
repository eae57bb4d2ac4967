"""Telemetry by OTLP: a receiver gets what a real `louver serve` sends, and one that is away does no harm to calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import httpx2
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from fixtures.command import louver
from fixtures.failsafe import FAILSAFE_S, until
from fixtures.stores import free_port
from gateway.front.auth.guarded import bearing, token_file
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import config, fixture, serving
from louver.errors import InvalidInput
from louver.team.telemetry import exported_signals

pytestmark = pytest.mark.anyio

SECRET, ANN = "canary-2b9d", "ann@example.com"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"

PARTS = {
    "traces": (ExportTraceServiceRequest, "spans", "spans"),
    "metrics": (ExportMetricsServiceRequest, "metrics", "metrics"),
    "logs": (ExportLogsServiceRequest, "logs", "log_records"),
}
"""Signal -> its message, and the names of what is in it."""


class Receiver(ThreadingHTTPServer):
    """Keeps what it gets, by the signal; while it is held, it answers nothing."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got = {signal: [] for signal in PARTS}
        self.answers = Event()
        self.answers.set()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def resources(self, signal):
        message, kind, _ = PARTS[signal]
        return [each for body in self.got[signal] for each in getattr(message.FromString(body), f"resource_{kind}")]

    def parts(self, signal):
        """The spans, the metrics or the lines of the log."""
        _, kind, name = PARTS[signal]
        scopes = [scope for each in self.resources(signal) for scope in getattr(each, f"scope_{kind}")]
        return [part for scope in scopes for part in getattr(scope, name)]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got[self.path.removeprefix("/v1/")].append(body)
        self.server.answers.wait(FAILSAFE_S)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def receiving():
    with Receiver() as receiver:
        thread = Thread(target=receiver.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.answers.set()
            receiver.shutdown()
            thread.join()


async def test_a_call_arrives_in_the_trace_of_its_client_and_no_value_does(tmp_path):
    """TEAM.md, "Second look", row 6; SEP-414: from the client by `_meta` or by a header, and on to the server."""
    servers = {"it": fixture("faulty"), "gone": {"command": "/nowhere/at-all"}}
    options = config(tmp_path, servers, auth={"tokens": token_file(tmp_path, {"t-ann": {"subject": ANN}})})
    options += ["--access-log", "--metrics", (fetched := f"127.0.0.1:{free_port()}")]
    out, traced = tmp_path / "out", []
    with receiving() as receiver:
        variables = {**os.environ, ENDPOINT: receiver.url, "OTEL_SERVICE_NAME": "of-a-team"}
        with out.open("wb") as written, serving(*options, no_auth=False, env=variables, stdout=written) as served:
            for era in (HANDSHAKE, STATELESS):
                async with bearing(served.url, "t-ann", era) as client:
                    await client.call("it__complain")
                    traced.append(await client.call("it__echo", _meta={"traceparent": TRACEPARENT}, text=SECRET))
                    client.client.headers["traceparent"] = TRACEPARENT
                    traced.append(await client.call("it__echo", text=SECRET))
                    await client.error("tools/call", name="it__fail", arguments={"code": -1, "message": SECRET})
            assert "mcp_server_operation_duration_seconds" in httpx2.get(f"http://{fetched}/metrics").text
            served.says(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ louver: it: listening")
            served.close()
        spans = [span for span in receiver.parts("traces") if span.name == "tools/call it__echo"]
        assert [(span.trace_id.hex(), span.parent_span_id.hex()) for span in spans] == [(TRACE, PARENT)] * 4
        parents = [answer["params"]["_meta"]["traceparent"] for answer in traced]
        assert [parent.split("-")[1:3] for parent in parents] == [[TRACE, span.span_id.hex()] for span in spans]
        untraced = [span.trace_id.hex() for span in receiver.parts("traces") if span.name.endswith("it__complain")]
        printed = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["trace"] for line in printed if line.get("name") == "it__complain"] == untraced
        metrics = {metric.name for metric in receiver.parts("metrics")}
        assert {"mcp.server.operation.duration", "louver.upstream.up"} <= metrics
        lines = [line.body.string_value for line in receiver.parts("logs")]
        assert any("'gone'" in line for line in lines)
        assert not any("listening" in line for line in lines), "it is of a server, and may hold values"
        attributes = {each.key: each.value for each in receiver.resources("traces")[0].resource.attributes}
        assert attributes["service.name"].string_value == "of-a-team"
        sent = b"".join(body for bodies in receiver.got.values() for body in bodies)
    assert not [each for each in (SECRET, ANN, "t-ann") if each.encode() in sent or each in "".join(served.said)]


async def test_a_receiver_that_hangs_or_is_away_delays_no_call_and_not_the_end(tmp_path):
    """*Ours*."""
    with receiving() as receiver:
        receiver.answers.clear()
        variables = {
            ENDPOINT: receiver.url,
            "OTEL_BSP_SCHEDULE_DELAY": "1",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "1000000",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{free_port()}/v1/metrics",
            "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT": "0.01",
            "OTEL_METRIC_EXPORT_INTERVAL": "1",
            "TESTS_TELEMETRY_CLOSING_S": "0.01",
        }
        with serving(*config(tmp_path, {"it": fixture("faulty")}), env={**os.environ, **variables}) as served:
            async with raw(served.url) as client:
                await client.call("echo")
                await until(lambda: receiver.got["traces"])
                served.says("Failed to export metrics")
                assert (await client.call("echo"))["params"]["name"] == "echo"
            served.process.terminate()
            assert served.ends() == 0
            assert not receiver.answers.is_set()


SIGNALS = [
    ({}, []),
    ({"OTEL_SERVICE_NAME": "mine"}, []),
    ({ENDPOINT: ""}, []),
    ({ENDPOINT: "http://collector:4318"}, ["traces", "metrics", "logs"]),
    ({ENDPOINT: "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, []),
    ({ENDPOINT: "http://collector:4318", "OTEL_LOGS_EXPORTER": "none"}, ["traces", "metrics"]),
    ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, ["traces"]),
    ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "https://metrics.example/v1/metrics"}, ["metrics"]),
]

REFUSED = [
    ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER is 'zipkin': expected 'otlp' or 'none'"),
    ({ENDPOINT: "collector:4318"}, f"{ENDPOINT} is no URL: expected one such as http://collector:4318"),
    (
        {ENDPOINT: "http://collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc': expected 'http/protobuf'",
    ),
]


def test_variables_say_what_is_sent():
    """OpenTelemetry, "Environment Variable Specification": by OTLP, unless another exporter is named."""
    assert [exported_signals(variables) for variables, _ in SIGNALS] == [signals for _, signals in SIGNALS]
    for variables, message in REFUSED:
        with pytest.raises(InvalidInput) as refused:
            exported_signals(variables)
        assert refused.value.message.startswith(message)


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")
    told = louver("serve", "--", "true")
    assert (told.returncode, told.stderr.partition(": ")[2].partition(": ")[0]) == (
        2,
        "what the variables OTEL_* have sent needs the extra 'otel'",
    )


def test_without_variables_nothing_of_it_is_loaded():
    """HOUSE.md: what is off costs nothing."""
    script = "import sys; from louver.cli import main; main(); print([*sys.modules], file=sys.stderr)"
    command = [sys.executable, "-c", script, "serve", "--", "cat"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert "'louver.cli.commands.serve'" in done.stderr
    assert "'opentelemetry" not in done.stderr
