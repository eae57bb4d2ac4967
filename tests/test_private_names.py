"""Private names of the packages that Louver builds on stand in one module, and are there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer, Server
from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

from louver.sdk import internals as internals

SRC = Path(__file__).parents[1] / "src"
IN = SRC / "louver" / "sdk" / "internals.py"
DOCUMENTED = SRC / "louver" / "concurrency" / "stalls.py"
"""Where `sys._current_frames` is used, which Python's documentation lists despite its name."""
LOGS = SRC / "louver" / "team" / "telemetry.py"
"""Where logs are exported: OpenTelemetry for Python documents that by no other names, and the extra has a bound."""


def is_private(dotted):
    return any(part.startswith("_") and not part.endswith("__") for part in dotted.split("."))


def private_imports(tree):
    """What is imported from other packages by a private name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in found if is_private(name) and not name.startswith(("louver.", "_typeshed")))


def test_no_other_module_imports_a_private_name():
    """Ours: what is private may be gone with the next release."""
    files = {file: file.read_text() for file in SRC.rglob("*.py")}
    found = {str(file): [*private_imports(ast.parse(text))] for file, text in files.items()}
    assert {file for file, names in found.items() if names} == {str(LOGS)}
    assert all(name.startswith("opentelemetry.") and "log" in name.lower() for name in found[str(LOGS)])
    # pyright, which is strict about `src`, finds what is used by a private attribute.
    assert {file for file, text in files.items() if "reportPrivateUsage" in text} == {IN, DOCUMENTED}


def test_an_mcp_server_has_a_lowlevel_server():
    """Ours, pinned."""
    server = MCPServer("s")
    lowlevel = internals.lowlevel_of(server)
    assert isinstance(lowlevel, Server)
    assert server.middleware is lowlevel.middleware


def test_a_handler_of_streams_has_a_bus():
    """Ours, pinned."""
    bus = InMemorySubscriptionBus()
    assert internals.bus_of(ListenHandler(bus)) is bus


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_session_has_a_connection(mode):
    """Ours, pinned: one for all of its requests in 2025-11-25."""
    seen = []

    async def look(ctx, call_next):
        seen.append(internals.connection_of(ctx.session))
        return await call_next(ctx)

    server = MCPServer("s", middleware=[look])
    async with Client(server, mode=mode) as client:
        await client.list_tools()
        with pytest.raises(MCPError):
            await client.read_resource("x://y")
    assert all(isinstance(each, Connection) for each in seen)
    assert all(isinstance(each.state, dict) and each.exit_stack for each in seen)
    if mode == "legacy":
        assert len({*map(id, seen)}) == 1
        assert seen[0].initialized.is_set()
