"""A host that does not wait has the tools of a slow server in its first request, once it has run before."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from stock.run import StockError

from .model import played
from .stacks import RUN_S, _codex, _ended

pytestmark = pytest.mark.deep

ATTEMPTS = 3

SLOW = """
import runpy, time
time.sleep(5)
runpy.run_path({server!r}, run_name="__main__")
"""
"""A server that is downloaded first, as by `npx`."""


def first_request(home, target, *, waits):
    """The names of the tools in the first request of Codex to its model."""
    with played([{"tool": "get_person", "arguments": {"id": 7}}]) as model:
        command, environment = _codex(home, target, model.url)
        if not waits:
            file = home / ".codex" / "config.toml"
            file.write_text(file.read_text("utf-8").replace("required = true", "required = false"), "utf-8")
        _, err = _ended(command, home, environment, "", RUN_S)
        assert model.first is not None, err[-800:]
        return " ".join(model.first)


def test_codex_has_the_tools_of_a_slow_server_in_its_first_request(tmp_path):
    """HOSTS.md, "What broke", 4: what is not listed within about a second is missing for the whole run."""
    slow = SLOW.format(server=str(Path(__file__).with_name("server.py")))
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"people": {"command": sys.executable, "args": ["-c", slow]}}}), "utf-8")
    target = {"command": sys.executable, "args": ["-m", "louver", "serve", "--config", str(file)]}
    try:
        assert "get_person" in first_request(tmp_path / "home", target, waits=True)
    except StockError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))
    # Codex waits for about a second, in which a busy machine may not have started a process.
    assert any("get_person" in first_request(tmp_path / "home", target, waits=False) for _ in range(ATTEMPTS))
    # Without what is kept it has none.
    assert "get_person" not in first_request(tmp_path / "new", target, waits=False)
