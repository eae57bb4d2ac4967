"""`louver serve` in a process of its own, whose standard error is kept, and its children."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON, fork_of, kill
from gateway.gateways import LOUVER, SERVING
from gateway.raw import PROGRAM

FIXTURES = Path(__file__).parents[1] / "fixtures"


def fixture(name, *arguments, python=PYTHON, **louver):
    """The entry of a fixture server in a configuration."""
    entry = {"command": python, "args": [str(FIXTURES / f"{name}.py"), *map(str, arguments)]}
    return {**entry, "louver": louver} if louver else entry


def at(url, **louver):
    """The entry of a server at a URL."""
    return {"url": url, **({"louver": louver} if louver else {})}


def config(folder, servers, **louver):
    """The options of `louver serve` for these servers; those under a policy are audited."""
    if any("policy" in server.get("louver", {}) for server in servers.values()):
        louver = {"audit": {"file": "audit.db"}, **louver}
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers, "louver": louver}))
    return ["--config", str(path)]


def stateless(method, **params):
    """A request of 2026-07-28 alone, without a connection that was opened: what `httpx2` posts."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": PROGRAM,
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        **({"mcp-name": params["name"]} if "name" in params else {}),
    }
    return {
        "json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}},
        "headers": headers,
    }


class Served:
    """A process, and all that it has said on its standard error."""

    def __init__(self, command, *, at_terminal=False, **options):
        seen, stderr = pty.openpty() if at_terminal else (None, subprocess.PIPE)
        self.process = subprocess.Popen(command, stderr=stderr, text=True, **options)
        self._stderr = self.process.stderr
        if at_terminal:
            os.close(stderr)
            self._stderr = os.fdopen(seen)
        self.said = []
        self._new = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    @property
    def pid(self):
        return fork_of(self.process.pid)

    def kill(self):
        kill(self.process)

    def _read(self):
        # A terminal that the process has closed cannot be read.
        with suppress(OSError):
            for line in self._stderr:
                with self._new:
                    self.said.append(line)
                    self._new.notify_all()
        with self._new:
            self._ended = True
            self._new.notify_all()

    def find(self, pattern):
        return next(filter(None, (re.search(pattern, line) for line in self.said)), None)

    def says(self, pattern):
        """The match, once a line matches."""
        with self._new:
            assert self._new.wait_for(lambda: self._ended or self.find(pattern), FAILSAFE_S), self.said
        found = self.find(pattern)
        assert found is not None, "".join(self.said)
        return found

    def ends(self):
        """The exit status, once it has ended."""
        return self.process.wait(FAILSAFE_S)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(FAILSAFE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._thread.join()
        self._stderr.close()


@contextmanager
def serving(*arguments, command=LOUVER, no_auth=True, **options):
    """A gateway over HTTP: its process, with its `url`."""
    served = Served([*command, "--http", "127.0.0.1:0", *(["--no-auth"] if no_auth else []), *arguments], **options)
    try:
        served.url = served.says(SERVING.pattern).group(1)
        yield served
    finally:
        served.close()


@contextmanager
def at_a_url(name, *arguments):
    """The URL of a fixture server over HTTP, by a process of its own."""
    command = [PYTHON, str(FIXTURES / f"{name}.py"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def children(pid):
    """The processes that a process has started, or forks of them, as they are now: id -> command line."""
    found, pid = {}, fork_of(pid)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                command = (stat.parent / "cmdline").read_text().replace("\0", " ")
                found[fork_of(int(stat.parent.name))] = command
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
