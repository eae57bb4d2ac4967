"""The tools of the attached server, learnt from its own `tools/list`.

A middleware sees only messages, but a plan needs schemas. So every list that passes is remembered, and a projected call
of an unknown tool lists all pages first. Caches are per caller, since a server may list different tools to each.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import WeakValueDictionary

import anyio

from louver.catalogue.entry import Entry
from louver.concurrency.offload import find_or_compute
from louver.core.json import members
from louver.limits import MAX_CALLERS
from louver.steps.pages import pages
from louver.steps.tools.origin import ATTACHED_SERVER
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from louver.wire.names import PROJECTION, PROJECTION_LITERAL, SERVER

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Hashable, Mapping

    from louver.steps.request import Identity, Next, Request
    from louver.steps.tools.origin import ToolOrigin, ToolOrigins, ToolPlace
    from louver.steps.tools.views import ToolViews


class ToolRegistry:
    def __init__(self, views: ToolViews, origins: ToolOrigins = ATTACHED_SERVER) -> None:
        self.views = views
        self.origins = origins
        # Held while a list is learnt, which takes a while: lists are learnt in the order of arrival.
        self.learn_lock = anyio.Lock(fast_acquire=True)
        # Weak: a tool that no caller sees any more is forgotten.
        self._latest: WeakValueDictionary[str, Entry] = WeakValueDictionary()
        self._by_caller: CallerTools[ListedTools[Entry]] = CallerTools(ListedTools[Entry])

    async def learn(
        self,
        request: Request,
        tools: list[dict[str, Any]],
        generations: Mapping[ToolPlace, int],  # of `origins`, from before they were listed
        *,
        first: bool,
        last: bool,
    ) -> list[Entry]:
        """The entries of listed tools, which stay the same if nothing has changed; the caller holds `learn_lock`."""
        entries = await self._entries(tools)
        listed = self._by_caller.get_or_create(request.identity.caller)
        listed.learn({entry.name: entry for entry in entries}, generations, first=first, last=last)
        return entries

    def has(self, name: str) -> bool:
        return name in self._latest

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The input schema of a listed tool; `Mcp-Param-*` headers are checked by it."""
        entry = self._latest.get(name)
        return None if entry is None else entry.input_schema

    def listed_to(self, caller: Identity, name: str) -> Entry | None:
        """A tool as it was last listed to a caller."""
        listed = self._by_caller.find(caller.caller)
        return None if listed is None else listed.tools.get(name)

    def names_listed_to(self, caller: Identity) -> Collection[str]:
        """The tools as they were last listed to a caller."""
        listed = self._by_caller.find(caller.caller)
        return () if listed is None else listed.tools.keys()

    async def find(self, name: str, request: Request, call_next: Next) -> Entry | None:
        listed = self._by_caller.find(request.identity.caller)
        if self.views.have_files:
            self.views.refresh()
        if listed is not None and listed.are_of(self.origins.of(request, name)):
            entry = listed.tools.get(name)
            if entry is not None and (not self.views.have_files or self.views.are_current(entry)):
                return entry
        return await self.refresh(name, request, call_next)

    async def find_if_listed(self, name: str, request: Request, call_next: Next) -> Entry | None:
        """As `find`, but `None` if listing fails: a call that has run is answered all the same."""
        try:
            return await self.find(name, request, call_next)
        except JsonRpcError:
            return None

    async def refresh(self, name: str, request: Request, call_next: Next) -> Entry | None:
        """As `find`, from a new list."""
        server = self.origins.of(request, name).server
        generations = self.origins.generations(request)
        tools = [tool async for tool in all_tools(request, call_next, server)]
        async with self.learn_lock:
            entries = {entry.name: entry for entry in await self._entries(tools)}
            self._by_caller.get_or_create(request.identity.caller).replace(entries, generations, server, name)
        return entries.get(name)

    async def _entries(self, tools: list[dict[str, Any]]) -> list[Entry]:
        entries = await find_or_compute(tools, self._find_current, self._make_entry)
        self._latest.update({entry.name: entry for entry in entries})
        return entries

    def _find_current(self, tool: dict[str, Any]) -> Entry | None:
        entry = self._latest.get(tool["name"])
        return entry if entry is not None and entry.is_of(tool) and self.views.are_current(entry) else None

    def _make_entry(self, tool: dict[str, Any]) -> Entry:
        previous = self._latest.get(tool["name"])
        entry = self.views.entry(tool, previous)
        entry.stays_structured = previous is not None and previous.is_structured_in_lists
        return entry


