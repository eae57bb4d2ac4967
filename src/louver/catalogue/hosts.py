"""What hosts show their models of an answer, by the name that their client gives itself.

Measured with each host (`docs/reference/hosts.md`). A configuration can add to the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Shown = Literal["structured", "text", "both", "whole"]
"""What a model sees: structured content alone, text alone, both, or the whole result with its `_meta`."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host.

    Args:
        shown: What its model sees of an answer.
        defers: Whether it finds tools by itself, and loads their descriptions when they are needed.
    """

    shown: Shown
    defers: bool = False


UNKNOWN: Final = Host("both")
"""A host that is not in the table, or a library that several hosts use: notes are written in both places."""

HOSTS: Final[Mapping[str, Host]] = {
    "claude-code": Host("structured", defers=True),
    "codex-mcp-client": Host("structured"),
    "gemini-cli-mcp-client": Host("text"),
    "qwen-cli-mcp-client": Host("text", defers=True),
    "opencode": Host("text"),
    "ai-sdk-mcp-client": Host("text"),
    "mcp-use": Host("text"),
}
"""Client name -> host. Names that a host extends by a server's name are matched by their beginning."""


def host_of(name: str | None, hosts: Mapping[str, Host] = HOSTS) -> Host:
    """The host of a client.

    Args:
        name: `clientInfo.name`.
        hosts: Client name -> host.
    """
    if name is None:
        return UNKNOWN
    return hosts.get(name) or next((host for begin, host in hosts.items() if name.startswith(f"{begin}-")), UNKNOWN)
