"""The stock `mcp` 1.x client. It knows the handshake revisions only."""

from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version

from common import STEP_SECONDS, all_pages, exercise, main, plain
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import PaginatedRequestParams


@asynccontextmanager
async def connected(target):
    if "url" in target:
        transport = streamable_http_client(target["url"])
    else:
        transport = stdio_client(StdioServerParameters(**target))
    async with (
        transport as (read, write, *_),
        ClientSession(read, write, read_timeout_seconds=timedelta(seconds=STEP_SECONDS)) as session,
    ):
        yield session


async def drive(request):
    async with connected(request["target"]) as session:
        hello = await session.initialize()

        async def list_page(cursor):
            return await session.list_tools(params=PaginatedRequestParams(cursor=cursor))

        async def call_tool(tool, arguments, meta):
            result = await session.call_tool(tool, arguments, meta=meta)
            return {
                "structuredContent": result.structuredContent,
                "content": [plain(block) for block in result.content],
                "meta": result.meta,
                "isError": result.isError,
            }

        return await exercise(
            request,
            f"mcp {version('mcp')}",
            hello.protocolVersion,
            hello.capabilities,
            lambda: all_pages(list_page),
            call_tool,
        )


main(drive)
