"""The projection step: calls are projected, lists show what can be, and the opening announces it.

It also answers reads of projected schemas and of kept results; everything else passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from louver.concurrency.offload import found_or_made
from louver.core.json import compact, members
from louver.limits import MAX_ARGUMENT_SHARE, MIN_ARGUMENT_ROOM
from louver.protocol.capability import advertised
from louver.protocol.names import RESULT_TOOL, SERVER
from louver.protocol.query import queried
from louver.protocol.results import READ_RESULT
from louver.server.calls.call import ProjectedCalls
from louver.server.calls.declared_output import DeclaredAnswers
from louver.server.calls.response import NOTHING, Answers, Beside
from louver.server.calls.schema_resource import ProjectedSchemas, cached, is_projected_schema, own_list
from louver.server.recipient import declares_projection
from louver.server.results.results import is_kept_result
from louver.server.tools.listing import Listing, listed_tool
from louver.server.wire import envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from louver.catalogue.entry import Entry
    from louver.server.calls.request import Asking
    from louver.server.request import Next, Request
    from louver.server.results.read_resource import Rereads
    from louver.server.search import Search
    from louver.server.tools.registry import Tools


class ProjectionStep:
    """Routes each method to its handler; with `schemas` it shares projected schemas with other steps."""

    def __init__(
        self,
        server_info: dict[str, Any],
        tools: Tools,
        asking: Asking,
        listing: Listing,
        *,
        exact: bool = False,
        search: Search | None = None,
        schemas: ProjectedSchemas | None = None,
        beside: Beside = NOTHING,
        when_listed: Callable[[], None] = lambda: None,
    ) -> None:
        self._server_info = server_info
        self._when_listed = when_listed
        self._tools = tools
        self._asking = asking
        self._listing: Listing = listing
        self._exact = exact
        self._search = search
        self._schemas = schemas = ProjectedSchemas() if schemas is None else schemas
        self._listed: WeakKeyDictionary[Entry, _Listed] = WeakKeyDictionary()
        calls = ProjectedCalls(tools, asking, schemas, self._can_project, self._envelope)
        self._declared = DeclaredAnswers(tools, listing)
        self._call = Answers(calls, tools, beside, self._can_project, asking, listing)
        self._rereads = None
        if beside.results is not None:
            # Imported only now: most servers keep no results.
            from louver.server.results.read_resource import Rereads

            self._rereads = Rereads(beside.results, tools, schemas, self._envelope)

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "tools/call":
            if (rereads := await self._reads_result(request, call_next)) is not None:
                return await rereads.call(request, call_next)
            return await self._call(request, self._declared.before(call_next))
        if request.method == "tools/list":
            return await self._list(request, call_next)
        if request.method in ("resources/list", "resources/templates/list"):
            return await own_list(request, call_next, self._envelope(request))
        if is_projected_schema(request):
            return cached(self._schemas.read(request.params["uri"]), self._envelope(request), self._schemas.scope)
        if self._rereads is not None and is_kept_result(request) and request.connection.is_open:
            return await self._rereads.read(request, call_next)
        result = await call_next(request)
        if request.method in ("initialize", "server/discover"):
            capabilities = advertised(
                result.get("capabilities") or {},
                None if self._asking.argument == "off" else self._asking.name,
                readable=self._rereads is not None or declares_projection(request),
            )
            result = {**result, "capabilities": capabilities}
            return result if self._search is None else self._search.introduced(result)
        return result

    async def _reads_result(self, request: Request, call_next: Next) -> Rereads | None:
        """The handler of a call to `read_result`, unless the server has a tool of that name itself."""
        if self._rereads is None or request.params.get("name") != RESULT_TOOL:
            return None
        is_own = await self._tools.find_if_listed(RESULT_TOOL, request, call_next) is not None
        return None if is_own else self._rereads

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        list_tools = call_next if self._search is None else partial(self._search.list, call_next=call_next)
        result = await list_tools(request)
        self._tools.views.refresh()
        tools: list[dict[str, Any]] = result.get("tools") or []
        params = request.params
        is_search = self._search is not None and queried(params) is not None
        is_part = is_search or SERVER in members(params.get("_meta"))
        first, last = not (is_part or params.get("cursor")), not (is_part or result.get("nextCursor"))
        async with self._tools.in_order:
            entries = await self._tools.learn(request, tools, first=first, last=last)
            listed = await found_or_made(list(zip(tools, entries, strict=True)), self._known, self._made)
            self._listed.update(dict(zip(entries, listed, strict=True)))
        self._when_listed()
        # With descriptions on demand the argument does not lengthen the list.
        everywhere = self._exact or self._asking.argument == "all"
        without = set[str]() if everywhere else _without_argument(listed)
        is_model = not declares_projection(request)
        shown = [each.shown(is_model=is_model, has_argument=each.name not in without) for each in listed]
        is_end = not (is_search or result.get("nextCursor"))
        if self._rereads is not None and is_end and not self._tools.has(RESULT_TOOL):
            shown.append(READ_RESULT)
        return {**result, "tools": shown}

    def _known(self, each: tuple[dict[str, Any], Entry]) -> _Listed | None:
        tool, entry = each
        before = self._listed.get(entry)
        return before if before is not None and before.tool == tool else None

    def _made(self, each: tuple[dict[str, Any], Entry]) -> _Listed:
        tool, entry = each
        name = self._asking.argument_of(entry) if self._asking.offers_argument(entry) else None
        argument = None if name is None else (name, self._asking.argument_schema(entry))
        listed = listed_tool(tool, entry, self._listing, exact=self._exact, argument=argument)
        is_relaxed = self._listing == "relaxed" and entry.listing_schema is not None
        for_models = {**listed, "outputSchema": entry.listing_schema_for_models} if is_relaxed else listed
        return _Listed(
            tool,
            listed,
            for_models,
            size=len(compact([entry.name, tool.get("description"), entry.input_schema])),
            argument_size=0 if argument is None else len(compact({name: argument[1]})),
            rank=(not entry.views.named, -len(entry.leaf_fields), entry.name),
        )

    def _envelope(self, request: Request) -> dict[str, Any]:
        return envelope(self._server_info, request)

    def _can_project(self, request: Request) -> bool:
        """Whether this client may get projections: with a strict listing it must declare the extension."""
        return self._listing != "strict" or declares_projection(request)


@dataclass(frozen=True, slots=True)
class _Listed:
    tool: dict[str, Any]  # as the server lists it
    listed: dict[str, Any]  # for programs
    for_models: dict[str, Any]
    size: int  # characters that a model reads of it, without the argument
    argument_size: int  # characters of the argument; 0 if it takes none
    rank: tuple[bool, int, str]  # order in which tools get the argument while there is room

    @property
    def name(self) -> str:
        return self.rank[2]

    def shown(self, *, is_model: bool, has_argument: bool) -> dict[str, Any]:
        listed = self.for_models if is_model else self.listed
        return listed if has_argument else {**listed, "inputSchema": self.tool["inputSchema"]}


def _without_argument(listed: Sequence[_Listed]) -> set[str]:
    """Tools listed without the argument, which would make the list too long; their calls may still use it."""
    room = max(MIN_ARGUMENT_ROOM, MAX_ARGUMENT_SHARE * sum(each.size for each in listed))
    found: set[str] = set()
    for each in sorted(listed, key=lambda each: each.rank):
        # A tool with views keeps it: the caller of a default view must learn of the argument.
        if each.argument_size <= room or not each.rank[0]:
            room -= each.argument_size
        elif each.argument_size:
            found.add(each.name)
    return found
