"""The command where its standard streams are closed, full, or take no letters but those of ASCII."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.raw import INFO, STATELESS
from gateway.served import fixture

LOUVER = [sys.executable, "-m", "louver"]
NAMED = fixture("named", json.dumps(["ünï"]))
SERVER = [NAMED["command"], *NAMED["args"]]


def louver(redirected, *arguments, **environ):
    """What a command prints, tells and returns, its streams redirected as by a shell."""
    command = ["sh", "-c", f'exec "$@" {redirected}', "sh", *LOUVER, *arguments]
    # What is to be written is not, until the end or until there is much of it.
    environ = {**os.environ, "PYTHONUNBUFFERED": "", **environ}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=FAILSAFE_S, env=environ, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("arguments", "redirected", "why"),
    [
        (["tools", "--json"], ">&-", "Bad file descriptor"),
        (["tools"], ">/dev/full", "No space left on device"),
        (["serve"], ">&-", "Bad file descriptor"),
        (["serve", "--help"], ">/dev/full", "No space left on device"),
    ],
)
def test_what_cannot_be_written_is_told(arguments, redirected, why):
    """Ours: 1, for the request was right."""
    done = louver(redirected, *arguments, "--", *SERVER)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"louver: standard output cannot be written: {why}\n"


def test_a_closed_input_is_an_empty_one():
    """Ours."""
    served = louver("<&-", "serve", "--", *SERVER)
    assert (served.returncode, served.stdout, "Traceback" in served.stderr) == (0, "", False)
    called = louver("<&-", "call", "t", "--json-args", "-", "--", *SERVER)
    assert (called.returncode, called.stderr) == (2, "louver: standard input:1: not JSON: Expecting value\n")


def test_an_open_stream_does_not_hold_the_end_of_the_example(tmp_path):
    """Step 20: a client that listens closes the input, and waits for the end."""
    names = ("protocolVersion", "clientInfo", "clientCapabilities")
    values = (STATELESS, INFO, {})
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in zip(names, values, strict=True)}
    params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    listening = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    (tmp_path / "input").write_text(json.dumps(listening) + "\n")
    done = louver(f"<{tmp_path / 'input'}", "serve", "--example")
    assert done.returncode == 0
    assert "acknowledged" in done.stdout


def test_what_is_told_does_not_go_elsewhere_where_nobody_hears_it():
    """Ours: standard output is for what was asked for."""
    done = louver("2>&-", "tools", "--config", "nowhere.json")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.fixture
def nobody(request):
    """A standard error that nobody hears."""
    if request.param == "full":
        stream = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, stream = os.pipe()
        os.close(reading)
    yield stream
    os.close(stream)


@pytest.mark.parametrize(
    ("arguments", "status", "nobody"),
    [
        pytest.param(["nonsense"], 2, "full", id="told by the library"),
        pytest.param(["tools", "--config", "nowhere.json"], 2, "gone", id="told by a command"),
        pytest.param(["tools", "--url", "http://127.0.0.1:9"], 1, "gone", id="logged"),
        pytest.param(["tools", "--url", "http://127.0.0.1:9"], 1, "full", id="logged to what is full"),
    ],
    indirect=["nobody"],
)
def test_what_nobody_hears_is_no_fault(nobody, arguments, status):
    """Ours: the exit status is that of the work. Python's own is 120 where something is left to be written."""
    environ = {**os.environ, "PYTHONUNBUFFERED": ""}
    done = subprocess.run(
        [*LOUVER, *arguments], stdout=subprocess.DEVNULL, stderr=nobody, timeout=FAILSAFE_S, env=environ
    )
    assert done.returncode == status


ASCII_ONLY = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def test_what_is_for_a_program_is_utf_8_everywhere():
    """RFC 8259, 8.1; an escape for a reader would not be JSON."""
    _, line = louver("", "token", "--subject", "x", "--roles", "ünï", PYTHONIOENCODING="ascii").stdout.splitlines()
    (said,) = json.loads(f"{{{line}}}").values()
    assert said["roles"] == ["ünï"]


def test_letters_that_cannot_be_written_are_escaped():
    """Ours: a table with a name in other letters is better than none."""
    done = louver("", "tools", "--", *SERVER, **ASCII_ONLY)
    assert (done.returncode, done.stderr) == (0, "")
    assert r" \xfcn\xef " in done.stdout
