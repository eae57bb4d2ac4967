"""Attach projection, search and descriptions on demand to one MCP server, from outside.

The middleware becomes the server's outermost one: the SDK drops members that its models do not know, so only additions
made there reach the wire. A lowlevel server that declares no input schemas answers with those from its last list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast, get_args

from mcp.server import MCPServer, Server

from louver.catalogue.guidance import Guidance, Rule
from louver.core.choices import check_choice
from louver.errors import LouverError
from louver.limits import QUERIES_PER_MINUTE, READS_PER_MINUTE
from louver.server.calls.request import Asking
from louver.server.calls.response import Beside
from louver.server.calls.warnings import Warnings
from louver.server.projection import ProjectionStep
from louver.server.results.results import KeptResults, Results
from louver.server.sdk import StepMiddleware
from louver.server.sdk_internals import lowlevel_of
from louver.server.tools.listing import Listing
from louver.server.tools.registry import Tools
from louver.server.tools.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from louver.server.disclosure.middleware import Disclosure, Mode
    from louver.server.request import Step
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
    lowlevel = lowlevel_of(server) if isinstance(server, MCPServer) else server
    if any(isinstance(middleware, StepMiddleware) for middleware in lowlevel.middleware):
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
    tools = Tools(tool_views)

    def when_listed() -> None:
        if lowlevel.get_tool_input_schema is None:
            # Without it the SDK lists all tools on every call of 2026-07-28 over HTTP.
            lowlevel.get_tool_input_schema = tools.input_schema

    step = ProjectionStep(
        lowlevel.server_info_stamp,
        tools,
        asking,
        listing,
        exact=exact,
        search=searching,
        beside=beside,
        when_listed=when_listed,
    )
    steps: list[Step] = [step] if disclosing is None else [disclosing, step]
    lowlevel.middleware.insert(0, StepMiddleware(steps))
    if isinstance(server, MCPServer):
        _check_on_start(server, lowlevel, tool_views, disclosing, beside.guidance)


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
