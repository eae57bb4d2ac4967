"""The tools of the server that we are attached to, learnt from its own `tools/list`.

A middleware sees a server from outside, so the schemas that a plan needs come
from listing: every listing that passes is remembered, and a projected call of a
tool that was not seen yet lists first, all pages. What one caller sees is kept
apart from what another sees, since servers may show each a list of their own.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import WeakValueDictionary

import anyio
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp_types import METHOD_NOT_FOUND

from louver.catalogue.entry import Entry
from louver.concurrency.offload import found_or_made
from louver.core.json import members
from louver.limits import MAX_CALLERS
from louver.protocol.names import PROJECTION, PROJECTION_LITERAL, SERVER
from louver.server.wire import pages, result_dict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Hashable, Mapping

    from mcp.server.context import CallNext, ServerRequestContext

    from louver.server.tools.views import ToolViews


class Tools:
    """Entries by caller and name.

    Args:
        views: Makes the entry of a listed tool, with its views.
    """

    def __init__(self, views: ToolViews) -> None:
        self.views = views
        self.in_order = anyio.Lock(fast_acquire=True)
        """Held by who learns a list, which takes a while: so lists are learnt in the order in which they came."""
        # Weak: a tool that no caller sees any more is forgotten.
        self._latest: WeakValueDictionary[str, Entry] = WeakValueDictionary()
        self._seen: Sights[Sight[Entry]] = Sights(Sight[Entry])

    async def learn(self, tools: list[dict[str, Any]], *, first: bool = True, last: bool = True) -> list[Entry]:
        """The entries of tools that were just listed; those that are there, if nothing has changed.

        Whoever calls this holds `in_order`.

        Args:
            tools: One page of a list; all of it, if nothing else is said.
            first: Whether the list begins with it.
            last: Whether the list ends with it.
        """
        entries = await found_or_made(tools, self._known, self._made)
        named = {entry.name: entry for entry in entries}
        self._latest.update(named)
        self._seen.listed_to(caller()).learn(named, first=first, last=last)
        return entries

    def has(self, name: str) -> bool:
        """Whether the server lists a tool of this name to anybody."""
        return name in self._latest

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The input schema of a tool that was listed; the SDK checks `Mcp-Param-*` headers by it."""
        entry = self._latest.get(name)
        return None if entry is None else entry.input_schema

    async def find(self, name: str, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Entry | None:
        """The entry of a tool, as the caller sees it; `None` if the caller sees no such tool."""
        self.views.refresh()
        seen = self._seen.find(caller())
        entry = None if seen is None else seen.tools.get(name)
        if entry is not None and self.views.are_current(entry):
            return entry
        return await self.refresh(name, ctx, call_next)

    async def find_if_listed(self, name: str, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Entry | None:
        """Likewise, but where the server lists nothing now there is none: what has run is answered all the same."""
        try:
            return await self.find(name, ctx, call_next)
        except MCPError:
            return None

    async def refresh(self, name: str, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Entry | None:
        """Likewise, with the server asked again."""
        tools = [tool async for tool in all_tools(ctx, call_next)]
        async with self.in_order:
            entries = await self.learn(tools)
        return next((entry for entry in reversed(entries) if entry.name == name), None)

    def _known(self, tool: dict[str, Any]) -> Entry | None:
        """The entry of a tool, if there is one and nothing has changed."""
        entry = self._latest.get(tool["name"])
        return entry if entry is not None and entry.is_of(tool) and self.views.are_current(entry) else None

    def _made(self, tool: dict[str, Any]) -> Entry:
        return self.views.entry(tool, self._latest.get(tool["name"]))


async def all_tools(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> AsyncGenerator[dict[str, Any]]:
    """The tools of all pages, as the server lists them to who asks; none if it lists nothing."""
    try:
        async for listed in listings(ctx, call_next):
            for tool in cast("list[dict[str, Any]]", listed.get("tools") or []):
                yield tool
    except MCPError as error:
        # A server may serve calls without listing anything.
        if error.code != METHOD_NOT_FOUND:
            raise


def listings(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> AsyncGenerator[dict[str, Any]]:
    """The pages of the server's own list of tools, for whoever makes the request, whatever that asks for."""
    said = members((ctx.params or {}).get("_meta"))
    # What is asked of a call may be nothing that can be sent. Nor does it say whose tools are listed.
    ours = (PROJECTION, PROJECTION_LITERAL) if ctx.method == "tools/list" else (PROJECTION, PROJECTION_LITERAL, SERVER)
    meta = {key: value for key, value in said.items() if key not in ours}

    async def ask(place: dict[str, Any]) -> dict[str, Any]:
        params = {**({"_meta": meta} if meta else {}), **place}
        return result_dict(await call_next(replace(ctx, method="tools/list", params=params)))

    return pages(ask)


def caller() -> Hashable:
    """Who makes the request that is served, on which hangs what may be seen; `None` where nobody is authenticated."""
    token = get_access_token()
    return None if token is None else (*principal_components(token), *sorted(token.scopes))


S = TypeVar("S")
T = TypeVar("T")


class Sight(Generic[T]):
    """What one caller sees: `tools` by name."""

    def __init__(self) -> None:
        self.tools: dict[str, T] = {}
        self._since: dict[str, T] | None = None

    def learn(self, tools: Mapping[str, T], *, first: bool, last: bool) -> None:
        """Take up one page of a list.

        Args:
            tools: What stands on it, by name.
            first: Whether the list begins with it.
            last: Whether the list ends with it.
        """
        if first:
            self._since = {}
        self.tools.update(tools)
        if self._since is None:
            return
        self._since.update(tools)
        if last:
            self.tools, self._since = self._since, None


class Sights(Generic[S]):
    """The sights of callers; who was not listed to for longest is forgotten.

    Args:
        make: Makes the one of a new caller.
    """

    def __init__(self, make: Callable[[], S]) -> None:
        self._make = make
        self._of: OrderedDict[Hashable, S] = OrderedDict()

    def find(self, caller: Hashable) -> S | None:
        """What the caller sees, if it was listed to."""
        return self._of.get(caller)

    def listed_to(self, caller: Hashable) -> S:
        """Likewise, of a caller that is listed to now."""
        sight = self._of.get(caller)
        if sight is None:
            sight = self._of[caller] = self._make()
        self._of.move_to_end(caller)
        if len(self._of) > MAX_CALLERS:
            self._of.popitem(last=False)
        return sight
