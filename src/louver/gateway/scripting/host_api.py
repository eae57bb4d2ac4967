"""What a script can reach: whoever calls tools for it.

host.call("files", "read", {"path": "a"}, Options(fields=("size",)))    {"size": 7}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from louver.core.json import Json


@dataclass(frozen=True, slots=True)
class Options:
    """What a script asks of an answer: field paths, or a view of the tool."""

    fields: tuple[str, ...] | None = None
    view: str | None = None


class Host(Protocol):
    """Who calls tools for a script, with the rights of the script's caller."""

    async def call(self, server: str, tool: str, arguments: dict[str, Json], options: Options) -> Json:
        """The value that a tool answers with.

        Args:
            server: The server's Lua identifier.
            tool: The tool's Lua identifier, as the script writes it.
            arguments: As the script gives them.
            options: What is asked of the answer.

        Raises:
            ToolFailed: It failed, or could not be called.
            UnknownName: There is no such tool.
        """
        ...
