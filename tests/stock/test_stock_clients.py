"""Stock clients accept projected answers, because of the relaxed listing and only because of it."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client

import louver
from louver.catalogue.files.views import ViewFolder
from stock.run import CLIENTS, run_driver
from tests.fixtures.company import build_server

pytestmark = pytest.mark.deep

HERE = Path(__file__).parent
COMPANY = [sys.executable, str(HERE / "company_server.py")]
VIEWS = HERE.parents[1] / "tests" / "fixtures" / "company" / "views"


def include(*fields):
    return {"mode": "include", "fields": list(fields)}


def exclude(*fields):
    return {"mode": "exclude", "fields": list(fields)}


CALLS = [
    ("get_user_profile", {"user_id": 7}, include("name")),
    ("get_user_profile", {"user_id": 7}, include("address.geo.lat", "manager.name")),
    ("get_user_profile", {"user_id": 7}, include("nope")),
    ("get_user_profile", {"user_id": 7}, {"mode": "view", "view": "minimal"}),
    ("get_user_profile", {"user_id": 7}, exclude("**.email", "activity", "preferences.*")),
    ("list_issues", {"limit": 5}, include("issues[*].user.login", "issues[*].labels.name")),
    ("list_issues", {"limit": 5}, exclude("issues.*.body", "issues.labels[*]")),
    ("search_orders", {"text": "a", "limit": 3}, include("orders.items.product.sku")),
    ("get_order_tree", {"order_id": 1}, include("sub_orders.sub_orders.id")),
    ("get_order_tree", {"order_id": 1}, exclude("**.items")),
    ("list_labels", {}, include("name")),
    ("export_stats", {}, include("users")),
]


@contextmanager
def target(command, transport):
    """How a driver reaches the server of a command: by starting it, or at the URL of one that runs."""
    if transport == "stdio":
        yield {"command": command[0], "args": command[1:]}
        return
    with subprocess.Popen([*command, "--http"], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield {"url": next(line for line in process.stderr if "serving at" in line).split()[-1]}
        finally:
            process.terminate()


def request(calls, era):
    listed = [{"tool": tool, "arguments": args, "meta": {"projection": wanted}} for tool, args, wanted in calls]
    return {"era": era, "calls": listed}


@pytest.fixture(scope="module")
def full():
    """The full output of every call, and the exact output schemas, from the example company itself."""

    async def ask():
        async with Client(build_server()) as client:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            outputs = [(await client.call_tool(tool, args)).structured_content for tool, args, _ in CALLS]
            return schemas, outputs

    return anyio.run(ask)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_stock_client_accepts_every_projected_answer(client, era, transport, full):
    """Ours: the relaxed schema in `tools/list` admits whatever a projection leaves."""
    schemas, outputs = full
    with target(COMPANY, transport) as server:
        answer = run_driver(client, {"target": server, **request(CALLS, era)})
    assert answer["protocolVersion"] == era
    for (tool, _, wanted), output, got in zip(CALLS, outputs, answer["calls"], strict=True):
        assert got["ok"], (tool, wanted, got)
        receipt = got["meta"]["projection"]
        assert receipt["applied"] is True
        if output is None:
            assert "users" in got["content"][0]["text"]
            continue
        views = ViewFolder(VIEWS).find(tool)
        known = None if views is None else views.views
        plan = louver.compile_projection(louver.Projection.from_wire(wanted), schemas[tool], views=known)
        assert got["structuredContent"] == plan(output), (tool, wanted)
        assert receipt["projectedSchema"] == plan.schema


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_stock_client_throws_when_the_exact_schema_is_listed(client, era, transport):
    """Ours: without `relax` the same answers are refused, so the test above proves something."""
    with target([*COMPANY, "--exact"], transport) as server:
        answer = run_driver(client, {"target": server, **request(CALLS[:1], era)})
    assert [call["ok"] for call in answer["calls"]] == [False], answer["calls"]
