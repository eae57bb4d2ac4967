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

from louver.core.json import is_array, is_object, members
from louver.errors import InvalidArguments, LouverError, ToolFailed
from louver.gateway.clients.client import ClientRequest, client_of
from louver.gateway.clients.revisions import ENVELOPE_KEYS
from louver.limits import MATCHES_A_PAGE
from louver.steps.call_record import CallRecord
from louver.steps.pages import envelope
from louver.steps.refusals import error_result
from louver.steps.tools.registry import all_tools
from louver.wire.capability import not_searchable
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError
from louver.wire.mcp import CLIENT_CAPABILITIES_META_KEY, TRACE_KEYS
from louver.wire.names import PROJECTION, RESULT_TOOL
from louver.wire.requests import check_request
from louver.wire.results import READ_RESULT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from louver.steps.call_record import SharedRun
    from louver.steps.request import Next, Request, Step

logger = logging.getLogger(__name__)

# The capabilities of a client for requests to it.
_REQUEST_CAPABILITIES: Final = ("elicitation", "sampling", "roots")


@dataclass(frozen=True, slots=True)
class BuiltInCall:
    """A call of a built-in tool."""

    caller: ClientRequest
    arguments: dict[str, Any]  # valid for the tool's input schema
    call_next: Next  # answers a request as the gateway does without built-in tools

    async def ask(
        self,
        method: str,
        params: dict[str, Any],
        *,
        plain: bool = True,  # without guidance and warnings, and never kept instead
        is_counted: bool = False,  # the answer of the built-in tool counts as made of this one
        matches_a_page: int = MATCHES_A_PAGE,
    ) -> dict[str, Any]:
        """The answer to a request for the caller."""
        request = self.caller.request
        request_meta = members(request.params.get("_meta"))
        carried = (*ENVELOPE_KEYS, *TRACE_KEYS)
        meta = {key: request_meta[key] for key in carried if key in request_meta} | members(params.get("_meta"))
        if CLIENT_CAPABILITIES_META_KEY in meta:
            # In 2026-07-28 a request to the client would come as `input_required`, which nothing here answers.
            capabilities = members(meta[CLIENT_CAPABILITIES_META_KEY])
            remaining = {key: value for key, value in capabilities.items() if key not in _REQUEST_CAPABILITIES}
            # Declared, since an upstream may support projection itself.
            extensions: dict[str, Any] = {**members(capabilities.get("extensions")), PROJECTION: {}}
            meta[CLIENT_CAPABILITIES_META_KEY] = {**remaining, "extensions": extensions}
        sent_params = {**params, "_meta": meta} if meta else params
        inner_request = replace(
            request,
            method=method,
            params=sent_params,
            is_for_program=True,
            is_inner=plain or request.is_inner,
            is_live=True,
            matches_a_page=matches_a_page,
            record=CallRecord(answers=request.record.answers if is_counted else None),
        )
        return await self.call_next(inner_request)


class BuiltInTool(Protocol):
    """One built-in tool."""

    @property
    def definition(self) -> dict[str, Any]: ...

    async def answer(self, built_in_call: BuiltInCall) -> dict[str, Any]:
        """The result of a call, without the members that every result has; a model reads a `LouverError`."""
        ...


class ToolProvider(Protocol):
    """The built-in tools of an exposure."""

    async def instructions(self) -> str | None:
        """The instructions that replace those of the upstreams; `None` keeps theirs."""
        ...

    @property
    def hides_upstream_tools(self) -> bool:
        """Whether the upstreams' tools are not listed."""
        ...

    @property
    def can_collide(self) -> bool:
        """Whether a listed tool of an upstream can have the name of a built-in one."""
        ...

    async def tools(self) -> Sequence[BuiltInTool]: ...

    def can_call_upstreams(self, tools: Sequence[BuiltInTool]) -> bool:
        """Whether the upstreams' tools can be called, listed or not."""
        ...


