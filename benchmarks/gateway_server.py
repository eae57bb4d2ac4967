"""What stands behind the gateways of the scenario `gateway`: a lowlevel server, over HTTP or stdio.

    python -m benchmarks.gateway_server [--tools N]            prints its port, and serves until its standard input ends
    python -m benchmarks.gateway_server [--tools N] --stdio    serves over its standard input and output

Its tools are called by the size of their answer, a page of issues that was prepared: `1000`, `100000`, `1000000`. With
`--tools` others are listed beside them, in pages, that differ in their names.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from argparse import ArgumentParser
from functools import cache
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

from benchmarks.payloads import ISSUES, SIZES

PAGE = 1_000
SIZED = [str(SIZES[name]) for name in ("1 kB", "100 kB", "1 MB")]


def main() -> None:
    """Serve."""
    parser = ArgumentParser()
    parser.add_argument("--tools", type=int, default=len(SIZED))
    parser.add_argument("--stdio", action="store_true")
    given = parser.parse_args()
    server = build(given.tools)
    if given.stdio:
        anyio.run(_serve_stdio, server)
    else:
        _serve(server)


def build(count: int = len(SIZED)) -> Server[Any]:
    """The server, with so many tools."""
    tools = [*map(_sized, SIZED), *map(_other, range(count - len(SIZED)))]

    async def list_tools(_ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        start = int((params and params.cursor) or 0)
        end = start + PAGE
        return types.ListToolsResult(tools=tools[start:end], next_cursor=str(end) if end < len(tools) else None)

    # That it tells of changes is why a gateway may keep its list.
    changes = ListenHandler(InMemorySubscriptionBus())
    server = Server("issues", on_list_tools=list_tools, on_call_tool=_call_tool, on_subscriptions_listen=changes)
    # Without this the SDK lists all tools on every call, and what is in front of it would look the better for that.
    server.get_tool_input_schema = {tool.name: tool.input_schema for tool in tools}.get
    return server


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _serve(server: Server[Any]) -> None:
    # asyncio sends small parts at once only where the socket's protocol is named.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    # As the SDK comes: httptools, which uvicorn would take, is here only for what stands in front.
    serving = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), http="h11", log_level="warning"))

    def end() -> None:
        sys.stdin.read()
        serving.should_exit = True

    threading.Thread(target=end, daemon=True).start()
    print(listening.getsockname()[1], flush=True)
    serving.run(sockets=[listening])


async def _call_tool(_ctx: Any, params: types.CallToolRequestParams) -> dict[str, Any]:
    return dict(_result(params.name))


@cache
def _result(name: str) -> dict[str, Any]:
    value = ISSUES.make(int(name))
    text = {"type": "text", "text": json.dumps(value)}
    return {"resultType": "complete", "content": [text], "structuredContent": value}


def _sized(name: str) -> types.Tool:
    return types.Tool(name=name, input_schema={"type": "object"}, output_schema=ISSUES.schema)


def _other(number: int) -> types.Tool:
    """A tool as large as tools are: 900 bytes."""
    text = {"type": "string", "description": "As it is shown to users, without markup."}
    fields = {"id": {"type": "integer"}, "title": text, "state": text, "labels": {"type": "array", "items": text}}
    return types.Tool(
        name=f"find_records_{number:05}",
        description=f"Find records of collection {number} by their title, state and labels, newest first, in pages.",
        input_schema={"type": "object", "properties": fields, "required": ["title"]},
        output_schema={"type": "object", "properties": {"records": {"type": "array", "items": _record(fields)}}},
    )


def _record(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": ["id"]}


if __name__ == "__main__":
    main()
