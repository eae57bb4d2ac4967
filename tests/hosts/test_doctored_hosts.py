"""A real host starts Louver from its own file, as `louver doctor --apply` has written it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fixtures.failsafe import FAILSAFE_S
from stock.run import StockError

from . import stacks
from .model import played
from .scenes import PERSON, SERVER

pytestmark = pytest.mark.deep

FILES = {
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "opencode": "work/opencode.json",
}


def doctored(home, *arguments):
    """Run the command for the user of a home."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    command = [sys.executable, "-m", "louver", *arguments]
    done = subprocess.run(
        command, cwd=home / "work", env=environment, capture_output=True, text=True, timeout=FAILSAFE_S
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("host", FILES)
def test_a_host_calls_a_tool_through_the_file_that_doctor_has_written(host, tmp_path):
    """Issue 42: from the host's own file to an answer before its model, and back."""
    (tmp_path / "work").mkdir()
    file = tmp_path / FILES[host]
    with played([PERSON]) as model:
        try:
            command, environment = stacks._CONFIGURED[host](
                tmp_path, {"command": sys.executable, "args": [SERVER]}, model.url
            )
        except StockError as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))
        # Some hosts complete their file at their first start.
        stacks._ended(command, tmp_path, environment, "", stacks.RUN_S)
        direct, before = " ".join(model.seen), file.read_bytes()
        doctored(tmp_path, "doctor", "--yes", "--apply", host)
        assert b"people" not in file.read_bytes()
        _, err = stacks._ended(command, tmp_path, environment, "", stacks.RUN_S)
        assert any("louver" in name for name in model.tools), err[-800:]
        assert "ada@example.com" in direct
        assert "ada@example.com" in " ".join(model.seen), err[-800:]
    doctored(tmp_path, "undo", host)
    assert file.read_bytes() == before
