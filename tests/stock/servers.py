"""Real MCP servers, installed where the stock clients are: `npm("memory")` is the command that starts one.

Their versions are pinned here and in `package.json`.
"""

from .run import node_packages, python_with

PYTHON_SERVERS = tuple(f"mcp-server-{name}==2026.10.19" for name in ("fetch", "git", "time"))


def npm(name: str) -> list[str]:
    """The command of a reference server of npm."""
    node, home = node_packages()
    return [str(node), str(home / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js")]


def pypi(name: str) -> list[str]:
    """The command of a reference server of PyPI."""
    return [str(python_with(*PYTHON_SERVERS).with_name(f"mcp-server-{name}"))]
