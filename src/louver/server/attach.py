"""Giving projection, search, and descriptions on demand to one MCP server, from outside.

::

    server = MCPServer("profiles")

    @server.tool(meta=louver.hint(views={"minimal": ["id", "name"]}))
    def get_user_profile(user_id: int) -> UserProfile: ...

    louver.attach(server)

A middleware stands before the server, outermost, because only what is added there
reaches the wire (the SDK drops members that its models do not know). It looks at the
opening, at tools, and at reads of projected schemas, and passes everything else on. An
`MCPServer` also checks its views when it starts, and a lowlevel server that does not say its
input schemas answers from what it listed.
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
from louver.server.sdk_internals import lowlevel_of
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
    """Let clients of `server` ask for projections, search its tools, and read their descriptions when they need them.

    Args:
        server: An `MCPServer` or a lowlevel `Server`, not yet serving.
        views: A folder of `<tool>.views.json`, or tool name -> views; beside the views of `hint`.
        argument: Whether tools take the argument `output_fields`: models cannot set `_meta`.
        default_views: Tool name -> the view that a call without a request gets.
        listing: What `tools/list` shows as output schema; stock clients accept projections with
            `relaxed` and `omit`. With `strict` only clients that declare the extension get them.
        exact: Whether the exact output schema stands in each tool's `_meta`; it doubles the list.
        disclosure: `enforce` lists each tool by a summary, and runs it only for who has read its full
            description; `advise` runs it for everybody; `off` lists everything.
        descriptions: A folder of `<tool>.json`, which add to the descriptions.
        keys: Secrets of 32 bytes or more, the same for all workers that serve the same clients.
        reads_per_minute: How often one caller may read descriptions.
        search: Whether `tools/list` takes a `query`.
        queries_per_minute: How often one caller may search.
        guidance: Rules of what is said of an answer, and when (`louver.catalogue.guidance`).
        warnings: Whether is warned of large answers, or over which size.
        results: Which answers are kept instead of sent, if any, and where.

    Raises:
        LouverError: Projection is attached to this server already, or an option cannot be.
        InvalidView: A file of views, or a view, is not well formed. Whether views fit the tools'
            schemas is checked when an `MCPServer` starts, and when a lowlevel server is first listed.
        InvalidDescription: A file of descriptions is not well formed.
        InvalidGuidance: A rule is not well formed. Whether its tool is there is checked when an `MCPServer` starts.
    """
    check_options(locals())
    lowlevel = lowlevel_of(server) if isinstance(server, MCPServer) else server
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
    # A description has the exact output schema, wherever the list has it.
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
    """The middleware that gives projection to what stands behind it.

    Args:
        server: The server.
        views: Makes the entries of its tools.
        asking: How calls can ask.
        listing: What `tools/list` shows as output schema.
        exact: Whether the exact output schema stands in each tool's `_meta`.
        search: Answers queries for tools, if they are.
        schemas: Keeps the schemas that answers name, if others keep theirs there too.
        beside: What is wanted beside answers, or instead of them.
    """
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
    """The middleware: which method goes to whom."""

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
        """What answers a call, if it is one of the tool that reads kept results."""
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
        # Where descriptions are read on demand, it is not the list that grows.
        everywhere = self._exact or self._asking.argument == "all"
        without = set[str]() if everywhere else _without_argument(listed)
        is_model = not declares_projection(ctx)
        shown = [each.shown(is_model=is_model, has_argument=each.name not in without) for each in listed]
        is_end = not (is_search or result.get("nextCursor"))
        if self._rereads is not None and is_end and not self._tools.has(RESULT_TOOL):
            shown.append(READ_RESULT)
        return {**result, "tools": shown}

    def _known(self, each: tuple[dict[str, Any], Entry]) -> _Listed | None:
        """A tool and how it was listed, if it is as it was then."""
        tool, entry = each
        before = self._listed.get(entry)
        return before if before is not None and before.tool == tool else None

    def _made(self, each: tuple[dict[str, Any], Entry]) -> _Listed:
        """A tool and how it is listed."""
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
        """Whether this client may get projections: with a strict listing it must have declared them."""
        return self._listing != "strict" or declares_projection(ctx)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A tool, and how it was listed.

    Args:
        tool: As the server lists it.
        listed: To programs.
        for_models: To models.
        size: The characters of what a model reads of it, without the argument.
        argument_size: Those of the argument; 0 if it takes none.
        rank: Which tools have the argument first where not all can.
    """

    tool: dict[str, Any]
    listed: dict[str, Any]
    for_models: dict[str, Any]
    size: int
    argument_size: int
    rank: tuple[bool, int, str]

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.rank[2]

    def shown(self, *, is_model: bool, has_argument: bool) -> dict[str, Any]:
        """The tool as it is listed."""
        listed = self.for_models if is_model else self.listed
        return listed if has_argument else {**listed, "inputSchema": self.tool["inputSchema"]}


def _without_argument(listed: Sequence[_Listed]) -> set[str]:
    """The names of tools that go without the argument, for it would make the list too much longer.

    A call of such a tool may have it all the same.
    """
    room = max(MIN_ARGUMENT_ROOM, MAX_ARGUMENT_SHARE * sum(each.size for each in listed))
    found: set[str] = set()
    for each in sorted(listed, key=lambda each: each.rank):
        # Who gets a view without having asked must be told of the argument.
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
    """Hold views, descriptions and rules against the tools before the first client is served."""
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
    """See that each option is of a kind that it can be.

    Args:
        given: The options by their names, and the server.

    Raises:
        LouverError: One is not.
    """
    for option, known in _OPTIONS.items():
        said = given[option]
        # A text is a sequence of texts, and bytes of numbers.
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
    """What something can be.

    Args:
        kinds: Its types.
        expected: What these are, for who is to write one.
        of: Likewise, what is in it.
    """

    kinds: tuple[type, ...]
    expected: str
    of: _Kind | None = None


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
