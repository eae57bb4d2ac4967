"""Attach projection, search and descriptions on demand to one MCP server, from outside.

The middleware becomes the server's outermost one: the SDK drops members that its models do not know, so only additions
made there reach the wire. A lowlevel server that declares no input schemas answers with those from its last list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast, get_args
from weakref import WeakKeyDictionary

from mcp.server import MCPServer, Server

from louver.catalogue.guidance import Guidance, Rule
from louver.concurrency.offload import found_or_made
from louver.core.choices import check_choice
from louver.core.json import compact, members
from louver.errors import LouverError
from louver.limits import MAX_ARGUMENT_SHARE, MIN_ARGUMENT_ROOM, QUERIES_PER_MINUTE, READS_PER_MINUTE
from louver.protocol.capability import advertised
from louver.protocol.names import RESULT_TOOL, SERVER
from louver.protocol.query import queried
from louver.protocol.results import READ_RESULT
from louver.server.calls.call import ProjectedCalls
from louver.server.calls.declared_output import DeclaredAnswers
from louver.server.calls.request import Asking
from louver.server.calls.response import NOTHING, Answers, Beside
from louver.server.calls.schema_resource import ProjectedSchemas, cached, is_projected_schema, own_list
from louver.server.calls.warnings import Warnings
from louver.server.identity import connection
from louver.server.recipient import declares_projection
from louver.server.results.results import KeptResults, Results, is_kept_result
from louver.server.tools.listing import Listing, listed_tool
from louver.server.tools.registry import Tools
from louver.server.tools.views import ToolViews
from louver.server.wire import envelope, result_dict

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

    from louver.catalogue.entry import Entry
    from louver.server.disclosure.middleware import Disclosure, Mode
    from louver.server.results.read_resource import Rereads
    from louver.server.search import Search


def attach(
    server: MCPServer[Any] | Server[Any],
    *,
    views: str | PathLike[str] | Mapping[str, Mapping[str, Any]] | None = None,
    argument: bool = False,
    default_views: Mapping[str, str] | None = None,
    listing: Listing = "relaxed",
    exact: bool = False,
    disclosure: Mode = "off",
    descriptions: str | PathLike[str] | None = None,
    keys: Sequence[bytes | str] = (),
    reads_per_minute: int = READS_PER_MINUTE,
    search: bool = False,
    queries_per_minute: int = QUERIES_PER_MINUTE,
    guidance: Sequence[Mapping[str, Any]] = (),
    warnings: bool | Warnings = False,
    results: KeptResults | None = None,
) -> None:
    """Give clients of `server` projections, and optionally search, descriptions on demand, warnings and kept results.

    Args:
        server: An `MCPServer` or a lowlevel `Server` that does not serve yet.
        views: A folder of `<tool>.views.json`, or tool name -> views; they are added to the views of `hint`.
        argument: Whether tools take the argument `output_fields`, for models: these cannot set `_meta`.
        default_views: Tool name -> the view for calls without a request.
        listing: The output schema in `tools/list`. Stock clients accept projections with `relaxed` and `omit`;
            with `strict` only clients that declare the extension get them.
        exact: Whether each tool's `_meta` holds the exact output schema, which doubles the list.
        disclosure: `off` lists tools in full, all others by a summary. `enforce` runs a tool only after its caller
            has read the full description, `on-error` if the arguments fit it, `advise` always.
        descriptions: A folder of `<tool>.json`, which extend the descriptions.
        keys: Secrets of 32 bytes or more, the same for all workers that serve the same clients.
        reads_per_minute: Description reads allowed per caller and minute.
        search: Whether `tools/list` takes a `query`.
        queries_per_minute: Searches allowed per caller and minute.
        guidance: Rules that add notes to answers (`louver.catalogue.guidance`).
        warnings: Whether large answers get a warning, or the sizes above which they do.
        results: Which answers are stored instead of sent, and where; none by default.

    Raises:
        LouverError: Projection is attached to this server already, or an option is invalid.
        InvalidView: A view, or a file of views, is malformed. Views are checked against the tools' schemas when an
            `MCPServer` starts, and when a lowlevel server is first listed.
        InvalidDescription: A file of descriptions is malformed.
        InvalidGuidance: A rule is malformed. Its tool is looked up when an `MCPServer` starts.
    """
    check_options(locals())
    lowlevel = server._lowlevel_server if isinstance(server, MCPServer) else server  # pyright: ignore[reportPrivateUsage]
    if any(isinstance(middleware, _Attached) for middleware in lowlevel.middleware):
        raise LouverError("projection is attached to this server already: attach once, with all options")
    check_choice("listing", listing, get_args(Listing))
    tool_views = ToolViews(views, default_views or {})
    asking = Asking("projectable" if argument else "off", default_views or {})
    disclosing = None
    if disclosure != "off":
        # Imported only now: most servers list everything.
        from louver.server.disclosure.middleware import disclosing_of

        disclosing = disclosing_of(lowlevel, disclosure, descriptions, keys, reads_per_minute)
    # Descriptions hold the exact output schema, and are made from this list.
    exact = exact or disclosing is not None
    searching = _search(queries_per_minute) if search else None
    beside = _beside(guidance, warnings, results)
    lowlevel.middleware.insert(
        0, projecting(lowlevel, tool_views, asking, listing, exact=exact, search=searching, beside=beside)
    )
    if disclosing is not None:
        lowlevel.middleware.insert(0, disclosing)
    if isinstance(server, MCPServer):
        _check_on_start(server, lowlevel, tool_views, disclosing, beside.guidance)


def projecting(
    server: Server[Any],
    views: ToolViews,
    asking: Asking,
    listing: Listing,
    *,
    exact: bool = False,
    search: Search | None = None,
    schemas: ProjectedSchemas | None = None,
    beside: Beside = NOTHING,
) -> ServerMiddleware[Any]:
    """The projection middleware; with `schemas` it shares its projected schemas with other middleware."""
    kept = ProjectedSchemas() if schemas is None else schemas
    return _Attached(server, Tools(views), asking, listing, kept, exact=exact, search=search, beside=beside)


def _beside(guidance: Sequence[Mapping[str, Any]], warnings: bool | Warnings, results: KeptResults | None) -> Beside:
    return Beside(
        guidance=Guidance({"": [Rule.read(rule) for rule in guidance]}) if guidance else None,
        warnings=Warnings() if warnings is True else warnings or None,
        results=None if results is None else Results(results),
    )


def _search(per_minute: int) -> Search:
    # Imported only now: without search SQLite is not needed.
    from louver.server.search import Search

    return Search(per_minute=per_minute)


class _Attached:
    """The middleware: routes each method to its handler."""

    def __init__(
        self,
        server: Server[Any],
        tools: Tools,
        asking: Asking,
        listing: Listing,
        schemas: ProjectedSchemas,
        *,
        exact: bool,
        search: Search | None,
        beside: Beside,
    ) -> None:
        self._server = server
        self._tools = tools
        self._asking = asking
        self._listing: Listing = listing
        self._exact = exact
        self._search = search
        self._schemas = schemas
        self._listed: WeakKeyDictionary[Entry, _Listed] = WeakKeyDictionary()
        calls = ProjectedCalls(tools, asking, schemas, self._can_project, self._envelope)
        self._declared = DeclaredAnswers(tools, listing)
        self._call = Answers(calls, tools, beside, self._can_project, asking, listing)
        self._rereads = None
        if beside.results is not None:
            # Imported only now: most servers keep no results.
            from louver.server.results.read_resource import Rereads

            self._rereads = Rereads(beside.results, tools, schemas, self._envelope)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "tools/call":
            if (rereads := await self._reads_result(ctx, call_next)) is not None:
                return await rereads.call(ctx, call_next)
            return await self._call(ctx, self._declared.before(call_next))
        if ctx.method == "tools/list":
            return await self._list(ctx, call_next)
        if ctx.method in ("resources/list", "resources/templates/list"):
            return await own_list(ctx, call_next, self._envelope(ctx))
        if is_projected_schema(ctx):
            return cached(self._schemas.read((ctx.params or {})["uri"]), self._envelope(ctx), self._schemas.scope)
        if self._rereads is not None and is_kept_result(ctx) and connection(ctx).initialize_accepted:
            return await self._rereads.read(ctx, call_next)
        result = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover"):
            said = result_dict(result)
            capabilities = advertised(
                said.get("capabilities") or {},
                None if self._asking.argument == "off" else self._asking.name,
                readable=self._rereads is not None or declares_projection(ctx),
            )
            said = {**said, "capabilities": capabilities}
            return said if self._search is None else self._search.introduced(said)
        return result

    async def _reads_result(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Rereads | None:
        """The handler of a call to `read_result`, unless the server has a tool of that name itself."""
        if self._rereads is None or (ctx.params or {}).get("name") != RESULT_TOOL:
            return None
        is_own = await self._tools.find_if_listed(RESULT_TOOL, ctx, call_next) is not None
        return None if is_own else self._rereads

    async def _list(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        list_tools = call_next if self._search is None else partial(self._search.list, call_next=call_next)
        result = result_dict(await list_tools(ctx))
        self._tools.views.refresh()
        tools: list[dict[str, Any]] = result.get("tools") or []
        params = ctx.params or {}
        is_search = self._search is not None and queried(params) is not None
        is_part = is_search or SERVER in members(params.get("_meta"))
        first, last = not (is_part or params.get("cursor")), not (is_part or result.get("nextCursor"))
        async with self._tools.in_order:
            entries = await self._tools.learn(tools, first=first, last=last)
            listed = await found_or_made(list(zip(tools, entries, strict=True)), self._known, self._made)
            self._listed.update(dict(zip(entries, listed, strict=True)))
        if self._server.get_tool_input_schema is None:
            # Without this the SDK lists all tools on every call of 2026-07-28 over HTTP.
            self._server.get_tool_input_schema = self._tools.input_schema
        # With descriptions on demand the argument does not lengthen the list.
        everywhere = self._exact or self._asking.argument == "all"
        without = set[str]() if everywhere else _without_argument(listed)
        is_model = not declares_projection(ctx)
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

    def _envelope(self, ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        return envelope(self._server, ctx.protocol_version)

    def _can_project(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        """Whether this client may get projections: with a strict listing it must declare the extension."""
        return self._listing != "strict" or declares_projection(ctx)


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


def _check_on_start(
    server: MCPServer[Any],
    lowlevel: Server[Any],
    views: ToolViews,
    disclosing: Disclosure | None,
    guidance: Guidance | None,
) -> None:
    serve = lowlevel.lifespan

    @asynccontextmanager
    async def lifespan(app: Server[Any]) -> AsyncGenerator[Any]:
        tools = await server.list_tools()
        for tool in tools:
            views.check(tool.model_dump(by_alias=True, mode="json", exclude_none=True))
        names = {tool.name for tool in tools}
        views.check_names(names)
        if disclosing is not None:
            disclosing.check_names(names)
        if guidance is not None:
            guidance.check_names(names)
        async with serve(app) as state:
            yield state

    lowlevel.lifespan = lifespan


def check_options(given: Mapping[str, object]) -> None:
    """Check the types of the options; `given` holds them by name, and the server."""
    for option, known in _OPTIONS.items():
        said = given[option]
        # A string is a sequence of strings, and bytes are one of numbers.
        is_one_text = isinstance(said, str | bytes) and str not in known.kinds
        if not isinstance(said, known.kinds) or is_one_text:
            raise _unfit(repr(option), known.expected, said)
        if known.of is None:
            continue
        if isinstance(said, Mapping):
            for name, each in cast("Mapping[object, object]", said).items():
                _check_part(f"{option!r} of {name!r}", known.of, each)
        elif isinstance(said, list | tuple):
            for each in cast("Sequence[object]", said):
                _check_part(f"each of {option!r}", known.of, each)


class _Kind(NamedTuple):
    kinds: tuple[type, ...]
    expected: str  # for the error message
    of: _Kind | None = None  # of its elements or members


_SWITCH: Final = _Kind((bool,), "True or False")
_NUMBER: Final = _Kind((int,), "a number")
_FOLDER: Final = _Kind((str, PathLike, NoneType), "the path to a folder")
_FIELDS: Final = _Kind((Mapping,), "a name of each view with its fields, for example {'minimal': ['id']}")
_OPTIONS: Final = {
    "server": _Kind((MCPServer, Server), "an `MCPServer` or a lowlevel `Server` of the MCP SDK"),
    "views": _Kind((str, PathLike, Mapping, NoneType), "the path to a folder, or tools with their views", _FIELDS),
    "argument": _SWITCH,
    "default_views": _Kind((Mapping, NoneType), "tools with a view each", _Kind((str,), "the name of a view")),
    "exact": _SWITCH,
    "descriptions": _FOLDER,
    "keys": _Kind((Sequence,), "a list of secrets", _Kind((str, bytes), "a text, or bytes")),
    "reads_per_minute": _NUMBER,
    "search": _SWITCH,
    "queries_per_minute": _NUMBER,
    "guidance": _Kind((Sequence,), "a list of rules"),
    "warnings": _Kind((bool, Warnings), "True, False or a `Warnings`"),
    "results": _Kind((KeptResults, NoneType), "a `KeptResults`"),
}


def _check_part(what: str, known: _Kind, said: object) -> None:
    if not isinstance(said, known.kinds):
        raise _unfit(what, known.expected, said)


def _unfit(what: str, expected: str, said: object) -> LouverError:
    return LouverError(f"{what} is {expected}, not of type {type(said).__name__!r}")
