"""mcpadapt's adapter for LangChain, which takes every argument for required: a model sends the others empty."""

from common import serve, steps
from mcp import StdioServerParameters
from mcpadapt.core import MCPAdapt
from mcpadapt.langchain_adapter import LangChainAdapter

EMPTY = {"array": [], "string": "", "integer": 0, "boolean": False, "object": {}}


async def run(each):
    if "url" in each:
        server = {"url": each["url"], "transport": "streamable-http"}
    else:
        server = StdioServerParameters(command=each["command"], args=each["args"])
    async with MCPAdapt(server, LangChainAdapter()) as found:
        tools = {tool.name: tool for tool in found}
        listed = {name: {"description": tool.description, "parameters": tool.args} for name, tool in tools.items()}

        async def call(name, arguments):
            empty = {argument: EMPTY.get(said.get("type")) for argument, said in tools[name].args.items()}
            return await tools[name].ainvoke({**empty, **arguments})

        return await steps(each, listed, call)


serve(run)