class BuiltInTools:
    def __init__(
        self, server_info: dict[str, Any], provider: ToolProvider, projection: Step, *, keeps_results: bool
    ) -> None:
        self._server_info = server_info
        self._provider = provider
        self._projection = projection  # projects the built-in tools
        self._keeps_results = keeps_results  # the tool that reads kept results is listed
        self._logged: set[str] = set()

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "tools/list":
            return await self._list(request, call_next)
        if request.method == "tools/call":
            return await self._call(request, call_next)
        result = await call_next(request)
        if request.method in ("initialize", "server/discover"):
            return await self._with_instructions(result)
        return result

    async def _with_instructions(self, opening: dict[str, Any]) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}, **members(opening.get("capabilities"))}
        if self._provider.hides_upstream_tools:
            capabilities = not_searchable(capabilities)
        instructions = await self._provider.instructions()
        added = {} if instructions is None else {"instructions": instructions}
        return {**opening, **added, "capabilities": capabilities}

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        others = None if self._provider.hides_upstream_tools else await call_next(request)
        if others is not None and request.params.get("cursor") is not None:
            return others
        tools = await self._provider.tools()
        collisions = await self._name_collisions(tools, request, call_next)
        definitions = [tool.definition for tool in tools if tool.definition["name"] not in collisions]
        listed = await self._projection(request, partial(self._tool_list, definitions))
        if others is None:
            return listed
        # `others` already has the tool that reads kept results.
        return {**others, "tools": [*(tool for tool in listed["tools"] if tool != READ_RESULT), *others["tools"]]}

    async def _tool_list(self, definitions: list[dict[str, Any]], request: Request) -> dict[str, Any]:
        check_request(request.method, request.revision, request.params)
        base_result = envelope(self._server_info, request)
        caching = {"ttlMs": 0, "cacheScope": "private"} if base_result else {}
        return {**base_result, **caching, "tools": definitions}

    async def _call(self, request: Request, call_next: Next) -> dict[str, Any]:
        tools = await self._provider.tools()
        name = request.params.get("name")
        tool = next((tool for tool in tools if tool.definition["name"] == name), None)
        if tool is not None and name not in await self._name_collisions([tool], request, call_next):
            return await self._projection(request, partial(self._answer, tool, tools, call_next))
        if not self._provider.can_call_upstreams(tools) and not (self._keeps_results and name == RESULT_TOOL):
            check_request(request.method, request.revision, request.params)
            raise JsonRpcError(code=INVALID_PARAMS, message=f"Unknown tool: {name}")
        return await call_next(request)

    async def _name_collisions(self, tools: Sequence[BuiltInTool], request: Request, call_next: Next) -> set[str]:
        """The built-in names that the upstream's tools have, as the caller sees them now."""
        names = {tool.definition["name"] for tool in tools}
        if not names or not self._provider.can_collide:
            return set()
        collisions = {tool["name"] async for tool in all_tools(request, call_next)} & names
        for name in sorted(collisions - self._logged):
            logger.warning("the server has a tool %r itself: scripts cannot be run", name)
        self._logged |= collisions
        return collisions

    async def _answer(
        self, tool: BuiltInTool, tools: Sequence[BuiltInTool], call_next: Next, request: Request
    ) -> dict[str, Any]:
        """The answer of a built-in tool; the projection may list tools first."""
        if request.method == "tools/list":
            return await self._tool_list([each.definition for each in tools], request)
        check_request(request.method, request.revision, request.params)
        base_result = envelope(self._server_info, request)
        caller = ClientRequest(client_of(request), request)
        async with caller:
            try:
                arguments = check_arguments(
                    tool.definition["name"], tool.definition["inputSchema"], request.params.get("arguments")
                )
                answer = await self._run(tool, BuiltInCall(caller, arguments, call_next), request.record.run)
            except LouverError as error:
                result = error_result(error, base_result)
                failed = error if isinstance(error, ToolFailed) else error.__cause__
                error_content = failed.content if isinstance(failed, ToolFailed) else []
                return {**result, "content": [*result["content"], *error_content]}
            meta = {**base_result.get("_meta", {}), **answer.get("_meta", {})}
            return {**base_result, **answer, **({"_meta": meta} if meta else {})}

    async def _run(self, tool: BuiltInTool, call: BuiltInCall, shared: SharedRun | None) -> dict[str, Any]:
        if shared is None:
            return await tool.answer(call)
        if shared.is_mixed:
            raise InvalidArguments("under a policy, a tool of the gateway has outputs for one audience a call")
        return await shared.answer(partial(tool.answer, call))


def check_arguments(tool: str, schema: Mapping[str, Any], raw_arguments: object) -> dict[str, Any]:
    """The arguments of a call of a built-in tool, checked against its input schema."""
    properties: dict[str, Any] = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    # Some hosts send null or an empty value for each argument that their model leaves out.
    arguments = {
        name: value for name, value in members(raw_arguments).items() if name in required or value not in _EMPTY_VALUES
    }
    expected = f"{tool!r} takes {_quoted_names(properties)}"
    for name in required:
        if name not in arguments:
            raise InvalidArguments(f"{name!r} is missing: {expected}", argument=name)
    for name, value in arguments.items():
        if name not in properties:
            raise InvalidArguments(f"{name[:80]!r} is no argument: {expected}", argument=name[:80])
        if not _TYPE_CHECKS[properties[name]["type"]](value):
            raise InvalidArguments(f"{name!r}: expected {_TYPE_NAMES[properties[name]['type']]}", argument=name)
    return arguments


_EMPTY_VALUES: Final[tuple[Any, ...]] = (None, "", [], {})

_TYPE_CHECKS: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "object": is_object,
    "array": is_array,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
_TYPE_NAMES = {
    "string": "a text",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "integer": "a whole number",
}


def _quoted_names(properties: dict[str, Any]) -> str:
    return ", ".join(map(repr, properties)) or "no arguments"
