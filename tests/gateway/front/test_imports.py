"""What the gateway loads: loading the SDK takes longer than all the rest of a start."""

from __future__ import annotations

import subprocess
import sys

import pytest

FROM_A_FILE = ["louver.gateway.config.read"]
OVER_HTTP = ["louver.gateway.front.endpoint", "louver.gateway.front.http", "louver.gateway.back.transports.http"]
OVER_STDIO = ["louver.gateway.front.stdio", "louver.gateway.back.transports.stdio"]
HEAVY = {"mcp", "mcp_types", "jsonschema", "cryptography"}


@pytest.mark.parametrize("modules", [FROM_A_FILE, OVER_HTTP, OVER_STDIO], ids=["file", "http", "stdio"])
def test_the_gateway_loads_no_sdk(modules):
    """Ours: tokens, grants, search and the example load theirs."""
    code = (
        f"import sys, louver.cli.commands.serve, louver.gateway.config.read, {', '.join(modules)}; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()


def test_over_stdio_nothing_of_http_is_loaded():
    """Ours."""
    code = f"import sys, louver.cli.commands.serve, {', '.join(OVER_STDIO)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"uvicorn", "starlette", "h11", "httptools"} & set(loaded) == set()
