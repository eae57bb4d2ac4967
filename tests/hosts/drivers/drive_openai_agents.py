"""OpenAI Agents: the agent's own loop, against the model that is played."""

import os

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from common import PROMPT, serve


async def run(each):
    os.environ |= {"OPENAI_API_KEY": "fake", "OPENAI_BASE_URL": f"{each['model']}/v1"}
    set_tracing_disabled(True)
    options = {"client_session_timeout_seconds": 30}
    if "url" in each:
        server = MCPServerStreamableHttp(params={"url": each["url"]}, **options)
    else:
        server = MCPServerStdio(params={"command": each["command"], "args": each["args"]}, **options)
    async with server:
        await Runner.run(Agent(name="a", instructions="x", mcp_servers=[server], model="gpt-4.1"), PROMPT)
    return {}


serve(run)
