"""Projected schemas by their digest."""

import json

import pytest
from mcp import Client, MCPError

import louver
from steps.profiles import PROFILE, SCHEMA, build, lowlevel, tool
from steps.wire import NEW, attached

pytestmark = pytest.mark.anyio

WANTED = {"mode": "include", "fields": ["name"], "schema": "digest"}


async def test_a_digest_leads_to_the_schema_that_it_names(profiles, era):
    """DERIVATION step: a client can fetch what it has not derived itself."""
    async with attached(profiles.server, era) as wire:
        receipt = (await wire.call("get_profile", projection=WANTED))["_meta"]["projection"]
        assert "projectedSchema" not in receipt
        uri = f"louver://schemas/{receipt['schemaDigest']}"
        answer = await wire.request("resources/read", {"uri": uri})
    (content,) = answer["contents"]
    assert (content["uri"], content["mimeType"]) == (uri, "application/schema+json")
    plan = louver.compile_projection(louver.Projection.include("name"), SCHEMA)
    assert json.loads(content["text"]) == plan.schema
    if era == NEW:
        assert answer["resultType"] == "complete"
        assert answer["cacheScope"] == "public"
        assert answer["ttlMs"] > 0
        assert "io.modelcontextprotocol/serverInfo" in answer["_meta"]


async def test_a_digest_that_no_answer_named_is_refused(profiles, era):
    """Ours: said with what to do instead."""
    async with attached(profiles.server, era) as wire:
        with pytest.raises(MCPError) as refused:
            await wire.request("resources/read", {"uri": "louver://schemas/0123456789abcdef"})
    assert refused.value.code == -32602
    assert "'schema': 'inline'" in refused.value.message


async def test_a_server_without_resources_answers_their_lists_with_nothing(era):
    """WIRE: who adds the capability answers the lists."""
    async with attached(lowlevel(get_profile=tool(SCHEMA)).server, era) as wire:
        assert wire.opening["capabilities"]["resources"] == {}
        listed = await wire.request("resources/list")
        templates = await wire.request("resources/templates/list")
    assert listed["resources"] == []
    assert templates["resourceTemplates"] == []
    assert ("ttlMs" in listed) == (era == NEW)


async def test_a_server_with_resources_answers_as_before(era):
    """Ours: only our own URIs are ours."""
    made = build("MCPServer")

    @made.server.resource("test://greeting")
    def greeting() -> str:
        return "hello"

    async with attached(made.server, era) as wire:
        assert [found["uri"] for found in (await wire.request("resources/list"))["resources"]] == ["test://greeting"]
        read = await wire.request("resources/read", {"uri": "test://greeting"})
    assert read["contents"][0]["text"] == "hello"


async def test_a_typed_client_reads_a_schema(era):
    """Stock clients can follow a digest too."""
    made = build("MCPServer")
    louver.attach(made.server)
    async with Client(made.server, mode="auto" if era == NEW else "legacy") as client:
        answer = await client.call_tool("get_profile", {}, meta={"projection": WANTED})
        digest = answer.meta["projection"]["schemaDigest"]
        read = await client.read_resource(f"louver://schemas/{digest}")
    assert json.loads(read.contents[0].text)["required"] == ["name"]


async def test_the_schemas_named_last_are_kept(monkeypatch, era):
    """Ours: bounded."""
    monkeypatch.setattr("louver.steps.calls.schema_resource.MAX_KEPT_SCHEMAS", 2)
    made = build("Server")
    digests = []
    async with attached(made.server, era) as wire:
        for name in ("id", "name", "email"):
            wanted = {"mode": "include", "fields": [name], "schema": "digest"}
            answer = await wire.call("get_profile", projection=wanted)
            assert answer["structuredContent"] == {name: PROFILE[name]}
            digests.append(answer["_meta"]["projection"]["schemaDigest"])
        with pytest.raises(MCPError):
            await wire.request("resources/read", {"uri": f"louver://schemas/{digests[0]}"})
        assert (await wire.request("resources/read", {"uri": f"louver://schemas/{digests[2]}"}))["contents"]
