"""Attach Louver's middleware to one MCP server, from outside, as its outermost one.

Since the server is known, this does more than the same classes in its list: an `MCPServer` does not start with views
that do not fit, changed tools are noticed at once in 2026-07-28 too, and a lowlevel server that declares no input
schemas answers with those from its last list.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from mcp.server import MCPServer, Server

from louver.core.choices import check_choice
from louver.errors import LouverError
from louver.limits import QUERIES_PER_MINUTE, READS_PER_MINUTE
from louver.server.composition import ServerFacts
from louver.server.middleware import (
    DisclosureMiddleware,
    DisclosureMode,
    LouverMiddleware,
    PolicyMiddleware,
    ProjectionMiddleware,
    SearchMiddleware,
)
from louver.server.options import check_options, invalid_option
from louver.server.sdk import on_tools_published
from louver.server.sdk_internals import fastmcp_lowlevel_of, lowlevel_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from os import PathLike

    from louver.server.calls.warnings import Warnings
    from louver.server.results.results import KeptResults
    from louver.server.tools.listing import Listing
    from louver.server.tools.registry import ToolRegistry


class FastMCPServer(Protocol):
    """A server of FastMCP, which Louver does not depend on."""

    @property
    def name(self) -> str: ...

    def add_middleware(self, middleware: Any) -> None: ...


def attach(
    server: MCPServer[Any] | Server[Any] | FastMCPServer,
    *,
    views: str | PathLike[str] | Mapping[str, Mapping[str, Any]] | None = None,
    argument: bool = False,
    default_views: Mapping[str, str] | None = None,
    listing: Listing = "relaxed",
    exact: bool = False,
    disclosure: DisclosureMode | Literal["off"] = "off",
    descriptions: str | PathLike[str] | None = None,
    keys: Sequence[bytes | str] = (),
    reads_per_minute: int = READS_PER_MINUTE,
    search: bool = False,
    meaning: str | PathLike[str] | None = None,
    queries_per_minute: int = QUERIES_PER_MINUTE,
    guidance: Sequence[Mapping[str, Any]] = (),
    warnings: bool | Warnings = False,
    results: KeptResults | None = None,
    policy: PolicyMiddleware | None = None,
) -> None:
    """Give clients of `server` projections, and optionally search, descriptions on demand, a policy and kept results.

    Args:
        server: An `MCPServer`, a lowlevel `Server`, or a server of FastMCP 4, that does not serve yet.
        views: A folder of `<tool>.views.json`, or tool name -> views; they are added to the views of `hint`.
        argument: Whether tools take the argument `output_fields`, for models: these cannot set `_meta`.
        default_views: Tool name -> the view for calls without a request.
        listing: The output schema in `tools/list`. Stock clients accept projections with `relaxed` and `omit`;
            with `strict` only clients that declare the extension get them.
        exact: Whether each tool's `_meta` holds the exact output schema, which doubles the list.
        disclosure: `off` lists tools in full, all others by a summary. `enforce` runs a tool only after its caller
            has read the full description, `on-error` if the arguments fit it, `advise` always.
        descriptions: A folder of `<tool>.json`, which extend the descriptions, and name words to find the tools by.
        keys: Secrets of 32 bytes or more, the same for all workers that serve the same clients.
        reads_per_minute: Description reads allowed per caller and minute.
        search: Whether `tools/list` takes a `query`.
        meaning: A folder with a model of Model2Vec, by whose word vectors a search finds tools too; those of the
            extra `meaning` by default, if it is installed.
        queries_per_minute: Searches allowed per caller and minute.
        guidance: Rules that add notes to answers (`louver.catalogue.guidance`).
        warnings: Whether large answers get a warning, or the sizes above which they do.
        results: Which answers are stored instead of sent, and where; none by default.
        policy: Which caller may see which fields (`louver.middleware.PolicyMiddleware`); everything by default.

    Raises:
        LouverError: Louver is attached to this server already, or an option is invalid.
        InvalidView: A view, or a file of views, is malformed. Views are checked against the tools' schemas when an
            `MCPServer` starts, and when another server is first listed.
        InvalidDescription: A file of descriptions is malformed.
        InvalidInput: There is no model in the folder `meaning`.
        InvalidGuidance: A rule is malformed. Its tool is looked up when an `MCPServer` starts.
        InvalidPolicy: The policy does not fit the tools; found when an `MCPServer` starts. Other servers do not list
            such tools.
    """
    check_options(locals())
    check_choice("disclosure", disclosure, (*get_args(DisclosureMode), "off"))
    lowlevel = server if isinstance(server, Server) else _lowlevel_of(server)
    if lowlevel is None:
        expected = "an `MCPServer` or a lowlevel `Server` of the MCP SDK, or a server of FastMCP 4"
        raise invalid_option("'server'", expected, server)
    if any(isinstance(middleware, LouverMiddleware) for middleware in lowlevel.middleware):
        raise LouverError("projection is attached to this server already: attach once, with all options")
    projection = ProjectionMiddleware(
        views=views,
        argument=argument,
        default_views=default_views,
        listing=listing,
        exact=exact,
        guidance=guidance,
        warnings=warnings,
        results=results,
    )
    disclosing = None
    if disclosure != "off":
        disclosing = DisclosureMiddleware(
            disclosure, descriptions=descriptions, keys=keys, reads_per_minute=reads_per_minute
        )
    searching = None
    if search:
        # Descriptions on demand have read the folder already.
        folder = descriptions if disclosing is None else None
        searching = SearchMiddleware(queries_per_minute=queries_per_minute, descriptions=folder, meaning=meaning)
    joined: list[LouverMiddleware] = [each for each in (projection, disclosing, searching, policy) if each is not None]

    def use_schemas(tools: ToolRegistry) -> None:
        if lowlevel.get_tool_input_schema is None:
            # Without it the SDK lists all tools on every call of 2026-07-28 over HTTP.
            lowlevel.get_tool_input_schema = tools.input_schema

    facts = ServerFacts(lowlevel.server_info_stamp, partial(on_tools_published, lowlevel), use_schemas)
    projection.join(joined, facts)
    lowlevel.middleware.insert(0, projection)
    if isinstance(server, MCPServer):
        _check_on_start(server, lowlevel, joined)


def _lowlevel_of(server: object) -> Server[Any] | None:
    return lowlevel_of(cast("MCPServer", server)) if isinstance(server, MCPServer) else fastmcp_lowlevel_of(server)


def _check_on_start(server: MCPServer[Any], lowlevel: Server[Any], joined: Sequence[LouverMiddleware]) -> None:
    inner_lifespan = lowlevel.lifespan

    @asynccontextmanager
    async def lifespan(app: Server[Any]) -> AsyncGenerator[Any]:
        listed = await server.list_tools()
        tools = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed]
        for middleware in joined:
            middleware.check_tools(tools)
        async with inner_lifespan(app) as state:
            yield state

    lowlevel.lifespan = lifespan
