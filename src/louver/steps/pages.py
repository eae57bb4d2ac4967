"""Results as the middleware gets and makes them: wire objects, and lists of several pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.limits import MAX_TOOL_PAGES
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from louver.wire.mcp import SERVER_INFO_META_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from louver.steps.request import Next, Request

_DAY_MS = 86_400_000
_LIST_KEYS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


async def pages(request_page: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]) -> AsyncGenerator[dict[str, Any]]:
    """The pages of a list; `ask` takes the params of a page. At most `MAX_TOOL_PAGES`, since cursors may never end."""
    params: dict[str, Any] = {}
    for _ in range(MAX_TOOL_PAGES):
        page = await request_page(params)
        yield page
        if not (cursor := page.get("nextCursor")):
            return
        params = {"cursor": cursor}


def envelope_of(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key not in ("content", "structuredContent", "isError")}


def envelope(server_info: dict[str, Any], request: Request) -> dict[str, Any]:
    """The members that a result of ours has in this revision: its type and the server's identity, if known."""
    if not request.is_modern:
        return {}
    stamp = {"_meta": {SERVER_INFO_META_KEY: server_info}} if server_info else {}
    return {"resultType": "complete", **stamp}


async def list_or_empty(request: Request, call_next: Next, envelope: dict[str, Any]) -> dict[str, Any]:
    """The server's own list of resources, templates or prompts; an empty one if it has none."""
    try:
        return await call_next(request)
    except JsonRpcError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
    caching = {"ttlMs": _DAY_MS, "cacheScope": "public"} if request.is_modern else {}
    return {**envelope, **caching, _LIST_KEYS[request.method]: []}
