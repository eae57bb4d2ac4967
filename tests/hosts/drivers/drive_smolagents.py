"""smolagents: its tools, called as its agents call them."""

import asyncio

from common import serve, steps
from mcp import StdioServerParameters
from smolagents import MCPClient


async def run(each):
    if "url" in each:
        server = {"url": each["url"], "transport": "streamable-http"}
    else:
        server = StdioServerParameters(command=each["command"], args=each["args"])
    client = await asyncio.to_thread(MCPClient, server, structured_output=True)
    try:
        tools = {tool.name: tool for tool in client.get_tools()}
        listed = {name: {"description": tool.description, "parameters": tool.inputs} for name, tool in tools.items()}
        return await steps(each, listed, lambda name, arguments: asyncio.to_thread(tools[name], **arguments))
    finally:
        await asyncio.to_thread(client.disconnect)


serve(run)
