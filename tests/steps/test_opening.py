"""What a server says of projection when a client connects."""

import pytest
from mcp import Client
from mcp.server import Server

import louver
from louver.limits import MAX_SEGMENTS
from steps.profiles import build, lowlevel, tool
from steps.wire import NEW, OLD, attached, connect

pytestmark = pytest.mark.anyio

LITERAL = {"supported": True, "modes": ["include", "exclude", "view"], "maxDepth": MAX_SEGMENTS}


async def test_the_capability_stands_in_the_literal_form(profiles, era):
    """#1704, section 1; on `initialize` and on `server/discover`."""
    async with attached(profiles.server, era) as wire:
        assert wire.opening["capabilities"]["tools"]["projection"] == LITERAL


async def test_the_capability_stands_in_the_extension_form_too(profiles, era):
    """Ours: typed clients drop the literal form."""
    async with attached(profiles.server, era) as wire:
        said = wire.opening["capabilities"]["extensions"]["dev.louver/projection"]
    assert said == {**LITERAL, "schema": ["inline", "none"]}


async def test_the_argument_is_told_only_where_it_is_taken(profiles, era):
    """Ours: off by default."""
    async with attached(profiles.server, era, argument=True) as wire:
        said = wire.opening["capabilities"]["extensions"]["dev.louver/projection"]
    assert said["argument"] == "output_fields"


async def test_what_the_server_says_else_stays(profiles, era):
    """Ours."""
    async with connect(profiles.server, era) as wire:
        before = wire.opening
    async with attached(profiles.server, era) as wire:
        after = wire.opening
    del after["capabilities"]["tools"]["projection"]
    del after["capabilities"]["extensions"]["dev.louver/projection"]
    if "extensions" not in before["capabilities"]:
        assert after["capabilities"].pop("extensions") == {}
    assert after == before


async def test_other_extensions_stay_beside_ours():
    """Ours; in 2025-11-25 the SDK drops what a server says of extensions, before it comes to us."""
    made = lowlevel(t=tool())
    made.server.extensions = {"com.example/other": {"x": 1}}
    async with attached(made.server, NEW) as wire:
        extensions = wire.opening["capabilities"]["extensions"]
    assert extensions.keys() == {"com.example/other", "dev.louver/projection"}
    assert extensions["com.example/other"] == {"x": 1}


async def test_a_server_without_tools_does_not_say_that_it_has_some(era):
    """Ours: a `tools` capability would make clients list what is not there."""
    async with attached(Server("empty", version="1"), era) as wire:
        assert "tools" not in wire.opening["capabilities"]
        assert "extensions" not in wire.opening["capabilities"]


@pytest.mark.parametrize(("mode", "era"), [("legacy", OLD), ("auto", NEW)])
async def test_a_typed_client_sees_the_extension_form(mode, era):
    """The SDK drops unknown members of `capabilities.tools`, and keeps extensions."""
    server = build("MCPServer").server
    louver.attach(server)
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == era
        capabilities = client.server_capabilities
    assert capabilities.extensions["dev.louver/projection"]["modes"] == LITERAL["modes"]
    assert "projection" not in capabilities.tools.model_dump()
