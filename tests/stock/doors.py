"""The servers of `docs/how-to/in-your-own-server.md`, as the page shows them, for stock clients and hosts."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from docs.pages import DOCS, ROOT, blocks

from .run import python_with

PAGE = DOCS / "how-to" / "in-your-own-server.md"
SERVERS = ("projection", "search", "disclosure", "policy")
"""The servers of the Python SDK, by their middleware."""

DOORS = ("fastmcp", *SERVERS, "site")


@contextmanager
def doors(folder):
    """How each is reached, while the block lasts: a command, or a URL."""
    for block in blocks(PAGE):
        if block.file is not None:
            (folder / block.file).write_text(block.text, "utf-8")
    # Drivers and hosts send no tokens.
    site = folder / "site_with_tools.py"
    site.write_text(site.read_text("utf-8").replace('"mcp.json"', '"mcp.json", require_auth=False'), "utf-8")
    config = folder / "mcp.json"
    config.write_text(config.read_text("utf-8").replace('"auth": {"tokens": "tokens.json"}', ""), "utf-8")
    fastmcp = str(python_with("fastmcp>=4,<5", "--editable", str(ROOT)))
    targets = {name: _command(sys.executable, folder, name) for name in SERVERS}
    targets["fastmcp"] = _command(fastmcp, folder, "fastmcp")
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "site_with_tools:site",
        "--port",
        "0",
        "--timeout-graceful-shutdown",
        "1",
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, "PATH": path}, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = next(line for line in process.stderr if "running on" in line)
            address = next(word for word in line.split() if word.startswith("http://"))
            yield {**targets, "site": {"url": f"{address}/tools/mcp"}}
        finally:
            process.terminate()
            process.stderr.read()


def _command(python, folder, name):
    """The files of the page are relative to where it is run."""
    code = f"import os, runpy; os.chdir({str(folder)!r}); runpy.run_path('{name}_people.py', run_name='__main__')"
    return {"command": python, "args": ["-c", code]}
