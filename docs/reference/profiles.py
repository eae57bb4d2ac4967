"""The server and the client of the examples in this folder."""

import asyncio

from mcp import Client, MCPError
from mcp.server import MCPServer
from pydantic import BaseModel

import louver


class Profile(BaseModel):
    id: int
    name: str
    email: str


def server(**options) -> MCPServer:
    """A server with two tools. `options` go to `louver.attach`."""
    profiles = MCPServer("profiles")
    views = {"minimal": ["name"], "public": {"exclude": ["**.email"]}}

    @profiles.tool(meta=louver.hint(views=views, always=["id"]))
    def get_user_profile(user_id: int) -> Profile:
        return Profile(id=user_id, name="Ann", email="ann@example.com")

    @profiles.tool()
    def say_hello() -> str:
        return "hello"

    louver.attach(profiles, **options)
    return profiles


def call(projection=None, *, arguments=None, key="projection", **options):
    """The answer to one call of `get_user_profile`, or the error that refused it."""

    async def conversation():
        meta = {key: projection} if projection else None
        async with Client(server(**options)) as client:
            try:
                return await client.call_tool("get_user_profile", arguments or {"user_id": 7}, meta=meta)
            except MCPError as error:
                return error

    return asyncio.run(conversation())


def tools(**options):
    """The tools as listed."""

    async def conversation():
        async with Client(server(**options)) as client:
            return (await client.list_tools()).tools

    return asyncio.run(conversation())
