"""What each host shows its model of a result, by `clientInfo.name`. Measured: `docs/reference/hosts.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# Structured content alone, text alone, both, or the whole result with its `_meta`.
Shown = Literal["structured", "text", "both", "whole"]


@dataclass(frozen=True, slots=True)
class Host:
    shown: Shown
    defers: bool = False  # the host searches tools itself, and loads their descriptions on demand


# A host that is not in the table, or a library that several hosts use: notes go to both places.
UNKNOWN: Final = Host("both")

# Client name -> host. Some hosts append `-` and a server's name.
HOSTS: Final[Mapping[str, Host]] = {
    "claude-code": Host("structured", defers=True),
    "codex-mcp-client": Host("structured"),
    "gemini-cli-mcp-client": Host("text"),
    "qwen-cli-mcp-client": Host("text", defers=True),
    "opencode": Host("text"),
    "ai-sdk-mcp-client": Host("text"),
    "mcp-use": Host("text"),
}


def host_of(name: str | None, hosts: Mapping[str, Host] = HOSTS) -> Host:
    if name is None:
        return UNKNOWN
    return hosts.get(name) or next((host for begin, host in hosts.items() if name.startswith(f"{begin}-")), UNKNOWN)
