"""Where MCP hosts keep their servers: an object `name -> server` under `mcpServers` (VS Code: `servers`).

claude    `.mcp.json`; `~/.claude.json`, by project and of the user; `claude_desktop_config.json` of Claude Desktop
cursor    `.cursor/mcp.json`; `~/.cursor/mcp.json`
vscode    `.vscode/mcp.json`; `mcp.json` of the default profile
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.catalogue.files.line_numbers import Place

NAMES = {"claude": "Claude", "cursor": "Cursor", "vscode": "VS Code"}

KEYS = {"claude": "mcpServers", "cursor": "mcpServers", "vscode": "servers"}  # host -> the key of its servers

# host -> the form of an environment variable
_VARIABLES = {"claude": "${%s}", "cursor": "${env:%s}", "vscode": "${env:%s}"}

_DESKTOP = "claude_desktop_config.json"  # Claude Desktop expands no variables in this file


@dataclass(frozen=True, slots=True)
class HostSource:
    """Servers in a file of a host."""

    path: Path
    place: Place  # the keys that lead to the servers
    project: Path | None = None  # the folder that the file belongs to, if any


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts that determine where a host keeps its files."""

    project: Path  # the working folder
    home: Path  # the user's home folder
    platform: str  # as `sys.platform`
    environ: Mapping[str, str]

    @property
    def settings_folder(self) -> Path:
        """The folder of application settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")


def sources(host: str, machine: Machine) -> list[HostSource]:
    """The places where the host can have servers, nearest first."""
    project, home, place = machine.project, machine.home, (KEYS[host],)
    if host == "cursor":
        return [
            HostSource(project / ".cursor" / "mcp.json", place, project),
            HostSource(home / ".cursor" / "mcp.json", place),
        ]
    if host == "vscode":
        user = HostSource(machine.settings_folder / "Code" / "User" / "mcp.json", place)
        return [HostSource(project / ".vscode" / "mcp.json", place, project), user]
    return [
        HostSource(project / ".mcp.json", place, project),
        HostSource(home / ".claude.json", ("projects", str(project), *place), project),
        HostSource(home / ".claude.json", place),
        HostSource(machine.settings_folder / "Claude" / _DESKTOP, place),
    ]


def sources_in_file(host: str, machine: Machine, file: Path) -> list[HostSource]:
    """The places in `file` where the host can have servers."""
    path = machine.project / file
    matching = [source for source in sources(host, machine) if source.path == path]
    project = path.parent.parent if path.parent.name in (".cursor", ".vscode") else path.parent
    return matching or [HostSource(file, (KEYS[host],), project)]


def variable(host: str, source: HostSource, name: str) -> str | None:
    """An environment variable as the host's file writes it; `None` if the file must hold the value itself."""
    return None if source.path.name == _DESKTOP else _VARIABLES[host] % name
