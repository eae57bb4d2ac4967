"""LlamaIndex: its tools, called as its agents call them."""

from common import serve, steps
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def run(each):
    target = (each["url"],) if "url" in each else (each["command"],)
    client = BasicMCPClient(*target, args=each.get("args"), timeout=30)
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client=client).to_tool_list_async()}
    listed = {
        name: {"description": tool.metadata.description, "parameters": tool.metadata.get_parameters_dict()}
        for name, tool in tools.items()
    }

    async def call(name, arguments):
        return str(await tools[name].acall(**arguments))

    return await steps(each, listed, call)


serve(run)
