"""Host API: how a script's tool calls reach the gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from louver.core.json import Json


@dataclass(frozen=True, slots=True)
class Options:
    # At most one of the two is set.
    fields: tuple[str, ...] | None = None  # field paths
    view: str | None = None


class HostApi(Protocol):
    """Calls tools for a script, with the rights of the script's caller."""

    # `server` and `tool` are Lua identifiers. Raises `ToolFailed`, or `UnknownName` for an unknown tool.
    async def call(self, server: str, tool: str, arguments: dict[str, Json], options: Options) -> Json: ...
