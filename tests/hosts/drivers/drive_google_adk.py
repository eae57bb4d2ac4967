"""Google ADK: the agent's own loop, against a Gemini that is played."""

import os

from common import PROMPT, serve
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.genai import types
from mcp import StdioServerParameters


async def run(each):
    os.environ |= {"GOOGLE_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": each["model"]}
    if "url" in each:
        params = StreamableHTTPConnectionParams(url=each["url"], timeout=30)
    else:
        server = StdioServerParameters(command=each["command"], args=each["args"])
        params = StdioConnectionParams(server_params=server, timeout=30)
    tools = McpToolset(connection_params=params)
    try:
        agent = LlmAgent(model="gemini-2.5-flash", name="a", instruction="x", tools=[tools])
        runner = InMemoryRunner(agent=agent, app_name="app")
        conversation = await runner.session_service.create_session(app_name="app", user_id="user")
        message = types.Content(role="user", parts=[types.Part(text=PROMPT)])
        async for _ in runner.run_async(user_id="user", session_id=conversation.id, new_message=message):
            pass
    finally:
        await tools.close()
    return {}


serve(run)
