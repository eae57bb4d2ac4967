"""LangChain's MCP adapters, in an agent of LangGraph."""

from common import PROMPT, serve
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent


async def run(each):
    if "url" in each:
        server = {"url": each["url"], "transport": "streamable_http"}
    else:
        server = {"command": each["command"], "args": each["args"], "transport": "stdio"}
    tools = await MultiServerMCPClient({"people": server}).get_tools()
    model = ChatOpenAI(model="gpt-4.1", base_url=f"{each['model']}/v1", api_key="fake")
    await create_react_agent(model, tools).ainvoke({"messages": [("user", PROMPT)]})
    return {}


serve(run)
