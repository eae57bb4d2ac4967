"""Gateways and upstreams in processes of their own, for as long as a block lasts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from fixtures.forking import PYTHON, kill

EVERYTHING = [PYTHON, str(Path(__file__).parents[1] / "fixtures" / "everything.py")]
LOUVER = [PYTHON, "-m", "louver", "serve"]
LOUVER_ITSELF = [sys.executable, *LOUVER[1:]]
"""Not forked: for what is about processes, signals and pipes."""

SERVING = re.compile(r"serving at ([^\s\"]+)")


@contextmanager
def everything(*arguments):
    """The URL of the fixture server over HTTP."""
    with subprocess.Popen([*EVERYTHING, "--http", "0", *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            if not url:
                pytest.fail("the fixture server ended before it served; its stderr says why")
            yield url
        finally:
            process.terminate()


@contextmanager
def listening(port):
    """The fixture server at a port, and its URL."""
    with subprocess.Popen([*EVERYTHING, "--http", str(port)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            kill(process)


@contextmanager
def gateway(*arguments):
    """The URL of a gateway over HTTP."""
    with gateway_process(*arguments) as (_, url):
        yield url


@contextmanager
def gateway_process(*arguments):
    """The process of a gateway over HTTP, and its URL; what it tells later can be read from its `stderr`."""
    command = [*LOUVER, "--http", "127.0.0.1:0", "--no-auth", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if found := SERVING.search(line):
                    break
            else:
                pytest.fail(f"the gateway ended before it served: {''.join(said)}")
            yield process, found.group(1)
        finally:
            process.terminate()
            # Read to its end: a process that cannot tell what it has to tell would fail at that.
            if not process.stderr.closed:
                process.stderr.read()


def over_stdio(*arguments):
    """A gateway that a client starts."""
    # The SDK hands on no other variables.
    state = {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}
    return StdioServerParameters(command=LOUVER[0], args=[*LOUVER[1:], *arguments], env=state)
