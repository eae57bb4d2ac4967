"""The server of the examples about guidance, warnings and kept results, and its client, a program."""

import asyncio

from mcp import Client
from mcp.client import advertise
from mcp.server import MCPServer
from pydantic import BaseModel

import louver


class Order(BaseModel):
    id: int
    status: str
    note: str


class Orders(BaseModel):
    total: int
    orders: list[Order]


calls = []
"""The argument of each call."""


def server(**options) -> MCPServer:
    """A server with one tool. `options` go to `louver.attach`."""
    shop = MCPServer("shop")

    @shop.tool(meta=louver.hint(views={"brief": ["orders.id", "orders.status"]}))
    def list_orders(number: int = 5) -> Orders:
        calls.append(number)
        found = [Order(id=id, status="disputed" if id == 3 else "paid", note="n" * 1500) for id in range(number)]
        return Orders(total=number, orders=found)

    louver.attach(shop, **options)
    return shop


def run(conversation, **options):
    """What a conversation with the server returns."""

    async def once():
        async with Client(server(**options), extensions=[advertise("dev.louver/projection", {})]) as client:
            return await conversation(client)

    return asyncio.run(once())


def call(arguments, projection=None, **options):
    """The answer to one call of `list_orders`."""
    meta = None if projection is None else {"projection": projection}
    return run(lambda client: client.call_tool("list_orders", arguments, meta=meta), **options)
