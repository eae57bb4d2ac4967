"""FastMCP's client: the whole result."""

from common import serve, steps
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def run(each):
    target = each["url"] if "url" in each else StdioTransport(command=each["command"], args=each["args"])
    async with Client(target) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        listed = {
            name: {
                "description": tool.description,
                "parameters": getattr(tool, "inputSchema", None) or tool.input_schema,
            }
            for name, tool in tools.items()
        }

        async def call(name, arguments):
            answer = await client.call_tool(name, arguments)
            texts = [block.text for block in answer.content if block.type == "text"]
            return {"structured": answer.structured_content, "texts": texts, "meta": answer.meta}

        return await steps(each, listed, call)


serve(run)
