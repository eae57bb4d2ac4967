"""Tools of the gateway itself, before those of the servers behind it.

    tools/list    its own tools; where it stands alone, no others
    tools/call    one of its own is answered here, by asking what stands behind; others pass, or are not there

Beside others none is there whose name a server's tool has: that stays as it is.

They are projected like any tool (`louver.server.attach`). What they ask goes the way of a client's request, through all
that stands behind this middleware.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp import MCPError
from mcp_types import CLIENT_CAPABILITIES_META_KEY, INVALID_PARAMS
from mcp_types.methods import validate_client_request

from louver.core.json import is_array, is_object, members
from louver.errors import InvalidArguments, LouverError, ToolFailed
from louver.gateway.clients.client import Turn, client_of
from louver.gateway.clients.revisions import ENVELOPE
from louver.protocol.capability import not_searchable
from louver.protocol.names import PROJECTION, RESULT_TOOL
from louver.protocol.results import READ_RESULT
from louver.server.calls.response import inside
from louver.server.recipient import for_program
from louver.server.refusals import error_result
from louver.server.tools.registry import all_tools
from louver.server.wire import envelope, result_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp.server import Server
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

logger = logging.getLogger(__name__)

_QUESTIONS: Final = ("elicitation", "sampling", "roots")
"""The capabilities of clients by which they can be asked something."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of one of the gateway's own tools.

    Args:
        turn: The request.
        arguments: They fit the tool's input schema.
        behind: Answers a request of the same client as the gateway does without its own tools.
    """

    turn: Turn
    arguments: dict[str, Any]
    behind: CallNext

    async def ask(self, method: str, params: dict[str, Any], *, plain: bool = True) -> dict[str, Any]:
        """The answer to a request on behalf of who called.

        Args:
            method: Of the request.
            params: Likewise.
            plain: Whether nothing is said beside an answer, and it is never kept instead of given.

        Raises:
            MCPError: It is an error.
        """
        ctx = self.turn.ctx
        said = members((ctx.params or {}).get("_meta"))
        meta = {key: said[key] for key in ENVELOPE if key in said} | members(params.get("_meta"))
        if CLIENT_CAPABILITIES_META_KEY in meta:
            # In this era a question would be an answer that nobody here could answer.
            can = members(meta[CLIENT_CAPABILITIES_META_KEY])
            left = {key: what for key, what in can.items() if key not in _QUESTIONS}
            # A server behind may project by itself.
            extensions: dict[str, Any] = {**members(can.get("extensions")), PROJECTION: {}}
            meta[CLIENT_CAPABILITIES_META_KEY] = {**left, "extensions": extensions}
        sent = {**params, "_meta": meta} if meta else params
        with for_program(), inside() if plain else nullcontext():
            return result_dict(await self.behind(replace(ctx, method=method, params=sent)))


class OwnTool(Protocol):
    """One tool."""

    @property
    def definition(self) -> dict[str, Any]:
        """As `tools/list` has it."""
        ...

    async def answer(self, asked: Asked) -> dict[str, Any]:
        """The result of a call, without what the protocol revision puts into every result.

        Raises:
            LouverError: The call is refused, or fails; its model reads why.
            MCPError: What stands behind answers with an error.
        """
        ...


class Offer(Protocol):
    """What the gateway offers of its own."""

    async def instructions(self) -> str | None:
        """What models are told instead of what the servers say; `None` leaves that."""
        ...

    @property
    def hides(self) -> bool:
        """Whether the tools of the servers are not listed."""
        ...

    @property
    def can_collide(self) -> bool:
        """Whether a tool that is listed beside these can have the name of one."""
        ...

    async def tools(self) -> Sequence[OwnTool]:
        """The tools."""
        ...

    def passes(self, tools: Sequence[OwnTool]) -> bool:
        """Whether the tools of the servers can be called, listed or not."""
        ...


class OwnTools:
    """The middleware.

    Args:
        server: The gateway's server.
        offer: What it offers.
        projecting: Makes the middleware that projects the answers of what stands behind it.
        keeps_results: Whether the tool that reads kept results is among those that are listed.
    """

    def __init__(
        self, server: Server[Any], offer: Offer, projecting: ServerMiddleware[Any], *, keeps_results: bool
    ) -> None:
        self._server = server
        self._offer = offer
        self._projecting = projecting
        self._keeps_results = keeps_results
        self._logged: set[str] = set()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """The answer to one message."""
        if ctx.method == "tools/list":
            return await self._list(ctx, call_next)
        if ctx.method == "tools/call":
            return await self._call(ctx, call_next)
        result = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover"):
            return await self._introduced(result_dict(result))
        return result

    async def _introduced(self, said: dict[str, Any]) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}, **members(said.get("capabilities"))}
        if self._offer.hides:
            capabilities = not_searchable(capabilities)
        instructions = await self._offer.instructions()
        told = {} if instructions is None else {"instructions": instructions}
        return {**said, **told, "capabilities": capabilities}

    async def _list(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        others = None if self._offer.hides else result_dict(await call_next(ctx))
        if others is not None and (ctx.params or {}).get("cursor") is not None:
            return others
        tools = await self._offer.tools()
        taken = await self._taken(tools, ctx, call_next)
        own = [tool.definition for tool in tools if tool.definition["name"] not in taken]
        listed = result_dict(await self._projecting(ctx, partial(self._listed, own)))
        if others is None:
            return listed
        # What reads kept results stands among the others.
        return {**others, "tools": [*(tool for tool in listed["tools"] if tool != READ_RESULT), *others["tools"]]}

    async def _listed(self, own: list[dict[str, Any]], ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
        said = envelope(self._server, ctx.protocol_version)
        caching = {"ttlMs": 0, "cacheScope": "private"} if said else {}
        return {**said, **caching, "tools": own}

    async def _call(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        tools = await self._offer.tools()
        name = (ctx.params or {}).get("name")
        tool = next((tool for tool in tools if tool.definition["name"] == name), None)
        if tool is not None and name not in await self._taken([tool], ctx, call_next):
            return await self._projecting(ctx, partial(self._answered, tool, tools, call_next))
        if not self._offer.passes(tools) and not (self._keeps_results and name == RESULT_TOOL):
            validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {name}")
        return await call_next(ctx)

    async def _taken(
        self, tools: Sequence[OwnTool], ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> set[str]:
        """The names of ours that tools of the server have, as the caller sees it now."""
        names = {tool.definition["name"] for tool in tools}
        if not names or not self._offer.can_collide:
            return set()
        taken = {tool["name"] async for tool in all_tools(ctx, call_next)} & names
        for name in sorted(taken - self._logged):
            logger.warning("the server has a tool %r itself: scripts cannot be run", name)
        self._logged |= taken
        return taken

    async def _answered(
        self, tool: OwnTool, tools: Sequence[OwnTool], call_next: CallNext, ctx: ServerRequestContext[Any, Any]
    ) -> dict[str, Any]:
        """What a tool answers; a projection may list first."""
        if ctx.method == "tools/list":
            return await self._listed([each.definition for each in tools], ctx)
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
        said = envelope(self._server, ctx.protocol_version)
        turn = Turn(client_of(ctx), ctx)
        async with turn:
            try:
                arguments = _checked(tool.definition, (ctx.params or {}).get("arguments"))
                answer = await tool.answer(Asked(turn, arguments, call_next))
            except LouverError as error:
                result = error_result(error, said)
                failed = error if isinstance(error, ToolFailed) else error.__cause__
                told = failed.content if isinstance(failed, ToolFailed) else []
                return {**result, "content": [*result["content"], *told]}
            meta = {**said.get("_meta", {}), **answer.get("_meta", {})}
            return {**said, **answer, **({"_meta": meta} if meta else {})}


def _checked(definition: dict[str, Any], said: object) -> dict[str, Any]:
    """The arguments of a call.

    Raises:
        InvalidArguments: They are not those of the tool.
    """
    properties: dict[str, Any] = definition["inputSchema"].get("properties", {})
    required: list[str] = definition["inputSchema"].get("required", [])
    # Some hosts send null or nothing for each argument that their model leaves out.
    arguments = {name: value for name, value in members(said).items() if name in required or value not in _NOTHING}
    expected = f"{definition['name']!r} takes {_listed(properties)}"
    for name in required:
        if name not in arguments:
            raise InvalidArguments(f"{name!r} is missing: {expected}", argument=name)
    for name, value in arguments.items():
        if name not in properties:
            raise InvalidArguments(f"{name[:80]!r} is no argument: {expected}", argument=name[:80])
        if not _KINDS[properties[name]["type"]](value):
            raise InvalidArguments(f"{name!r}: expected {_WORDS[properties[name]['type']]}", argument=name)
    return arguments


_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {})

_KINDS: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "object": is_object,
    "array": is_array,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
_WORDS = {
    "string": "a text",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "integer": "a whole number",
}


def _listed(properties: dict[str, Any]) -> str:
    return ", ".join(map(repr, properties)) or "no arguments"
