"""The tools of an upstream by name, to look up a call: listed again after a change, and for a tool that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.back.session import Session


class ToolLookup:
    """The tools by session; `select` leaves some out."""

    def __init__(self, select: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list) -> None:
        self._select = select
        self._tools: WeakKeyDictionary[Session, tuple[int, dict[str, dict[str, Any]]]] = WeakKeyDictionary()

    async def find(
        self, session: Session, name: str | None, is_visible: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> dict[str, Any] | None:
        """A tool that is visible. A hidden one (`name` may be `None`) is looked for as long as a missing one."""
        known = self._tools.get(session)
        if known is not None and known[0] == session.lists.generation:
            tool = None if name is None else known[1].get(name)
            if tool is not None and is_visible(tool):
                return tool
        generation = session.lists.generation
        tools = {tool["name"]: tool for tool in self._select(await session.tools())}
        self._tools[session] = (generation, tools)
        tool = None if name is None else tools.get(name)
        return tool if tool is not None and is_visible(tool) else None
