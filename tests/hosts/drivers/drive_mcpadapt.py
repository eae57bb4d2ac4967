"""mcpadapt's adapter for LangChain."""

from common import serve, steps
from mcp import StdioServerParameters
from mcpadapt.core import MCPAdapt
from mcpadapt.langchain_adapter import LangChainAdapter


async def run(each):
    if "url" in each:
        server = {"url": each["url"], "transport": "streamable-http"}
    else:
        server = StdioServerParameters(command=each["command"], args=each["args"])
    async with MCPAdapt(server, LangChainAdapter()) as found:
        tools = {tool.name: tool for tool in found}
        listed = {name: {"description": tool.description, "parameters": tool.args} for name, tool in tools.items()}
        return await steps(each, listed, lambda name, arguments: tools[name].ainvoke(arguments))


serve(run)
