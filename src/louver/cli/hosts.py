"""Where MCP hosts keep their servers.

=========  =============================  =========================================
host       in the project                 of the user
=========  =============================  =========================================
claude     `.mcp.json`                    `~/.claude.json`, there also by project; then
                                          `claude_desktop_config.json` of Claude Desktop
cursor     `.cursor/mcp.json`             `~/.cursor/mcp.json`
vscode     `.vscode/mcp.json`             `mcp.json` of the default profile
=========  =============================  =========================================

All of them have an object `name -> server`, under `mcpServers` or, in VS Code, under `servers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.catalogue.files.line_numbers import Place

NAMES = {"claude": "Claude", "cursor": "Cursor", "vscode": "VS Code"}

KEYS = {"claude": "mcpServers", "cursor": "mcpServers", "vscode": "servers"}
"""Host -> the key of its servers."""

_VARIABLES = {"claude": "${%s}", "cursor": "${env:%s}", "vscode": "${env:%s}"}
"""Host -> how its file names an environment variable."""

_DESKTOP = "claude_desktop_config.json"
"""Into this file no variables are put."""


@dataclass(frozen=True, slots=True)
class Source:
    """Servers of a host.

    Args:
        path: The file.
        place: Where they stand in it.
        project: The folder that the file is about, if it is about one.
    """

    path: Path
    place: Place
    project: Path | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides where a host keeps things.

    Args:
        project: Where we are.
        home: The user's folder.
        platform: As `sys.platform` says it.
        environ: The environment.
    """

    project: Path
    home: Path
    platform: str
    environ: Mapping[str, str]

    @property
    def support(self) -> Path:
        """Where applications keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")


def sources(host: str, machine: Machine) -> list[Source]:
    """Where the host can have servers, the nearest first."""
    project, home, place = machine.project, machine.home, (KEYS[host],)
    if host == "cursor":
        return [Source(project / ".cursor" / "mcp.json", place, project), Source(home / ".cursor" / "mcp.json", place)]
    if host == "vscode":
        user = Source(machine.support / "Code" / "User" / "mcp.json", place)
        return [Source(project / ".vscode" / "mcp.json", place, project), user]
    return [
        Source(project / ".mcp.json", place, project),
        Source(home / ".claude.json", ("projects", str(project), *place), project),
        Source(home / ".claude.json", place),
        Source(machine.support / "Claude" / _DESKTOP, place),
    ]


def sources_of(host: str, machine: Machine, file: Path) -> list[Source]:
    """Where a file that was named can have servers."""
    path = machine.project / file
    known = [source for source in sources(host, machine) if source.path == path]
    project = path.parent.parent if path.parent.name in (".cursor", ".vscode") else path.parent
    return known or [Source(file, (KEYS[host],), project)]


def variable(host: str, source: Source, name: str) -> str | None:
    """How a host's file names an environment variable; `None` where its value itself must stand."""
    return None if source.path.name == _DESKTOP else _VARIABLES[host] % name
