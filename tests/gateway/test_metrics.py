"""`louver serve --metrics`: sums equal what clients have counted, in a form that Prometheus reads."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client.parser import text_string_to_metric_families

from fixtures.command import louver
from fixtures.promtool import checked
from fixtures.stores import free_port
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import config, fixture, serving
from louver.gateway.gateway import Gateway
from louver.team import metrics

pytestmark = pytest.mark.anyio

FIELDS = {"projection": {"mode": "include", "fields": ["rows.id"]}}


@pytest.fixture
def served(tmp_path):
    servers = {"records": fixture("records"), "gone": {"command": "/nowhere/at-all"}}
    options = config(tmp_path, servers, savings=str(tmp_path / "savings.db"))
    with serving(*options, "--metrics", f"127.0.0.1:{(port := free_port())}") as served:
        served.metrics = f"http://127.0.0.1:{port}/metrics"
        yield served


def text_of(served):
    return httpx2.get(served.metrics).text


def sums(served):
    """Name of a sample -> its labels and its value."""
    found = {}
    for family in text_string_to_metric_families(text_of(served)):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def total(found, name, **labels):
    """The sum of the samples with these labels."""
    return sum(value for has, value in found.get(name, []) if labels.items() <= has.items())


def is_up(served):
    try:
        return total(sums(served), "louver_upstream_up", louver_server="records") == 1
    except httpx2.ConnectError:
        return False


def size(result):
    return len(json.dumps(result["structuredContent"], separators=(",", ":")).encode())


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_the_sums_are_what_clients_have_counted(served, era):
    """Issue 43: sums equal to what the clients counted."""
    whole = sent = 0
    async with raw(served.url, era) as client:
        for _ in range(3):
            result = await client.call("records__find")
            whole, sent = whole + size(result), sent + size(result)
            whole += size(result)
            sent += size(await client.call("records__find", _meta=FIELDS))
        await client.call("records__no_such_tool")
        await client.call("gone__tool")
        await client.error("invented/method")
    found = sums(served)
    tool = {"louver_server": "records", "gen_ai_tool_name": "find"}
    assert total(found, "mcp_server_operation_duration_seconds_count", mcp_method_name="tools/call", **tool) == 6
    assert total(found, "louver_answers_total", louver_trimmed="true", **tool) == 3
    assert total(found, "louver_answers_total", louver_trimmed="false", **tool) == 3
    assert total(found, "louver_answer_size_bytes_total", louver_form="whole", **tool) == whole
    assert total(found, "louver_answer_size_bytes_total", louver_form="sent", **tool) == sent
    assert 0 < total(found, "louver_answer_tokens_total", louver_form="sent", **tool) < whole
    others = {"louver_server": "*", "gen_ai_tool_name": "*"}
    assert total(found, "mcp_server_operation_duration_seconds_count", **others) == 2
    assert total(found, "louver_upstream_up", louver_server="records") == 1
    assert total(found, "louver_upstream_up", louver_server="gone") == 0
    text = text_of(served)
    assert not any(
        word in text for word in ("no_such_tool", "gone__tool", "invented", '"ada"', "a@b.c", '"n0"', "nowhere")
    )


async def test_prometheus_accepts_them(served):
    """Issue 43: `promtool check metrics`."""
    async with raw(served.url, STATELESS) as client:
        await client.call("records__find", _meta=FIELDS)
    assert await asyncio.to_thread(checked, "metrics", text=text_of(served)) == ""


async def test_a_server_that_nobody_has_needed_is_neither_up_nor_down(monkeypatch):
    """*Ours*: an alert of servers that are down would be of one whose users have not logged in yet."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "_METER", provider.get_meter("louver"))
    gateway = Gateway({"mcpServers": {"gone": {"command": "/nowhere/at-all"}}})
    try:
        metrics.observe_upstreams(lambda: gateway.upstreams)
        assert reader.get_metrics_data() is None
        await gateway.open()
        assert '"value": 0' in reader.get_metrics_data().to_json()
    finally:
        await gateway.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metrics", "here"], "--metrics takes HOST:PORT"),
        (["--metrics", "127.0.0.1:1", "--example"], "--metrics and --access-log are for servers"),
    ],
)
def test_what_cannot_be_served_is_refused(options, message):
    told = louver("serve", *options, *([] if "--example" in options else ["--", "true"]))
    assert told.returncode == 2
    assert message in told.stderr
