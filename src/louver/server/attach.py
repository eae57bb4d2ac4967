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

from louver.catalogue.guidance import Guidance, GuidanceRule
from louver.core.choices import check_choice
from louver.errors import LouverError
from louver.limits import QUERIES_PER_MINUTE, READS_PER_MINUTE
from louver.server.calls.request import RequestOptions
from louver.server.calls.response import ResponseExtras
from louver.server.calls.warnings import Warnings
from louver.server.projection import ProjectionStep
from louver.server.results.results import KeptResults, Results
from louver.server.sdk import StepMiddleware
from louver.server.sdk_internals import lowlevel_of
from louver.server.tools.listing import Listing
from louver.server.tools.registry import ToolRegistry
from louver.server.tools.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from louver.server.disclosure.middleware import Disclosure, DisclosureMode
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
    disclosure: DisclosureMode = "off",
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
    request_options = RequestOptions("projectable" if argument else "off", default_views or {})
    disclosure_middleware = None
    if disclosure != "off":
        # Imported only now: most servers list everything.
        from louver.server.disclosure.middleware import build_disclosure

        disclosure_middleware = build_disclosure(lowlevel, disclosure, descriptions, keys, reads_per_minute)
    # Descriptions hold the exact output schema, and are made from this list.
    exact = exact or disclosure_middleware is not None
    tool_search = _build_search(queries_per_minute) if search else None
    extras = _response_extras(guidance, warnings, results)
    tools = ToolRegistry(tool_views)

    def when_listed() -> None:
        if lowlevel.get_tool_input_schema is None:
            # Without it the SDK lists all tools on every call of 2026-07-28 over HTTP.
            lowlevel.get_tool_input_schema = tools.input_schema

    step = ProjectionStep(
        lowlevel.server_info_stamp,
        tools,
        request_options,
        listing,
        exact=exact,
        search=tool_search,
        extras=extras,
        when_listed=when_listed,
    )
    steps: list[Step] = [step] if disclosure_middleware is None else [disclosure_middleware, step]
    lowlevel.middleware.insert(0, StepMiddleware(steps))
    if isinstance(server, MCPServer):
        _check_on_start(server, lowlevel, tool_views, disclosure_middleware, extras.guidance)


def _response_extras(
    guidance: Sequence[Mapping[str, Any]], warnings: bool | Warnings, results: KeptResults | None
) -> ResponseExtras:
    return ResponseExtras(
        guidance=Guidance({"": [GuidanceRule.read(rule) for rule in guidance]}) if guidance else None,
        warnings=Warnings() if warnings is True else warnings or None,
        results=None if results is None else Results(results),
    )


def _build_search(per_minute: int) -> Search:
    # Imported only now: without search SQLite is not needed.
    from louver.server.search import Search

    return Search(per_minute=per_minute)


def _check_on_start(
    server: MCPServer[Any],
    lowlevel: Server[Any],
    views: ToolViews,
    disclosure: Disclosure | None,
    guidance: Guidance | None,
) -> None:
    inner_lifespan = lowlevel.lifespan

    @asynccontextmanager
    async def lifespan(app: Server[Any]) -> AsyncGenerator[Any]:
        tools = await server.list_tools()
        for tool in tools:
            views.check(tool.model_dump(by_alias=True, mode="json", exclude_none=True))
        names = {tool.name for tool in tools}
        views.check_names(names)
        if disclosure is not None:
            disclosure.check_names(names)
        if guidance is not None:
            guidance.check_names(names)
        async with inner_lifespan(app) as state:
            yield state

    lowlevel.lifespan = lifespan


def check_options(options: Mapping[str, object]) -> None:
    """Check the types of the options; `given` holds them by name, and the server."""
    for option, option_type in _OPTIONS.items():
        value = options[option]
        # A string is a sequence of strings, and bytes are one of numbers.
        is_single_text = isinstance(value, str | bytes) and str not in option_type.types
        if not isinstance(value, option_type.types) or is_single_text:
            raise _invalid_option(repr(option), option_type.expected, value)
        if option_type.element is None:
            continue
        if isinstance(value, Mapping):
            for name, each in cast("Mapping[object, object]", value).items():
                _check_element(f"{option!r} of {name!r}", option_type.element, each)
        elif isinstance(value, list | tuple):
            for each in cast("Sequence[object]", value):
                _check_element(f"each of {option!r}", option_type.element, each)


class _OptionType(NamedTuple):
    types: tuple[type, ...]
    expected: str  # for the error message
    element: _OptionType | None = None  # of its elements or members


_SWITCH: Final = _OptionType((bool,), "True or False")
_NUMBER: Final = _OptionType((int,), "a number")
_FOLDER: Final = _OptionType((str, PathLike, NoneType), "the path to a folder")
_FIELDS: Final = _OptionType((Mapping,), "a name of each view with its fields, for example {'minimal': ['id']}")
_OPTIONS: Final = {
    "server": _OptionType((MCPServer, Server), "an `MCPServer` or a lowlevel `Server` of the MCP SDK"),
    "views": _OptionType(
        (str, PathLike, Mapping, NoneType), "the path to a folder, or tools with their views", _FIELDS
    ),
    "argument": _SWITCH,
    "default_views": _OptionType(
        (Mapping, NoneType), "tools with a view each", _OptionType((str,), "the name of a view")
    ),
    "exact": _SWITCH,
    "descriptions": _FOLDER,
    "keys": _OptionType((Sequence,), "a list of secrets", _OptionType((str, bytes), "a text, or bytes")),
    "reads_per_minute": _NUMBER,
    "search": _SWITCH,
    "queries_per_minute": _NUMBER,
    "guidance": _OptionType((Sequence,), "a list of rules"),
    "warnings": _OptionType((bool, Warnings), "True, False or a `Warnings`"),
    "results": _OptionType((KeptResults, NoneType), "a `KeptResults`"),
}


def _check_element(name: str, option_type: _OptionType, value: object) -> None:
    if not isinstance(value, option_type.types):
        raise _invalid_option(name, option_type.expected, value)


def _invalid_option(name: str, expected: str, value: object) -> LouverError:
    return LouverError(f"{name} is {expected}, not of type {type(value).__name__!r}")
