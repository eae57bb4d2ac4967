"""The server of the examples about descriptions on demand, and its client."""

import asyncio
import json

from mcp import Client
from mcp.server import MCPServer
from pydantic import BaseModel

import louver


class Sum(BaseModel):
    total: int
    parts: list[int]


def server(**options) -> MCPServer:
    """A server with two tools. `options` go to `louver.attach`."""
    sums = MCPServer("sums")

    @sums.tool()
    def add(a: int, b: int) -> Sum:
        """Add two whole numbers. They may be negative."""
        return Sum(total=a + b, parts=[a, b])

    @sums.tool()
    def name() -> str:
        return "sums"

    louver.attach(sums, **{"disclosure": "enforce", **options})
    return sums


def ask(conversation, *, mode="auto", **options):
    """What a conversation with the server returns; mode `legacy` is 2025-11-25."""

    async def once():
        async with Client(server(**options), mode=mode) as client:
            return await conversation(client)

    return asyncio.run(once())


async def read(client, query):
    """The descriptions that the query names."""
    answer = await client.read_resource(f"resource:///tool_descriptions{query}")
    return json.loads(answer.contents[0].text)
