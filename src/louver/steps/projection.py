"""The projection step: calls are projected, lists show what can be, and the opening announces it.

It also answers reads of kept results; everything else passes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from louver.catalogue.lean_schema import lean
from louver.concurrency.offload import find_or_compute
from louver.core.json import compact, members
from louver.steps.calls.call import ProjectedCalls
from louver.steps.calls.declared_output import DeclaredOutput
from louver.steps.calls.planning import Planning
from louver.steps.calls.response import NO_EXTRAS, CallResponses, ResponseExtras
from louver.steps.pages import envelope, list_or_empty
from louver.steps.recipient import declares_projection, recipient_of
from louver.steps.results.results import is_kept_result
from louver.steps.tools.listing import Listing, listed_tool, with_argument
from louver.wire.capability import advertised
from louver.wire.names import ARGUMENT, RESULT_TOOL, SERVER
from louver.wire.requests import queried
from louver.wire.results import READ_RESULT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from louver.catalogue.entry import Entry
    from louver.steps.calls.request import RequestOptions
    from louver.steps.recipient import Recipient
    from louver.steps.request import Next, Request
    from louver.steps.results.read_resource import ResultReader
    from louver.steps.results.results import Results
    from louver.steps.search import Search
    from louver.steps.tools.registry import ToolRegistry

MAX_ARGUMENT_SHARE = 0.065
MIN_ARGUMENT_ROOM = 500
"""Share of a tool list, or at least characters, that the argument may add. Past that, tools with few fields lack it.

