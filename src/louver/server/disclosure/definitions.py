"""How the tools of a server are described now, as each caller sees them.

What a server lists is asked for anew for every read. For a call, what was listed last counts, until
the server tells that its tools have changed, a list that passes says so, or some time has gone by.
"""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import anyio

from louver.catalogue.files.descriptions import Described
from louver.concurrency.offload import by_turns
from louver.limits import DEFINITIONS_S
from louver.protocol.results import READ_RESULT
from louver.server.tools.registry import Sight, Sights, all_tools, caller

if TYPE_CHECKING:
    from mcp.server.context import CallNext, ServerRequestContext

    from louver.catalogue.files.descriptions import DescriptionFiles


class Definitions:
    """The tools by caller and name.

    Args:
        files: What is added to descriptions.
    """

    def __init__(self, files: DescriptionFiles) -> None:
        self._files = files
        # Weak: a tool that no caller sees any more is forgotten.
        self._latest: WeakValueDictionary[str, Described] = WeakValueDictionary()
        self._seen = Sights(_Seen)
        self._changes = 0
        # Lists that are looked at in turns are learnt in the order in which they came.
        self._in_order = anyio.Lock(fast_acquire=True)

    def changed(self) -> None:
        """Forget what was listed: the server tells that it has changed."""
        self._changes += 1

    async def learn(self, tools: list[dict[str, Any]], *, first: bool, last: bool) -> list[Described]:
        """The tools of a page that passes.

        Args:
            tools: As the server lists them.
            first: Whether a list begins with it.
            last: Whether a list ends with it.
        """
        self._files.refresh()
        async with self._in_order:
            described = [self._described(tool) async for tool in by_turns(tools)]
            seen = self._seen.listed_to(caller())
            seen.learn({each.name: each for each in described}, first=first, last=last)
        return described

    def knows(self, name: str) -> bool:
        """Whether the caller was last listed a tool of this name."""
        seen = self._seen.find(caller())
        return seen is not None and name in seen.tools

    async def all(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, Described]:
        """All tools that the caller sees, by name, with the server asked."""
        changes, at = self._changes, monotonic()
        self._files.refresh()
        # What reads kept results is ours, and listed whole.
        listed = [tool async for tool in all_tools(ctx, call_next) if tool != READ_RESULT]
        async with self._in_order:
            tools = {tool["name"]: self._described(tool) async for tool in by_turns(listed)}
            seen = self._seen.listed_to(caller())
            seen.learn(tools, first=True, last=True)
            seen.changes, seen.at = changes, at
        return tools

    async def find(self, name: str, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Described | None:
        """A tool as the caller sees it; `None` if the caller sees no such tool."""
        seen = self._seen.find(caller())
        if seen is None or not self._is_current(seen) or name not in seen.tools:
            return (await self.all(ctx, call_next)).get(name)
        known = seen.tools[name]
        # Files are not read again here: a folder can hold as many as there are tools.
        if known.file != self._files.find(name):
            known = seen.tools[name] = self._described(known.tool)
        return known

    def _is_current(self, seen: _Seen) -> bool:
        return seen.changes == self._changes and monotonic() < seen.at + DEFINITIONS_S

    def _described(self, tool: dict[str, Any]) -> Described:
        """The tool in both stages; the one that is there, if nothing has changed."""
        name = tool["name"]
        file = self._files.find(name)
        latest = self._latest.get(name)
        if latest is None or latest.file != file or not (latest.tool is tool or latest.tool == tool):
            latest = self._latest[name] = Described(tool, file)
        return latest


class _Seen(Sight[Described]):
    """What one caller sees, the changes that were told before it was asked for, and when that was, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self.at = -inf
