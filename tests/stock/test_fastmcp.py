"""Every release of FastMCP that installs beside mcp 2.3: `louver.attach`, and what stock clients make of it."""

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from stock.run import CLIENTS, python_with, run_driver
from stock.test_stock_clients import target

pytestmark = pytest.mark.deep

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# FastMCP 3 and before need mcp 1; a last one of 2, which says nothing of it, does not start with mcp 2.
FASTMCP = "fastmcp>=4,<5"
CALLS = [
    {"tool": "get_person", "arguments": {"id": 7}, "meta": {"projection": {"mode": "include", "fields": ["name"]}}},
    {"tool": "get_person", "arguments": {"id": 7}, "meta": {"projection": {"mode": "view", "view": "card"}}},
    {"tool": "more_list_people", "meta": {"projection": {"mode": "exclude", "fields": ["email", "address"]}}},
    {"tool": "get_person", "arguments": {"id": 7}},
]
EXPECTED = [
    {"name": "Ada"},
    {"name": "Ada", "address": {"city": "London"}},
    {"result": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Ada"}]},
    {"id": 7, "name": "Ada", "email": "ada@example.com", "address": {"city": "London", "zip": "N1"}},
]


def with_fastmcp(resolution):
    """A Python that has FastMCP, and Louver from here."""
    tools = [f"{name}=={version(name)}" for name in ("anyio", "pytest")]
    return str(python_with("--resolution", resolution, FASTMCP, *tools, "--editable", str(ROOT)))


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_attach_takes_a_server_of_fastmcp(resolution):
    """Ours: projections, search, descriptions, a policy by tokens, with its own client and that of the SDK."""
    checks = str(HERE / "fastmcp_checks.py")
    command = [with_fastmcp(resolution), "-m", "pytest", "-q", "-p", "no:cacheprovider", checks]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
    done = subprocess.run(
        [*command, "--noconftest", "-o", "addopts=", "-o", "filterwarnings=", "-o", "pythonpath=tests/stock"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize(("resolution", "transport"), [("lowest-direct", "http"), ("highest", "stdio")])
@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_stock_clients_accept_its_projected_answers(client, era, transport, resolution):
    """Ours: their validation of answers is armed by its list of tools."""
    command = [with_fastmcp(resolution), str(HERE / "fastmcp_server.py")]
    with target(command, transport) as server:
        answer = run_driver(client, {"target": server, "era": era, "calls": CALLS})
    assert answer["protocolVersion"] == era
    assert [call.get("structuredContent") for call in answer["calls"]] == EXPECTED, answer["calls"]
    assert [call["meta"]["projection"]["applied"] for call in answer["calls"][:3]] == [True] * 3
