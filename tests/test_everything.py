"""The fixture server asks its client in both eras, over stdio as well; the official suite tries the rest over HTTP."""

from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from fixtures.everything import PROMPTS, RESOURCES, TOOLS
from fixtures.forking import PYTHON

SERVER = StdioServerParameters(command=PYTHON, args=[str(Path(__file__).parent / "fixtures" / "everything.py")])

GIVEN = {"name": "Ada", "color": "green"}

every_era = pytest.mark.parametrize("mode", ["legacy", "auto"])


async def elicit(context, params):
    fields = params.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={name: GIVEN[name] for name in fields})


async def sample(context, params):
    content = types.TextContent(type="text", text=params.messages[0].content.text.upper())
    return types.CreateMessageResult(role="assistant", content=content, model="none")


@pytest.mark.anyio
@every_era
async def test_a_tool_gets_its_answers_whatever_the_era(mode):
    """Ours: as requests while the call is open, or in rounds."""
    async with Client(SERVER, mode=mode, elicitation_callback=elicit, sampling_callback=sample) as client:
        rounds = await client.call_tool("test_input_required_result_multi_round")
        model = await client.call_tool("test_sampling", {"prompt": "hi"})
    assert [rounds.content[0].text, model.content[0].text] == ["Ada likes green.", "LLM response: HI"]


@pytest.mark.anyio
@every_era
async def test_a_client_is_not_asked_what_it_cannot(mode):
    """2026-07-28, `MissingRequiredClientCapabilityError`; before that revision the code is ours."""
    async with Client(SERVER, mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("test_sampling", {"prompt": "hi"})
    assert refused.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert refused.value.error.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.anyio
@every_era
async def test_everything_is_listed(mode):
    async with Client(SERVER, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == list(PROMPTS)
        assert [resource.uri for resource in (await client.list_resources()).resources] == list(RESOURCES)
