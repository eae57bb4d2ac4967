"""Requests over the connection of the SDK's client, with results as raw JSON objects.

The SDK's client drops unknown members, and validates every result against the listed schema: on the event loop, with
any pattern, and with values of the result in its errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from anyio import sleep
from mcp import MCPError
from mcp.client import ClientRequestContext
from mcp_types import HEADER_MISMATCH, PARSE_ERROR, ErrorData
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from louver.core.json import is_array, is_object, levels
from louver.errors import InvalidAnswer
from louver.limits import MAX_ROUNDS, MAX_TOOL_PAGES

if TYPE_CHECKING:
    from mcp import Client as McpClient


_AS_IT_IS: Final[Any] = TypeAdapter(dict[str, Any])

# Pause before the next round if the server requests no input.
_WAIT_S: Final = 0.1


class Wire:
    def __init__(self, client: McpClient) -> None:
        self._client = client

    async def tools(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        cursor: str | None = None
        for _ in range(MAX_TOOL_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            page = await self._request(types.ListToolsRequest(params=params))
            listed: list[dict[str, Any]] = page["tools"]
            if self._is_modern and any(map(_has_header, listed)):
                listed = await self._with_headers(listed, params)
            found.update((tool["name"], tool) for tool in listed)
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        return found

    async def call(self, tool: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
        """The complete result of a call, after all rounds of `input_required`."""
        try:
            return await self._answered(tool, arguments, meta)
        except MCPError as error:
            if error.code != HEADER_MISMATCH or not self._is_modern:
                raise
        # The protocol requires a client to list the tools again, and to repeat the call once.
        await self.tools()
        return await self._answered(tool, arguments, meta)

    @property
    def _is_modern(self) -> bool:
        return self._client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _answered(self, tool: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
        next_params: dict[str, Any] = {}
        for _ in range(MAX_ROUNDS):
            params = types.CallToolRequestParams.model_validate(
                {"name": tool, "arguments": arguments, "_meta": meta or None, **next_params}
            )
            result = await self._request(types.CallToolRequest(params=params))
            if result.get("resultType") != "input_required":
                return result
            next_params = await self._answers(types.InputRequiredResult.model_validate(result))
        raise InvalidAnswer(f"tool {tool!r} still asks after {MAX_ROUNDS} rounds", limit=MAX_ROUNDS)

    async def _answers(self, input_required: types.InputRequiredResult) -> dict[str, Any]:
        """The params of the next round: the responses of the client's callbacks."""
        session = self._client.session
        answers: dict[str, Any] = {}
        for key, question in (input_required.input_requests or {}).items():
            meta = question.params.meta if question.params else None
            context = ClientRequestContext(session=session, request_id=key, meta=meta)
            answer = await session.dispatch_input_request(context, question)
            if isinstance(answer, ErrorData):
                raise MCPError.from_error_data(answer)
            answers[key] = answer
        if not answers:
            await sleep(_WAIT_S)
        return {"inputResponses": answers or None, "requestState": input_required.request_state}

    async def _with_headers(
        self, listed: list[dict[str, Any]], params: types.PaginatedRequestParams
    ) -> list[dict[str, Any]]:
        """List through the SDK too: it then sends arguments as headers, and omits tools with invalid ones."""
        try:
            page = await self._client.session.list_tools(params=params)
        except ValidationError:
            page = None
        if page is None:
            raise _no_answer("tools/list")
        usable = {tool.name for tool in page.tools}
        return [tool for tool in listed if tool["name"] in usable]

    async def _request(self, request: types.ClientRequest) -> dict[str, Any]:
        result: dict[str, Any] | None = None
        try:
            result = await self._client.session.send_request(request, _AS_IT_IS)
        except ValidationError:
            pass
        except MCPError as error:
            if error.error.code != PARSE_ERROR:
                raise
        # Outside the handlers: both errors quote the result. Over HTTP, the transport makes a `PARSE_ERROR` of a body
        # that is not JSON.
        if result is None:
            raise _no_answer(request.method)
        return result


def _no_answer(method: str) -> InvalidAnswer:
    return InvalidAnswer(f"what the server answers to {method!r} is no result that the protocol has", method=method)


def _has_header(tool: dict[str, Any]) -> bool:
    parts = (part for level in levels(tool.get("inputSchema")) for part in level)
    return any(is_object(part) and "x-mcp-header" in part for part in parts if not is_array(part))
