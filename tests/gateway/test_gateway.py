"""A client cannot tell the gateway from the server behind it, over both transports and in both eras on both sides."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager

import mcp_types as types
import pytest
from mcp import Client, MCPError

from fixtures.everything import PROMPTS, RESOURCES, TOOLS
from gateway.gateways import EVERYTHING, everything, gateway, over_stdio

pytestmark = pytest.mark.anyio

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
MODES = {HANDSHAKE: "legacy", STATELESS: "auto"}
GIVEN = {"name": "Ada", "color": "green"}

every_side = pytest.mark.parametrize("front", ["stdio", "http"])
every_upstream = pytest.mark.parametrize("transport", ["stdio", "http"])
every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
every_other = pytest.mark.parametrize("only", [HANDSHAKE, STATELESS])


@contextmanager
def behind(transport, front, *arguments):
    """What a client connects to: a gateway before the fixture server."""
    with contextmanager(_upstream)(transport, *arguments) as upstream:
        if front == "stdio":
            yield over_stdio(*upstream)
        else:
            with gateway(*upstream) as url:
                yield url


def _upstream(transport, *arguments):
    if transport == "stdio":
        yield ["--", *EVERYTHING, *arguments]
    else:
        with everything(*arguments) as url:
            yield ["--url", url]


@asynccontextmanager
async def connected(target, era, **callbacks):
    async with Client(target, mode=MODES[era], **callbacks) as client:
        assert client.protocol_version == era
        yield client


async def elicit(_context, params):
    fields = params.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={name: GIVEN[name] for name in fields})


async def sample(_context, params):
    content = types.TextContent(type="text", text=params.messages[0].content.text.upper())
    return types.CreateMessageResult(role="assistant", content=content, model="none")


@every_side
@every_upstream
@every_era
@every_other
async def test_everything_is_there_and_answers(front, transport, era, only):
    """GATEWAY.md, "Transparency first", in all combinations."""
    with behind(transport, front, "--only", only) as target:
        async with connected(target, era, elicitation_callback=elicit, sampling_callback=sample) as client:
            assert client.server_info.name == "everything"
            assert [tool.name for tool in (await client.list_tools()).tools] == list(TOOLS)
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == list(PROMPTS)
            assert [resource.uri for resource in (await client.list_resources()).resources] == list(RESOURCES)
            simple = await client.call_tool("test_simple_text", {})
            assert simple.content[0].text == "This is a simple text response for testing."
            rounds = await client.call_tool("test_input_required_result_multi_round")
            assert rounds.content[0].text == "Ada likes green."
            model = await client.call_tool("test_sampling", {"prompt": "hi"})
            assert model.content[0].text == "LLM response: HI"


@every_side
@every_era
@every_other
async def test_a_client_is_not_asked_what_it_cannot(front, era, only):
    """GATEWAY.md: a client's missing capability is the upstream's to refuse, not the gateway's to ignore."""
    with behind("http", front, "--only", only) as target:
        async with connected(target, era) as client:
            with pytest.raises(MCPError):
                await client.call_tool("test_sampling", {"prompt": "hi"})
