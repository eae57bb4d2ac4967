"""The built-in tools of the gateway, before the tools of the upstreams.

    tools/list    built-in tools first; in some exposures only these
    tools/call    a built-in tool is answered here; other calls pass, or are refused

Built-in tools are projected like any other, and their own requests pass the layers behind this one. A built-in tool
is left out where an upstream has a tool of its name.
"""

from __future__ import annotations

import logging
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
from louver.limits import MATCHES_A_PAGE
from louver.protocol.capability import not_searchable
from louver.protocol.names import PROJECTION, RESULT_TOOL
from louver.protocol.results import READ_RESULT
from louver.server.call_record import CallRecord
from louver.server.refusals import error_result
from louver.server.tools.registry import all_tools
from louver.server.wire import envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from louver.server.request import Next, Request, Step

logger = logging.getLogger(__name__)

# The capabilities of a client for requests to it.
_QUESTIONS: Final = ("elicitation", "sampling", "roots")


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of a built-in tool."""

    turn: Turn
    arguments: dict[str, Any]  # valid for the tool's input schema
    behind: Next  # answers a request as the gateway does without built-in tools

    async def ask(
        self, method: str, params: dict[str, Any], *, plain: bool = True, matches_a_page: int = MATCHES_A_PAGE
    ) -> dict[str, Any]:
        """The answer to a request for the caller; if `plain`, without guidance and warnings, and never kept instead."""
        request = self.turn.request
        said = members(request.params.get("_meta"))
        meta = {key: said[key] for key in ENVELOPE if key in said} | members(params.get("_meta"))
        if CLIENT_CAPABILITIES_META_KEY in meta:
            # In 2026-07-28 a request to the client would come as `input_required`, which nothing here answers.
            can = members(meta[CLIENT_CAPABILITIES_META_KEY])
            left = {key: what for key, what in can.items() if key not in _QUESTIONS}
            # Declared, since an upstream may support projection itself.
            extensions: dict[str, Any] = {**members(can.get("extensions")), PROJECTION: {}}
            meta[CLIENT_CAPABILITIES_META_KEY] = {**left, "extensions": extensions}
        sent = {**params, "_meta": meta} if meta else params
        asked = replace(
            request,
            method=method,
            params=sent,
            is_for_program=True,
            is_inner=plain or request.is_inner,
            matches_a_page=matches_a_page,
            record=CallRecord(),
        )
        return await self.behind(asked)


class OwnTool(Protocol):
    """One built-in tool."""

    @property
    def definition(self) -> dict[str, Any]: ...

    async def answer(self, asked: Asked) -> dict[str, Any]:
        """The result of a call, without the members that every result has; a model reads a `LouverError`."""
        ...


class Offer(Protocol):
    """The built-in tools of an exposure."""

    async def instructions(self) -> str | None:
        """The instructions that replace those of the upstreams; `None` keeps theirs."""
        ...

    @property
    def hides(self) -> bool:
        """Whether the upstreams' tools are not listed."""
        ...

    @property
    def can_collide(self) -> bool:
        """Whether a listed tool of an upstream can have the name of a built-in one."""
        ...

    async def tools(self) -> Sequence[OwnTool]: ...

    def passes(self, tools: Sequence[OwnTool]) -> bool:
        """Whether the upstreams' tools can be called, listed or not."""
        ...


class OwnTools:
    def __init__(self, server_info: dict[str, Any], offer: Offer, projecting: Step, *, keeps_results: bool) -> None:
        self._server_info = server_info
        self._offer = offer
        self._projecting = projecting  # projects the built-in tools
        self._keeps_results = keeps_results  # the tool that reads kept results is listed
        self._logged: set[str] = set()

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "tools/list":
            return await self._list(request, call_next)
        if request.method == "tools/call":
            return await self._call(request, call_next)
        result = await call_next(request)
        if request.method in ("initialize", "server/discover"):
            return await self._introduced(result)
        return result

    async def _introduced(self, said: dict[str, Any]) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}, **members(said.get("capabilities"))}
        if self._offer.hides:
            capabilities = not_searchable(capabilities)
        instructions = await self._offer.instructions()
        told = {} if instructions is None else {"instructions": instructions}
        return {**said, **told, "capabilities": capabilities}

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        others = None if self._offer.hides else await call_next(request)
        if others is not None and request.params.get("cursor") is not None:
            return others
        tools = await self._offer.tools()
        taken = await self._taken(tools, request, call_next)
        own = [tool.definition for tool in tools if tool.definition["name"] not in taken]
        listed = await self._projecting(request, partial(self._listed, own))
        if others is None:
            return listed
        # `others` already has the tool that reads kept results.
        return {**others, "tools": [*(tool for tool in listed["tools"] if tool != READ_RESULT), *others["tools"]]}

    async def _listed(self, own: list[dict[str, Any]], request: Request) -> dict[str, Any]:
        validate_client_request(request.method, request.revision, request.params)
        said = envelope(self._server_info, request)
        caching = {"ttlMs": 0, "cacheScope": "private"} if said else {}
        return {**said, **caching, "tools": own}

    async def _call(self, request: Request, call_next: Next) -> dict[str, Any]:
        tools = await self._offer.tools()
        name = request.params.get("name")
        tool = next((tool for tool in tools if tool.definition["name"] == name), None)
        if tool is not None and name not in await self._taken([tool], request, call_next):
            return await self._projecting(request, partial(self._answered, tool, tools, call_next))
        if not self._offer.passes(tools) and not (self._keeps_results and name == RESULT_TOOL):
            validate_client_request(request.method, request.revision, request.params)
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {name}")
        return await call_next(request)

    async def _taken(self, tools: Sequence[OwnTool], request: Request, call_next: Next) -> set[str]:
        """The built-in names that the upstream's tools have, as the caller sees them now."""
        names = {tool.definition["name"] for tool in tools}
        if not names or not self._offer.can_collide:
            return set()
        taken = {tool["name"] async for tool in all_tools(request, call_next)} & names
        for name in sorted(taken - self._logged):
            logger.warning("the server has a tool %r itself: scripts cannot be run", name)
        self._logged |= taken
        return taken

    async def _answered(
        self, tool: OwnTool, tools: Sequence[OwnTool], call_next: Next, request: Request
    ) -> dict[str, Any]:
        """The answer of a built-in tool; the projection may list tools first."""
        if request.method == "tools/list":
            return await self._listed([each.definition for each in tools], request)
        validate_client_request(request.method, request.revision, request.params)
        said = envelope(self._server_info, request)
        turn = Turn(client_of(request), request)
        async with turn:
            try:
                arguments = _checked(tool.definition, request.params.get("arguments"))
                answer = await tool.answer(Asked(turn, arguments, call_next))
            except LouverError as error:
                result = error_result(error, said)
                failed = error if isinstance(error, ToolFailed) else error.__cause__
                told = failed.content if isinstance(failed, ToolFailed) else []
                return {**result, "content": [*result["content"], *told]}
            meta = {**said.get("_meta", {}), **answer.get("_meta", {})}
            return {**said, **answer, **({"_meta": meta} if meta else {})}


def _checked(definition: dict[str, Any], said: object) -> dict[str, Any]:
    """The arguments of a call, checked against the input schema."""
    properties: dict[str, Any] = definition["inputSchema"].get("properties", {})
    required: list[str] = definition["inputSchema"].get("required", [])
    # Some hosts send null or an empty value for each argument that their model leaves out.
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
