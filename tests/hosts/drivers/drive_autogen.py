"""AutoGen: its tools, called as its agents call them."""

from autogen_core import CancellationToken
from autogen_ext.tools.mcp import StdioServerParams, StreamableHttpServerParams, mcp_server_tools
from common import serve, steps


async def run(each):
    if "url" in each:
        params = StreamableHttpServerParams(url=each["url"], timeout=30)
    else:
        params = StdioServerParams(command=each["command"], args=each["args"], read_timeout_seconds=30)
    tools = {tool.name: tool for tool in await mcp_server_tools(params)}
    listed = {
        name: {"description": tool.description, "parameters": tool.schema.get("parameters")}
        for name, tool in tools.items()
    }

    async def call(name, arguments):
        return tools[name].return_value_as_string(await tools[name].run_json(arguments, CancellationToken()))

    return await steps(each, listed, call)


serve(run)
