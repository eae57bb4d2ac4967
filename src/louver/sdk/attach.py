"""Attach Louver's middleware to one MCP server, from outside, as its outermost one.

Since the server is known, this does more than the same middleware in its list: an `MCPServer` does not start with views
that do not fit, changed tools are noticed at once in 2026-07-28 too, and a lowlevel server that declares no input
schemas answers with those from its last list.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, cast

from mcp.server import MCPServer, Server

from louver.errors import LouverError
from louver.sdk.adapter import on_tools_published
from louver.sdk.internals import fastmcp_lowlevel_of, lowlevel_of
from louver.sdk.middleware import LouverMiddleware, ServerFacts
from louver.sdk.options import invalid_option

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from os import PathLike

    from louver.sdk.middleware import DisclosureMode, FieldPolicy
    from louver.steps.results.results import KeptResults
    from louver.steps.tools.listing import Listing
    from louver.steps.tools.registry import ToolRegistry


class FastMCPServer(Protocol):
    """A server of FastMCP, which Louver does not depend on."""

    @property
    def name(self) -> str: ...

    def add_middleware(self, middleware: Any) -> None: ...


class AttachOptions(TypedDict, total=False):
    """The options of `LouverMiddleware`, which describes them."""

    name: str
    views: str | PathLike[str] | Mapping[str, Mapping[str, Any]] | None
    argument: bool
    default_views: Mapping[str, str] | None
    listing: Listing
    exact: bool
    disclosure: DisclosureMode
    descriptions: str | PathLike[str] | None
    keys: Sequence[bytes | str]
    reads_per_minute: int
    search: bool
    meaning: str | PathLike[str] | None
    queries_per_minute: int
    guidance: Sequence[Mapping[str, Any]]
    warnings: bool
    results: KeptResults | None
    policy: FieldPolicy | None


def attach(server: MCPServer[Any] | Server[Any] | FastMCPServer, **options: Unpack[AttachOptions]) -> None:
    """Give clients of `server` projections, and optionally search, descriptions on demand, a policy and kept results.

    Args:
        server: An `MCPServer`, a lowlevel `Server`, or a server of FastMCP 4, that does not serve yet.
        options: As `louver.middleware.LouverMiddleware` takes them; `name` is the server's own by default.

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
    lowlevel = server if isinstance(server, Server) else _lowlevel_of(server)
    if lowlevel is None:
        expected = "an `MCPServer` or a lowlevel `Server` of the MCP SDK, or a server of FastMCP 4"
        raise invalid_option("'server'", expected, server)
    if any(isinstance(middleware, LouverMiddleware) for middleware in lowlevel.middleware):
        raise LouverError("projection is attached to this server already: attach once, with all options")
    options.setdefault("name", lowlevel.name)
    middleware = LouverMiddleware(**options)

    def use_schemas(tools: ToolRegistry) -> None:
        if lowlevel.get_tool_input_schema is None:
            # Without it the SDK lists all tools on every call of 2026-07-28 over HTTP.
            lowlevel.get_tool_input_schema = tools.input_schema

    middleware.serve(ServerFacts(lowlevel.server_info_stamp, partial(on_tools_published, lowlevel), use_schemas))
    lowlevel.middleware.insert(0, middleware)
    if isinstance(server, MCPServer):
        _check_on_start(server, lowlevel, middleware)


def _lowlevel_of(server: object) -> Server[Any] | None:
    return lowlevel_of(cast("MCPServer", server)) if isinstance(server, MCPServer) else fastmcp_lowlevel_of(server)


def _check_on_start(server: MCPServer[Any], lowlevel: Server[Any], middleware: LouverMiddleware) -> None:
    inner_lifespan = lowlevel.lifespan

    @asynccontextmanager
    async def lifespan(app: Server[Any]) -> AsyncGenerator[Any]:
        listed = await server.list_tools()
        tools = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in listed]
        middleware.check_tools(tools)
        async with inner_lifespan(app) as state:
            yield state

    lowlevel.lifespan = lifespan
