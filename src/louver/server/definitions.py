"""How the tools of a server are described now, as each caller sees them.

What a server lists is asked for anew for every read. For a call, what was listed last counts, until
the server tells that its tools have changed, a list that passes says so, or some time has gone by.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from louver.catalogue.descriptions import Described
from louver.limits import DEFINITIONS_S, MAX_CALLERS
from louver.server.tools import all_tools, caller

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mcp.server.context import CallNext, ServerRequestContext

    from louver.catalogue.descriptions import DescriptionFiles


class Definitions:
    """The tools by caller and name.

    Args:
        files: What is added to descriptions.
    """

    def __init__(self, files: DescriptionFiles) -> None:
        self._files = files
        self._latest: dict[str, Described] = {}
        self._seen: OrderedDict[Hashable, _Seen] = OrderedDict()
        self._changes = 0

    def changed(self) -> None:
        """Forget what was listed: the server tells that it has changed."""
        self._changes += 1

    def learn(self, tools: list[dict[str, Any]]) -> list[Described]:
        """The tools of a list that passes."""
        self._files.refresh()
        described = [self._described(tool) for tool in tools]
        if (seen := self._seen.get(caller())) is not None:
            seen.tools.update({each.name: each for each in described})
        return described

    def knows(self, name: str) -> bool:
        """Whether anybody was listed a tool of this name."""
        return name in self._latest

    async def all(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, Described]:
        """All tools that the caller sees, by name, with the server asked."""
        changes, at = self._changes, monotonic()
        self._files.refresh()
        tools = {tool["name"]: self._described(tool) async for tool in all_tools(ctx, call_next)}
        who = caller()
        self._seen[who] = _Seen(tools, changes, at)
        self._seen.move_to_end(who)
        if len(self._seen) > MAX_CALLERS:
            self._seen.popitem(last=False)
        return tools

    async def find(self, name: str, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Described | None:
        """A tool as the caller sees it; `None` if the caller sees no such tool."""
        seen = self._seen.get(caller())
        known = seen.tools.get(name) if seen is not None and self._is_current(seen) else None
        if known is None:
            return (await self.all(ctx, call_next)).get(name)
        # Files are not read again here: a folder can hold as many as there are tools.
        return known if known.file is self._files.find(name) else self._described(known.tool)

    def _is_current(self, seen: _Seen) -> bool:
        return seen.changes == self._changes and monotonic() < seen.at + DEFINITIONS_S

    def _described(self, tool: dict[str, Any]) -> Described:
        """The tool in both stages; the one that is there, if nothing has changed."""
        name = tool["name"]
        file = self._files.find(name)
        latest = self._latest.get(name)
        if latest is None or latest.file is not file or not (latest.tool is tool or latest.tool == tool):
            latest = self._latest[name] = Described(tool, file)
        return latest


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one caller sees.

    Args:
        tools: The tools by name.
        changes: The changes that were told before.
        at: When it was asked for, in seconds.
    """

    tools: dict[str, Described]
    changes: int
    at: float