A gateway adds at most what lean schemas save for a model of a known host, so that the list is never longer than the
server's own; but tools with views, or with large answers as counted, keep it.
"""


class ProjectionStep:
    """Routes each method to its handler; with `planning` it shares the budgets of plans with other steps."""

    methods: Final = (
        *("initialize", "server/discover", "tools/list", "tools/call"),
        *("resources/list", "resources/templates/list", "resources/read"),
    )

    def __init__(
        self,
        server_info: dict[str, Any],
        tools: ToolRegistry,
        request_options: RequestOptions,
        listing: Listing,
        *,
        exact: bool = False,
        search: Search | None = None,
        extras: ResponseExtras = NO_EXTRAS,
        when_listed: Callable[[], None] = lambda: None,
        planning: Planning | None = None,
    ) -> None:
        self._server_info = server_info
        self._when_listed = when_listed
        self._tools = tools
        self._request_options = request_options
        self._listing: Listing = listing
        self._exact = exact
        self._search = search
        self._listed_tools: WeakKeyDictionary[Entry, _ListedTool] = WeakKeyDictionary()
        planning = Planning() if planning is None else planning
        calls = ProjectedCalls(tools, request_options, self._can_project, self._envelope, planning)
        self._declared_output = DeclaredOutput(tools, listing) if tools.views.schemas else None
        self._responses = CallResponses(calls, tools, extras, self._can_project, request_options, listing)
        self._extras, self._planning = extras, planning
        self._result_reader: ResultReader | None = None if extras.results is None else self._reader_of(extras.results)

    def __call__(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]:
        if request.method != "tools/call":
            return self._answer(request, call_next)
        if request.params.get("name") == RESULT_TOOL and (reader := self._reader()) is not None:
            return self._read_result(reader, request, call_next)
        return self._call(request, call_next)

    def _reader(self) -> ResultReader | None:
        """What reads kept results, if any are kept."""
        overflow = self._extras.overflow
        if self._result_reader is None and overflow is not None and overflow.opened is not None:
            self._result_reader = self._reader_of(overflow.opened)
        return self._result_reader

    def _reader_of(self, results: Results) -> ResultReader:
        # Imported only now: most servers keep no results.
        from louver.steps.results.read_resource import ResultReader

        return ResultReader(results, self._tools, self._envelope, self._planning)

    def _call(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]:
        declared = self._declared_output
        return self._responses(request, call_next if declared is None else declared.wrap(call_next))

    async def _read_result(self, reader: ResultReader, request: Request, call_next: Next) -> dict[str, Any]:
        """The answer to a call of `read_result`, unless the server has a tool of that name itself."""
        if self._tools.has(RESULT_TOOL):
            return await self._call(request, call_next)
        return await reader.call(request, call_next)

    async def _answer(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "tools/list":
            return await self._list(request, call_next)
        if request.method in ("resources/list", "resources/templates/list") and self._extras.results is not None:
            return await list_or_empty(request, call_next, self._envelope(request))
        if is_kept_result(request) and request.connection.is_open and (reader := self._reader()) is not None:
            return await reader.read(request, call_next)
        result = await call_next(request)
        if request.method in ("initialize", "server/discover"):
            capabilities = advertised(
                result.get("capabilities") or {},
                None if self._request_options.argument == "off" else ARGUMENT,
                readable=self._extras.results is not None,
            )
            result = {**result, "capabilities": capabilities}
            if self._search is None:
                return result
            is_for_model = recipient_of(request).known_host is not None
            return self._search.add_to_handshake(result, is_for_model=is_for_model)
        return result

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        list_tools = call_next if self._search is None else partial(self._search.list, call_next=call_next)
        generations = self._tools.origins.generations(request)
        result = await list_tools(request)
        self._tools.views.refresh()
        tools: list[dict[str, Any]] = result.get("tools") or []
        params = request.params
        is_search = self._search is not None and queried(params) is not None
        is_partial = is_search or SERVER in members(params.get("_meta"))
        first, last = not (is_partial or params.get("cursor")), not (is_partial or result.get("nextCursor"))
        async with self._tools.learn_lock:
            entries = await self._tools.learn(request, tools, generations, first=first, last=last)
            listed = await find_or_compute(list(zip(tools, entries, strict=True)), self._find_listed, self._make_listed)
            self._listed_tools.update(dict(zip(entries, listed, strict=True)))
        self._when_listed()
        # With descriptions on demand the argument does not lengthen the list.
        is_argument_on_all = self._exact or self._request_options.argument == "all"
        recipient = recipient_of(request)
        without_argument = set[str]() if is_argument_on_all else self._names_without_argument(listed, recipient)
        client_tools = [each.shown(recipient, has_argument=each.name not in without_argument) for each in listed]
        is_end = not (is_search or result.get("nextCursor"))
        if is_end and self._lists_reader(recipient) and not self._tools.has(RESULT_TOOL):
            client_tools.append(READ_RESULT)
        return {**result, "tools": client_tools}

    def _lists_reader(self, recipient: Recipient) -> bool:
        overflow = self._extras.overflow
        return self._extras.results is not None or (overflow is not None and overflow.is_listed(recipient))

    def _find_listed(self, each: tuple[dict[str, Any], Entry]) -> _ListedTool | None:
        tool, entry = each
        before = self._listed_tools.get(entry)
        return before if before is not None and before.tool == tool else None

    def _make_listed(self, each: tuple[dict[str, Any], Entry]) -> _ListedTool:
        tool, entry = each
        name = self._request_options.argument_of(entry) if self._request_options.lists_argument(entry) else None
        argument = None if name is None else (name, self._request_options.argument_schema(entry))
        listed = listed_tool(tool, entry, self._listing, exact=self._exact)
        is_relaxed = self._listing == "relaxed" and entry.listing_schema is not None
        for_models = {**listed, "outputSchema": entry.listing_schema_for_models} if is_relaxed else listed
        # The caller of a default view must learn of the argument, and where answers are large it pays.
        is_needed = bool(entry.views.named) or self._request_options.has_large_answers(entry.name) is True
        rank = (not is_needed, -len(entry.leaf_fields))
        is_text = self._extras.toon or entry.lone_text is not None
        return _ListedTool(tool, listed, for_models, argument, rank, is_text=is_text)

    def _names_without_argument(self, listed: Sequence[_ListedTool], recipient: Recipient) -> set[str]:
        """Tools listed without the argument, which would make the list too long; their calls may still use it."""
        options = self._request_options
        room = max(MIN_ARGUMENT_ROOM, MAX_ARGUMENT_SHARE * sum(each.size for each in listed))
        is_bounded = recipient.known_host is not None and not options.may_lengthen
        if is_bounded:
            room = min(room, sum(each.saved for each in listed))
        found: set[str] = set()
        for each in sorted(listed, key=lambda each: each.rank):
            is_needed = not each.rank[0]
            can_pay = not is_bounded or options.has_large_answers(each.name) is not False
            if is_needed or (can_pay and each.argument_size <= room):
                room -= each.argument_size
            elif each.argument_size:
                found.add(each.name)
        return found

    def _envelope(self, request: Request) -> dict[str, Any]:
        return envelope(self._server_info, request)

    def _can_project(self, request: Request) -> bool:
        """Whether this client may get projections: with a strict listing it must declare the extension."""
        return self._listing != "strict" or declares_projection(request)


class _ListedTool:
    """A tool as the server lists it, and as its clients see it; `rank` is the order in which tools get the argument."""

    def __init__(
        self,
        tool: dict[str, Any],
        for_programs: dict[str, Any],
        for_models: dict[str, Any],
        argument: tuple[str, dict[str, Any]] | None,
        rank: tuple[bool, int],
        *,
        is_text: bool,
    ) -> None:
        self.tool = tool
        self.name: str = tool["name"]
        self.rank = (*rank, self.name)
        # Characters that a model reads of it.
        self.size = len(compact([self.name, tool.get("description"), tool["inputSchema"]]))
        self.argument_size = 0 if argument is None else len(compact(dict([argument])))
        self._for_programs, self._for_models = for_programs, for_models
        self._argument = argument
        self._lean_schema = lean(tool["inputSchema"])
        # Characters that it saves.
        self.saved = len(compact(tool["inputSchema"])) - len(compact(self._lean_schema))
        self._is_text = is_text

    def shown(self, recipient: Recipient, *, has_argument: bool) -> dict[str, Any]:
        listed = self._for_programs if recipient.is_program else self._for_models
        schema = self._lean_schema if recipient.known_host else self.tool["inputSchema"]
        if has_argument and self._argument is not None:
            schema = with_argument(schema, self._argument)
        listed = {**listed, "inputSchema": schema}
        if self._is_text and recipient.takes_text_for_structure:
            # The answer may be a text alone, and clients want structured content where an output schema is listed.
            listed.pop("outputSchema", None)
        return listed
