"""mcp-use: its tools for LangChain, called as an agent calls them."""

from common import serve, steps
from mcp_use import MCPClient
from mcp_use.agents.adapters import LangChainAdapter


async def run(each):
    server = {"url": each["url"]} if "url" in each else {"command": each["command"], "args": each["args"]}
    client = MCPClient.from_dict({"mcpServers": {"people": server}})
    try:
        tools = {tool.name: tool for tool in await LangChainAdapter().create_tools(client)}
        listed = {
            name: {"description": tool.description, "parameters": tool.args_schema.model_json_schema()}
            for name, tool in tools.items()
        }
        return await steps(each, listed, lambda name, arguments: tools[name].ainvoke(arguments))
    finally:
        await client.close_all_sessions()


serve(run)