async def all_tools(request: Request, call_next: Next, server: str | None = None) -> AsyncGenerator[dict[str, Any]]:
    """The tools of all pages, as listed to the caller, or of one server; none if the server has no list."""
    try:
        async for listed in tool_list_pages(request, call_next, server):
            for tool in cast("list[dict[str, Any]]", listed.get("tools") or []):
                yield tool
    except JsonRpcError as error:
        # A server may answer calls without a list.
        if error.code != METHOD_NOT_FOUND:
            raise


def tool_list_pages(request: Request, call_next: Next, server: str | None = None) -> AsyncGenerator[dict[str, Any]]:
    """The pages of the server's own list of tools for the current caller, whatever its request is."""
    request_meta = members(request.params.get("_meta"))
    # A call's projection may be malformed, and its `SERVER` does not choose the listed server.
    removed = (
        (PROJECTION, PROJECTION_LITERAL) if request.method == "tools/list" else (PROJECTION, PROJECTION_LITERAL, SERVER)
    )
    meta = {key: value for key, value in request_meta.items() if key not in removed}
    meta |= {} if server is None else {SERVER: server}
    is_live = request.is_live or request.method == "tools/call"

    async def request_page(place: dict[str, Any]) -> dict[str, Any]:
        params = {**({"_meta": meta} if meta else {}), **place}
        return await call_next(replace(request, method="tools/list", params=params, is_live=is_live))

    return pages(request_page)


S = TypeVar("S")
T = TypeVar("T")


class ListedTools(Generic[T]):
    """The tools that one caller sees, by name, and when they were listed."""

    def __init__(self) -> None:
        self.tools: dict[str, T] = {}
        # By place, from before the list. Several clients may be one caller: each has a place of its own.
        self._generations: dict[ToolPlace, int] = {}
        self._new_list: dict[str, T] | None = None
        self._new_generations: Mapping[ToolPlace, int] = {}

    def are_of(self, origin: ToolOrigin) -> bool:
        """Whether the tools of an origin are those that were listed."""
        return origin.place is not None and self._generations.get(origin.place) == origin.generation

    def learn(self, tools: Mapping[str, T], generations: Mapping[ToolPlace, int], *, first: bool, last: bool) -> None:
        """Add one page of a list; `first` and `last` say whether the list begins or ends with it."""
        if first:
            self._new_list, self._new_generations = {}, generations
        self._add(tools)
        if self._new_list is None:
            return
        self._new_list.update(tools)
        if last:
            self.replace(self._new_list, self._new_generations)
            self._new_list = None

    def replace(
        self, tools: dict[str, T], generations: Mapping[ToolPlace, int], server: str | None = None, wanted: str = ""
    ) -> None:
        """Take a whole list, or that of one server, in which a tool was looked for."""
        self._add(tools)
        gone = self.tools.keys() - tools.keys() if server is None else {wanted} - tools.keys()
        for name in gone & self.tools.keys():
            del self.tools[name]
            self.outdate()
        self._generations |= {place: each for place, each in generations.items() if server in (None, place.server)}
        if len(self._generations) > MAX_CALLERS:
            self._generations = dict(generations)

    def outdate(self) -> None:
        """Forget when the tools were listed: each server's may have changed."""
        self._generations.clear()

    def _add(self, tools: Mapping[str, T]) -> None:
        if any(self.tools.get(name) is not tool for name, tool in tools.items()):
            # Another client of the caller may have been listed others.
            self.outdate()
        self.tools.update(tools)


class CallerTools(Generic[S]):
    """Visible tools by caller; the least recently listed caller is forgotten."""

    def __init__(self, make: Callable[[], S]) -> None:
        self._make = make
        self._by_caller: OrderedDict[Hashable, S] = OrderedDict()

    def find(self, caller: Hashable) -> S | None:
        return self._by_caller.get(caller)

    def get_or_create(self, caller: Hashable) -> S:
        """The caller's tools, created on first use, and marked as recent."""
        tools = self._by_caller.get(caller)
        if tools is None:
            tools = self._by_caller[caller] = self._make()
        self._by_caller.move_to_end(caller)
        if len(self._by_caller) > MAX_CALLERS:
            self._by_caller.popitem(last=False)
        return tools
