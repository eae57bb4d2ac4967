"""pydantic-ai: likewise."""

from common import PROMPT, serve
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def run(each):
    if "url" in each:
        transport = StreamableHttpTransport(each["url"])
    else:
        transport = StdioTransport(command=each["command"], args=each["args"])
    model = OpenAIChatModel("gpt-4.1", provider=OpenAIProvider(base_url=f"{each['model']}/v1", api_key="fake"))
    agent = Agent(model, toolsets=[MCPToolset(transport, init_timeout=None)])
    async with agent:
        await agent.run(PROMPT)
    return {}


serve(run)
