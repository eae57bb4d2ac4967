"""Requests to a server, and what it answers as it stands on the wire.

The SDK's client drops what its models do not know, and holds every answer against the listed schema: on the event
loop, whatever the patterns in it, and with values of the answer in its errors. So requests go out beside it, over its
connection, and answers come back as JSON objects.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from anyio import sleep
from mcp import MCPError
from mcp.client import ClientRequestContext
from mcp_types import HEADER_MISMATCH, PARSE_ERROR, ErrorData
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from louver.core import json
from louver.core.json import is_array, is_object, levels
from louver.errors import InvalidAnswer
from louver.limits import MAX_ROUNDS, MAX_TOOL_PAGES
from louver.protocol.names import SCHEMAS_URI

if TYPE_CHECKING:
    from mcp import Client as McpClient

    from louver.core.json import Json

_AS_IT_IS: Final[Any] = TypeAdapter(dict[str, Any])
_WAIT_S: Final = 0.1
"""Before a server is asked again that asks nothing itself."""


class Wire:
    """An open connection.

    Args:
        client: The SDK's client, which keeps it.
    """

    def __init__(self, client: McpClient) -> None:
        self._client = client

    async def tools(self) -> dict[str, dict[str, Any]]:
        """The tools by name, as they are listed on all pages.

        Raises:
            InvalidAnswer: The list is none.
            MCPError: The server refuses.
        """
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
        """The complete result of a call, once all is answered that the server asks meanwhile.

        Raises:
            InvalidAnswer: It is no result, or the server does not stop to ask.
            MCPError: The server refuses the call, or a question of its is refused here.
        """
        try:
            return await self._answered(tool, arguments, meta)
        except MCPError as error:
            if error.code != HEADER_MISMATCH or not self._is_modern:
                raise
        # The protocol has a client list the tools anew, and send the call once more.
        await self.tools()
        return await self._answered(tool, arguments, meta)

    async def schema(self, digest: str) -> Json:
        """The projected schema that a digest names; `None` where it cannot be read."""
        params = types.ReadResourceRequestParams(uri=f"{SCHEMAS_URI}{digest}")
        with suppress(MCPError, InvalidAnswer, KeyError, TypeError, IndexError, json.NotJson):
            read = await self._request(types.ReadResourceRequest(params=params))
            return json.parse(read["contents"][0]["text"])
        return None

    @property
    def _is_modern(self) -> bool:
        return self._client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _answered(self, tool: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for _ in range(MAX_ROUNDS):
            params = types.CallToolRequestParams.model_validate(
                {"name": tool, "arguments": arguments, "_meta": meta or None, **said}
            )
            result = await self._request(types.CallToolRequest(params=params))
            if result.get("resultType") != "input_required":
                return result
            said = await self._answers(types.InputRequiredResult.model_validate(result))
        raise InvalidAnswer(f"tool {tool!r} still asks after {MAX_ROUNDS} rounds", limit=MAX_ROUNDS)

    async def _answers(self, asked: types.InputRequiredResult) -> dict[str, Any]:
        """What is sent with the next round: what the client's own callbacks say to the questions."""
        session = self._client.session
        answers: dict[str, Any] = {}
        for key, question in (asked.input_requests or {}).items():
            meta = question.params.meta if question.params else None
            context = ClientRequestContext(session=session, request_id=key, meta=meta)
            answer = await session.dispatch_input_request(context, question)
            if isinstance(answer, ErrorData):
                raise MCPError.from_error_data(answer)
            answers[key] = answer
        if not answers:
            await sleep(_WAIT_S)
        return {"inputResponses": answers or None, "requestState": asked.request_state}

    async def _with_headers(
        self, listed: list[dict[str, Any]], params: types.PaginatedRequestParams
    ) -> list[dict[str, Any]]:
        """The tools whose arguments can be sent as headers too, which the SDK's client then does."""
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
        # Outside of the handlers: both errors quote the answer. Over HTTP the transport makes one of what is no JSON.
        if result is None:
            raise _no_answer(request.method)
        return result


def _no_answer(method: str) -> InvalidAnswer:
    return InvalidAnswer(f"what the server answers to {method!r} is no result that the protocol has", method=method)


def _has_header(tool: dict[str, Any]) -> bool:
    parts = (part for level in levels(tool.get("inputSchema")) for part in level)
    return any(is_object(part) and "x-mcp-header" in part for part in parts if not is_array(part))
