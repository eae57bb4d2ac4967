"""The drivers against a server without Louver: what each stock client accepts, throws at, and keeps.

This is what makes the tests with Louver believable: a driver that reports no error does so because its
client validated the answer, not because it did not look.
"""

import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.failsafe import FAILSAFE_S

from .run import CLIENTS, ERAS, HANDSHAKE, STATELESS, StockError, run_driver

pytestmark = pytest.mark.deep

SERVER = str(Path(__file__).with_name("plain_server.py"))

PROJECTION = {"include": ["id"]}

CALL = {"tool": "get_person", "arguments": {"id": 7}, "meta": {"projection": PROJECTION}}

PYTHON_THROWS = "RuntimeError: Invalid structured content returned by tool get_person: 'name' is a required property"

TYPESCRIPT_THROWS = (
    "Structured content does not match the tool's output schema: data must have required property 'name'"
)

THROWS = {
    "python_v1": PYTHON_THROWS,
    "python_v2": PYTHON_THROWS,
    "fastmcp_v4": PYTHON_THROWS,
    "typescript_v1": f"McpError: MCP error -32602: {TYPESCRIPT_THROWS}",
    "typescript_v2": f"ProtocolError: {TYPESCRIPT_THROWS}",
}
"""How each client refuses an answer which lacks a required field."""

KEEPS_UNKNOWN = {"python_v1"}
"""Clients that keep unknown members of `capabilities.tools` and `annotations`; the others drop them."""

every_client = pytest.mark.parametrize(("name", "era"), CLIENTS)
every_transport = pytest.mark.parametrize("transport", ["stdio", "http"])


@contextmanager
def serving(*flags):
    """The URL of a server that lives as long as the block."""
    command = [sys.executable, SERVER, "--http", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip()
            if not port:
                pytest.fail("the plain server ended before it served; its stderr says why")
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            try:
                process.wait(timeout=FAILSAFE_S)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def plain():
    with serving() as url:
        yield {"http": {"url": url}, "stdio": {"command": sys.executable, "args": [SERVER]}}


@pytest.fixture(scope="module")
def broken():
    with serving("--broken") as url:
        yield {"http": {"url": url}, "stdio": {"command": sys.executable, "args": [SERVER, "--broken"]}}


@every_transport
@every_client
def test_a_stock_client_accepts_an_answer_that_fits_the_listed_schema(name, era, transport, plain):
    """Ours: `_meta` also goes both ways untouched."""
    answer = run_driver(name, {"target": plain[transport], "era": era, "calls": [CALL, CALL]})
    assert answer["protocolVersion"] == era
    assert answer["tools"] == 2
    assert len(answer["calls"]) == 2
    for call in answer["calls"]:
        assert call["ok"], call["error"]
        assert call["structuredContent"] == {
            "id": 7,
            "name": "Ada",
            "address": {"city": "London", "zip_code": "N1"},
        }
        assert call["content"][0]["type"] == "text"
        assert call["meta"]["projection"] == PROJECTION
        assert call["isError"] is False


@every_transport
@every_client
def test_a_stock_client_throws_at_an_answer_that_lacks_a_required_field(name, era, transport, broken):
    """Ours: without this no driver's silence would prove anything."""
    answer = run_driver(name, {"target": broken[transport], "era": era, "calls": [CALL]})
    [call] = answer["calls"]
    assert not call["ok"], f"{answer['client']} accepted {call['structuredContent']}"
    assert call["error"].startswith(THROWS[name])


@every_client
def test_what_a_typed_client_keeps_of_members_that_no_revision_knows(name, era, plain):
    """Ours, pinned: the reason for which everything is announced under `extensions` and `_meta` as well."""
    answer = run_driver(name, {"target": plain["http"], "era": era, "calls": []})
    tool = answer["listed"][0]
    kept = name in KEEPS_UNKNOWN
    assert ("projection" in answer["capabilities"]["tools"]) is kept
    assert ("projectionHint" in tool["annotations"]) is kept
    assert tool["annotations"]["readOnlyHint"] is True
    assert answer["capabilities"]["extensions"]["com.example/extra"] == {"supported": True}
    assert tool["_meta"]["com.example/extra"] == {"supported": True}


@pytest.mark.parametrize("name", ERAS)
def test_a_driver_that_cannot_connect_says_why(name):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    with pytest.raises(StockError, match=r"(?i)connect"):
        run_driver(name, {"target": {"url": url}, "era": HANDSHAKE, "calls": []})


@pytest.mark.parametrize("name", [name for name, eras in ERAS.items() if STATELESS not in eras])
def test_a_driver_does_not_answer_for_another_era_than_the_one_asked_for(name, plain):
    with pytest.raises(StockError, match=f"was asked for {STATELESS} and negotiated {HANDSHAKE}"):
        run_driver(name, {"target": plain["stdio"], "era": STATELESS, "calls": []})


def test_a_machine_without_npm_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("LOUVER_STOCK_CACHE", str(tmp_path))
    with pytest.raises(StockError, match=r"install Node\.js 22"):
        run_driver("typescript_v1", {"target": {}, "era": HANDSHAKE, "calls": []})
