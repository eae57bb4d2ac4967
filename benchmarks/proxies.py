"""Louver's gateway and what a user would put there instead, each in a process of its own for as long as a block lasts.

    upstream()                     the server behind: HTTP
    louver("--url", url)           Louver
    FASTMCP.serving(url)           FastMCP's proxy, on a client that stays connected
    COMPRESSOR.serving(url)        PyPI `mcp-compressor`, in Rust: all tools behind one that calls them
    NPM.serving(*command)          npm `mcp-proxy`: of servers over stdio alone
    SUPERGATEWAY.serving(*command) npm `supergateway`: likewise
    PYPI.serving(*command)         PyPI `mcp-proxy`: likewise
    MY_COOL_PROXY.serving(url)     npm `my-cool-proxy`, for scripts

Peers are installed where the stock clients of the tests are. One that cannot be is left out, and that is said.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

from tests.stock.run import REQUIREMENTS, StockError, node_packages, python_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager, ExitStack

LOUVER = [sys.executable, "-m", "louver", "serve"]
UPSTREAM = [sys.executable, "-m", "benchmarks.gateway_server"]
STDIO_UPSTREAM = [*UPSTREAM, "--stdio"]

START_S = 30.0
"""How long a peer may take until it listens, in seconds."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A process that serves over HTTP.

    Args:
        url: Where.
        process: The process.
    """

    url: str
    process: int

    def rss_mb(self) -> float:
        """How much memory it holds, in MB, without the processes that it has started."""
        said = subprocess.run(["ps", "-o", "rss=", "-p", str(self.process)], capture_output=True, text=True, check=True)
        return int(said.stdout) * 1024 / 1e6


def upstream(*arguments: str) -> AbstractContextManager[Serving]:
    """The server that stands behind."""
    return serving(*UPSTREAM, *arguments)


@contextmanager
def serving(*command: str) -> Iterator[Serving]:
    """A program that prints its port, and serves until its standard input ends."""
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        # Leaving the block closes its standard input, at which it ends.
        yield Serving(f"http://127.0.0.1:{int(process.stdout.readline())}/mcp", process.pid)


@contextmanager
def louver(*arguments: str, has_tokens: bool = False, command: Sequence[str] = LOUVER) -> Iterator[Serving]:
    """Louver's gateway, as it is by default; without tokens, unless its configuration has them."""
    command = [*command, "--http", "127.0.0.1:0", *(() if has_tokens else ("--no-auth",)), *arguments]
    with subprocess.Popen(command, stderr=PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = next(filter(None, (re.search(r"serving at (\S+)", line) for line in process.stderr)))
            # What it logs afterwards has to be read, or it may wait for that.
            Thread(target=process.stderr.read, daemon=True).start()
            yield Serving(said[1], process.pid)
        finally:
            process.terminate()


@dataclass(frozen=True, slots=True)
class Peer:
    """Another proxy.

    Args:
        name: As it stands in the tables.
        _command: Installs it, and says how it is started: port, what stands behind it -> command.
    """

    name: str
    _command: Callable[[int, Sequence[str]], list[str]]

    @property
    def is_here(self) -> bool:
        """Whether it is installed, or can be; if not, why not is told."""
        try:
            self._command(0, [])
        except StockError as error:
            print(f"{self.name} is left out: {error}", file=sys.stderr)
            return False
        return True

    @contextmanager
    def serving(self, *behind: str) -> Iterator[Serving]:
        """It serves: what stands behind it is a URL, or a command."""
        port = _free_port()
        with subprocess.Popen(self._command(port, behind), stdout=DEVNULL, stderr=DEVNULL) as process:
            try:
                _wait_for(port, process)
                yield Serving(f"http://127.0.0.1:{port}/mcp", process.pid)
            finally:
                process.terminate()


def started(stack: ExitStack, peers: Sequence[Peer], *behind: str) -> dict[str, Serving]:
    """The peers that start, by name; of the others it is told that they do not."""
    found: dict[str, Serving] = {}
    for peer in peers:
        try:
            found[peer.name] = stack.enter_context(peer.serving(*behind))
        except StockError as error:
            print(f"{peer.name} is left out: {error}", file=sys.stderr)
    return found


def fastmcp_command(*arguments: str) -> list[str]:
    """How FastMCP's proxy is started."""
    python = python_with(REQUIREMENTS["fastmcp_v4"])
    return [str(python), str(Path(__file__).with_name("fastmcp_proxy.py")), *arguments]


def _fastmcp(port: int, behind: Sequence[str]) -> list[str]:
    return fastmcp_command("http", str(port), *behind)


def _pypi(port: int, behind: Sequence[str]) -> list[str]:
    script = python_with("mcp-proxy>=0.13,<1").with_name("mcp-proxy")
    # Else its server gets an environment without `PATH`.
    return [str(script), "--pass-environment", "--host", "127.0.0.1", "--port", str(port), "--", *behind]


def _npm(port: int, behind: Sequence[str]) -> list[str]:
    package = {"name": "proxies", "private": True, "dependencies": {"mcp-proxy": "^6.7.0"}}
    node, home = node_packages(json.dumps(package))
    script = home / "node_modules" / "mcp-proxy" / "dist" / "bin" / "mcp-proxy.mjs"
    return [str(node), str(script), "--host", "127.0.0.1", "--port", str(port), "--server", "stream", "--", *behind]


def _compressor(port: int, behind: Sequence[str]) -> list[str]:
    script = python_with("mcp-compressor>=0.38,<0.39").with_name("mcp-compressor")
    # Else it wants to log in at a URL.
    login = ["--auth", "explicit-headers"] if len(behind) == 1 else []
    return [str(script), "--transport", "streamable-http", "--port", str(port), "--", *behind, *login]


def _supergateway(port: int, behind: Sequence[str]) -> list[str]:
    package = {"name": "gateways", "private": True, "dependencies": {"supergateway": "4.0.0"}}
    node, home = node_packages(json.dumps(package))
    script = home / "node_modules" / "supergateway" / "dist" / "index.js"
    options = ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none", "--port", str(port)]
    return [str(node), str(script), "--stdio", shlex.join(behind), *options]


def _my_cool_proxy(port: int, behind: Sequence[str]) -> list[str]:
    package = {"name": "scripts", "private": True, "dependencies": {"@karashiiro/my-cool-proxy": "1.6.2"}}
    node, home = node_packages(json.dumps(package))
    config = home / f"{port}.json"
    clients = {SCRIPTED: {"type": "http", "url": behind[0]}} if behind else {}
    config.write_text(json.dumps({"transport": "http", "host": "127.0.0.1", "port": port, "mcpClients": clients}))
    script = home / "node_modules" / "@karashiiro" / "my-cool-proxy" / "bin" / "my-cool-proxy.mjs"
    # Its SQLite is built for the Node that npm runs on.
    return ["env", f"CONFIG_PATH={config}", f"HOME={home}", shutil.which("node") or str(node), str(script)]


SCRIPTED = "issues"
"""What scripts call the server behind: as it calls itself."""

FASTMCP = Peer("FastMCP", _fastmcp)
COMPRESSOR = Peer("mcp-compressor", _compressor)
NPM = Peer("npm mcp-proxy", _npm)
SUPERGATEWAY = Peer("supergateway", _supergateway)
PYPI = Peer("PyPI mcp-proxy", _pypi)
MY_COOL_PROXY = Peer("my-cool-proxy", _my_cool_proxy)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if process.poll() is not None or monotonic() > until:
                raise StockError(f"it does not serve: {process.args}") from None
            sleep(0.05)
        else:
            return
