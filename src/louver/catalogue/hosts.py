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
    longest_answer: int | None = None  # that it shows whole, in characters; `None`: any
    counts_bytes: bool = False  # the same in bytes
    limits_one_block: bool = False  # only an answer of one text
    limit_key: str = ""  # in the `_meta` of a tool: a limit of its own


# A host that is not in the table, or a library that several hosts use: notes go to both places.
UNKNOWN: Final = Host("both")

# Client name -> host. Some hosts append `-` and a server's name.
HOSTS: Final[Mapping[str, Host]] = {
    "claude-code": Host("structured", defers=True, longest_answer=50_000, limit_key="anthropic/maxResultSizeChars"),
    "codex-mcp-client": Host("structured", longest_answer=48_000, counts_bytes=True),
    "gemini-cli-mcp-client": Host("text", longest_answer=40_000, limits_one_block=True),
    "qwen-cli-mcp-client": Host("text", defers=True, longest_answer=28_000),
    "opencode": Host("text", longest_answer=51_200, counts_bytes=True),
    "ai-sdk-mcp-client": Host("text"),
    "mcp-use": Host("text"),
}


def host_of(name: str | None) -> Host:
    if name is None:
        return UNKNOWN
    if "-" not in name:
        return HOSTS.get(name, UNKNOWN)
    return HOSTS.get(name) or next((host for begin, host in HOSTS.items() if name.startswith(f"{begin}-")), UNKNOWN)
