"""The table of MCP hosts: which files hold servers, under which key, and in which form.

    codex    {codex}/config.toml    [mcp_servers.memory] command = "npx"    env_vars = ["TOKEN"]
    cursor   {home}/.cursor/mcp.json    {"mcpServers": {"memory": {...}}}    "env": {"TOKEN": "${env:TOKEN}"}

Sources: the pages of the hosts that `docs/reference/hosts.md` names, and the installed packages of tested hosts.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from louver.desk.hosts import forms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from louver.catalogue.files.line_numbers import Place


@dataclass(frozen=True, slots=True)
class HostFiles:
    name: str  # on the command line
    title: str
    files: tuple[str, ...]  # with `{project}`, `{home}` and the like; nearest first
    key: str = "mcpServers"
    form: forms.Form = forms.COMMON
    client: str | None = None  # its `clientInfo.name`, where that was observed


HOSTS: Final[Mapping[str, HostFiles]] = {
    host.name: host
    for host in (
        HostFiles(
            "claude-code",
            "Claude Code",
            ("{project}/.mcp.json", "{home}/.claude.json"),
            form=forms.CLAUDE_CODE,
            client="claude-code",
        ),
        HostFiles(
            "claude-desktop", "Claude Desktop", ("{settings}/Claude/claude_desktop_config.json",), form=forms.LITERAL
        ),
        HostFiles("cursor", "Cursor", ("{project}/.cursor/mcp.json", "{home}/.cursor/mcp.json")),
        HostFiles(
            "vscode",
            "VS Code",
            ("{project}/.vscode/mcp.json", "{settings}/Code/User/mcp.json"),
            key="servers",
            form=forms.VS_CODE,
        ),
        HostFiles(
            "codex",
            "Codex",
            ("{project}/.codex/config.toml", "{codex}/config.toml"),
            key="mcp_servers",
            form=forms.CODEX,
            client="codex-mcp-client",
        ),
        HostFiles(
            "gemini-cli",
            "Gemini CLI",
            ("{project}/.gemini/settings.json", "{home}/.gemini/settings.json"),
            form=forms.GEMINI,
            client="gemini-cli-mcp-client",
        ),
        HostFiles(
            "qwen-code",
            "Qwen Code",
            ("{project}/.qwen/settings.json", "{home}/.qwen/settings.json"),
            form=forms.GEMINI,
            client="qwen-cli-mcp-client",
        ),
        HostFiles(
            "opencode",
            "OpenCode",
            (
                "{project}/opencode.json",
                "{project}/opencode.jsonc",
                "{config}/opencode/opencode.json",
                "{config}/opencode/opencode.jsonc",
            ),
            key="mcp",
            form=forms.OPENCODE,
            client="opencode",
        ),
        HostFiles("zed", "Zed", ("{zed}/settings.json",), key="context_servers", form=forms.LITERAL),
        HostFiles("windsurf", "Windsurf", ("{home}/.codeium/windsurf/mcp_config.json",), form=forms.WINDSURF),
    )
}


@dataclass(frozen=True, slots=True)
class HostSource:
    """A place of a host's file that can have servers."""

    host: HostFiles
    path: Path
    place: Place  # the keys that lead to the servers
    project: Path | None = None  # the folder that the file belongs to, if any

    @property
    def title(self) -> str:
        return f"{self.host.title}, {self.path}"


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts that determine where hosts keep their files."""

    project: Path  # the working folder
    home: Path  # the user's home folder
    platform: str  # as `sys.platform`
    environ: Mapping[str, str]

    @classmethod
    def current(cls) -> Machine:
        """This machine, for a command in the working folder."""
        return cls(Path.cwd(), Path.home(), sys.platform, os.environ)

    @property
    def settings_folder(self) -> Path:
        """The folder of application settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return self.config_folder

    @property
    def config_folder(self) -> Path:
        """The folder that programs of the terminal use on every system."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    def sources(self, host: HostFiles) -> Iterator[HostSource]:
        """The places where the host can have servers, nearest first."""
        folders = {
            "project": self.project,
            "home": self.home,
            "settings": self.settings_folder,
            "config": self.config_folder,
            "codex": self.environ.get("CODEX_HOME") or self.home / ".codex",
            "zed": self.settings_folder / "Zed" if self.platform == "win32" else self.config_folder / "zed",
        }
        # In the home folder the file of the project is that of the user.
        paths = dict.fromkeys(Path(file.format(**folders)) for file in host.files)
        for path in paths:
            if path == self.home / ".claude.json":
                yield HostSource(host, path, ("projects", str(self.project), host.key), self.project)
            is_of_project = path.is_relative_to(self.project) and self.project != self.home
            yield HostSource(host, path, (host.key,), self.project if is_of_project else None)
