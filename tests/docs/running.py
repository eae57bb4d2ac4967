"""Running what a page shows, in a fresh folder."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from docs.pages import ROOT, commands
from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from stock.run import python_with

SETUP = ("pip install uv && uv run louver demo", "pip install uv && uv run --group dev pytest")
"""The two commands that set up a machine; they are not run here, but stand in README.md so."""

PORT = "8931"
"""The port that the pages write; a free one stands in for it."""


@cache
def _forked_louver():
    """The folder of a `louver` that starts at once, for pages that start it many times."""
    folder = Path(PYTHON).parent / "bin"
    folder.mkdir()
    (louver := folder / "louver").write_text(f'#!/bin/sh\nexec {PYTHON} -m louver "$@"\n')
    louver.chmod(0o700)
    return folder


class Runner:
    """Runs the commands of one page; what runs in the background ends with it.

    Args:
        folder: Where the page's files stand.
    """

    def __init__(self, folder):
        self.folder = folder
        self.port = _free_port()
        self._background = []
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "COLUMNS")},
            "PATH": os.pathsep.join(map(str, (_forked_louver(), Path(sys.executable).parent, os.environ["PATH"]))),
            "LC_ALL": "C.UTF-8",
            "PYTHONUTF8": "1",
            "PYTHONUNBUFFERED": "1",
            "NO_COLOR": "1",
        }

    def write(self, block):
        """Write the file that a block is."""
        file = self.folder / block.file
        assert not file.exists(), f"line {block.line}: {block.file} stands in this page already"
        file.write_text(self._here(block.text), encoding="utf-8")

    def python(self, page, blocks):
        """Run the Python blocks of a page in one namespace; lines of a traceback are those of the page.

        They can import the modules beside the page.
        """
        lines = []
        for block in blocks:
            lines += [""] * (block.line - 1 - len(lines)) + block.text.rstrip("\n").split("\n")
        script = self.folder / page.name
        script.write_text(self._here("\n".join(lines)), encoding="utf-8")
        python = sys.executable
        if "fastmcp" in script.read_text(encoding="utf-8"):
            python = str(python_with("fastmcp>=4,<5", "--editable", str(ROOT)))
        path = f"{Path(python).parent}{os.pathsep}{self._environment['PATH']}"
        done = self._run([python, "-W", "error", "-B", script.name], PATH=path, PYTHONPATH=str(page.parent))
        assert done.returncode == 0, done.stdout
        assert done.stdout == "", f"a Python block prints:\n{done.stdout}"

    def console(self, block):
        """Run the commands of a console block and hold their output against what stands there."""
        for command in commands(block):
            if command.text in SETUP:
                assert command.text in (ROOT / "README.md").read_text(encoding="utf-8"), (
                    f"README.md does not say {command.text!r} word for word"
                )
                assert not command.output, f"line {command.line}: the output of this command is not checked"
                continue
            assert "pip install" not in command.text, (
                f"line {command.line}: expected one of {SETUP}, which README.md has"
            )
            text = self._here(command.text.removeprefix("uv run "))
            if text.endswith(" &"):
                printed = self._start(text.removesuffix(" &"), command.output)
            else:
                printed = self._run(["bash", "-c", text]).stdout
            printed = printed.replace(self.port, PORT).rstrip("\n")
            printed = "\n".join(line.rstrip() for line in printed.split("\n"))
            expected = "\n".join(command.output)
            assert matches(expected, printed), (
                f"line {command.line}: `{command.text}` prints\n{printed}\nand not\n{expected}"
            )

    def end(self):
        """End what still runs in the background."""
        for process in self._background:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(FAILSAFE_S)
            process.stdout.close()

    def _run(self, command, **variables):
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**self._environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=FAILSAFE_S,
            check=False,
        )

    def _start(self, text, expected):
        """Start a command in the background; what it prints until the expected lines are there."""
        process = subprocess.Popen(
            ["bash", "-c", text],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._background.append(process)
        assert expected, f"`{text} &`: show a line of its output, so that it is known to be ready"
        output = process.stdout.fileno()
        data, printed = b"", ""
        while select.select([output], [], [], FAILSAFE_S)[0]:
            part = os.read(output, 65_536)
            data += part
            printed = data.decode("utf-8", "replace")
            if not part or matches("\n".join(expected), printed.replace(self.port, PORT).rstrip("\n")):
                break
        return printed

    def _here(self, text):
        return text.replace(PORT, self.port)


@contextmanager
def running(folder):
    """A runner for one page."""
    runner = Runner(folder)
    try:
        yield runner
    finally:
        runner.end()


def matches(expected, printed):
    """Whether a text is the expected one, where `...` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
