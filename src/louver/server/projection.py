"""The projection step: calls are projected, lists show what can be, and the opening announces it.

It also answers reads of projected schemas and of kept results; everything else passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from louver.concurrency.offload import find_or_compute
from louver.core.json import compact, members
from louver.limits import MAX_ARGUMENT_SHARE, MIN_ARGUMENT_ROOM
from louver.protocol.capability import advertised
from louver.protocol.names import RESULT_TOOL, SERVER
from louver.protocol.query import queried
from louver.protocol.results import READ_RESULT
from louver.server.calls.call import ProjectedCalls
from louver.server.calls.declared_output import DeclaredOutput
from louver.server.calls.response import NO_EXTRAS, CallResponses, ResponseExtras
from louver.server.calls.schema_resource import ProjectedSchemas, is_projected_schema, list_or_empty, with_cache_hints
from louver.server.recipient import declares_projection
from louver.server.results.results import is_kept_result
from louver.server.tools.listing import Listing, listed_tool
from louver.server.wire import envelope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from louver.catalogue.entry import Entry
    from louver.server.calls.request import RequestOptions
    from louver.server.request import Next, Request
    from louver.server.results.read_resource import ResultReader
    from louver.server.search import Search
    from louver.server.tools.registry import ToolRegistry


class ProjectionStep:
    """Routes each method to its handler; with `schemas` it shares projected schemas with other steps."""

    def __init__(
        self,
        server_info: dict[str, Any],
        tools: ToolRegistry,
        request_options: RequestOptions,
        listing: Listing,
        *,
        exact: bool = False,
        search: Search | None = None,
        schemas: ProjectedSchemas | None = None,
        extras: ResponseExtras = NO_EXTRAS,
        when_listed: Callable[[], None] = lambda: None,
    ) -> None:
        self._server_info = server_info
        self._when_listed = when_listed
        self._tools = tools
        self._request_options = request_options
        self._listing: Listing = listing
        self._exact = exact
        self._search = search
        self._schemas = schemas = ProjectedSchemas() if schemas is None else schemas
        self._listed_tools: WeakKeyDictionary[Entry, _ListedTool] = WeakKeyDictionary()
        calls = ProjectedCalls(tools, request_options, schemas, self._can_project, self._envelope)
        self._declared_output = DeclaredOutput(tools, listing) if tools.views.schemas else None
        self._responses = CallResponses(calls, tools, extras, self._can_project, request_options, listing)
        self._result_reader = None
        if extras.results is not None:
            # Imported only now: most servers keep no results.
            from louver.server.results.read_resource import ResultReader

            self._result_reader = ResultReader(extras.results, tools, schemas, self._envelope)

    def __call__(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]:
        if request.method != "tools/call":
            return self._answer(request, call_next)
        if self._result_reader is not None and request.params.get("name") == RESULT_TOOL:
            return self._read_result(self._result_reader, request, call_next)
        return self._call(request, call_next)

    def _call(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]:
        declared = self._declared_output
        return self._responses(request, call_next if declared is None else declared.wrap(call_next))

    async def _read_result(self, reader: ResultReader, request: Request, call_next: Next) -> dict[str, Any]:
        """The answer to a call of `read_result`, unless the server has a tool of that name itself."""
        if await self._tools.find_if_listed(RESULT_TOOL, request, call_next) is not None:
            return await self._call(request, call_next)
        return await reader.call(request, call_next)

    async def _answer(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "tools/list":
            return await self._list(request, call_next)
        if request.method in ("resources/list", "resources/templates/list"):
            return await list_or_empty(request, call_next, self._envelope(request))
        if is_projected_schema(request):
            return with_cache_hints(
                self._schemas.read(request.params["uri"]), self._envelope(request), self._schemas.scope
            )
        if self._result_reader is not None and is_kept_result(request) and request.connection.is_open:
            return await self._result_reader.read(request, call_next)
        result = await call_next(request)
        if request.method in ("initialize", "server/discover"):
            capabilities = advertised(
                result.get("capabilities") or {},
                None if self._request_options.argument == "off" else self._request_options.name,
                readable=self._result_reader is not None or declares_projection(request),
            )
            result = {**result, "capabilities": capabilities}
            return result if self._search is None else self._search.add_to_handshake(result)
        return result

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        list_tools = call_next if self._search is None else partial(self._search.list, call_next=call_next)
        result = await list_tools(request)
        self._tools.views.refresh()
        tools: list[dict[str, Any]] = result.get("tools") or []
        params = request.params
        is_search = self._search is not None and queried(params) is not None
        is_partial = is_search or SERVER in members(params.get("_meta"))
        first, last = not (is_partial or params.get("cursor")), not (is_partial or result.get("nextCursor"))
        async with self._tools.learn_lock:
            entries = await self._tools.learn(request, tools, first=first, last=last)
            listed = await find_or_compute(list(zip(tools, entries, strict=True)), self._find_listed, self._make_listed)
            self._listed_tools.update(dict(zip(entries, listed, strict=True)))
        self._when_listed()
        # With descriptions on demand the argument does not lengthen the list.
        is_argument_on_all = self._exact or self._request_options.argument == "all"
        without_argument = set[str]() if is_argument_on_all else _names_without_argument(listed)
        is_model = not declares_projection(request)
        client_tools = [
            each.shown(is_model=is_model, has_argument=each.name not in without_argument) for each in listed
        ]
        is_end = not (is_search or result.get("nextCursor"))
        if self._result_reader is not None and is_end and not self._tools.has(RESULT_TOOL):
            client_tools.append(READ_RESULT)
        return {**result, "tools": client_tools}

    def _find_listed(self, each: tuple[dict[str, Any], Entry]) -> _ListedTool | None:
        tool, entry = each
        before = self._listed_tools.get(entry)
        return before if before is not None and before.tool == tool else None

    def _make_listed(self, each: tuple[dict[str, Any], Entry]) -> _ListedTool:
        tool, entry = each
        name = self._request_options.argument_of(entry) if self._request_options.lists_argument(entry) else None
        argument = None if name is None else (name, self._request_options.argument_schema(entry))
        listed = listed_tool(tool, entry, self._listing, exact=self._exact, argument=argument)
        is_relaxed = self._listing == "relaxed" and entry.listing_schema is not None
        for_models = {**listed, "outputSchema": entry.listing_schema_for_models} if is_relaxed else listed
        return _ListedTool(
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
class _ListedTool:
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


def _names_without_argument(listed: Sequence[_ListedTool]) -> set[str]:
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
