"""Answers of public servers as they were recorded: which can be projected, and by whose schema."""

import json

import pytest
from jsonschema import Draft202012Validator

from core.corpus import catalogue, recordings
from louver.core.json import compact
from louver.steps.calls.request import RequestOptions
from louver.steps.projection import ProjectionStep
from louver.steps.tools.registry import ToolRegistry
from louver.steps.tools.views import ToolViews
from steps.profiles import lowlevel
from steps.requests import asks
from steps.wire import attached, text_of

pytestmark = pytest.mark.anyio

DECLARED, INFERRED, PROSE, ERROR = "declared", "inferred", "no_structured_output", "error_result"

BECOMES = {
    "mcp-server-git": {"git_status": PROSE, "git_log": PROSE, "git_diff_unstaged": PROSE},
    "mcp-server-time": {"get_current_time": DECLARED, "convert_time": DECLARED},
    "server-everything": {
        "echo": PROSE,
        "get-structured-content": DECLARED,
        "get-sum": PROSE,
        "get-annotated-message": PROSE,
        "get-tiny-image": PROSE,
        "get-resource-links": PROSE,
        "get-resource-reference": PROSE,
    },
    "server-filesystem": {
        "list_directory": DECLARED,
        "directory_tree": INFERRED,
        "read_text_file": DECLARED,
        "list_directory_with_sizes": DECLARED,
        "get_file_info": DECLARED,
        "search_files": DECLARED,
        "read_text_file, denied": ERROR,
    },
    "server-memory": {
        "create_entities": DECLARED,
        "create_relations": DECLARED,
        "read_graph": DECLARED,
        "search_nodes": DECLARED,
        "open_nodes": DECLARED,
    },
    "server-sequential-thinking": {"sequentialthinking": DECLARED},
}
"""By server and call: whose schema the receipt's comes from, or why the answer is as it was."""


async def answers(recording, wire, made, projection):
    """Each recorded call and its answer from a server that lists and answers what was recorded."""
    for call in recording["calls"]:
        made.tools[call["tool"]]["result"] = call["response"]
        yield call, await wire.call(call["tool"], call["arguments"], projection=projection)


def served(recording, *, without_schemas=False):
    """A server of the recorded tools; if so wanted, of none of which the output is declared."""
    left_out = {"name", "outputSchema"} if without_schemas else {"name"}
    listed = {tool["name"]: {k: v for k, v in tool.items() if k not in left_out} for tool in recording["tools"]}
    return lowlevel(**{name: {"listed": tool} for name, tool in listed.items()})


@pytest.mark.parametrize("name", BECOMES)
async def test_which_answers_of_public_servers_can_be_projected(era, name):
    """Ours, on real servers: JSON in a string of a file server too; prose stays prose."""
    recording = recordings(name)
    made = served(recording)
    found = {}
    async with attached(made.server, era) as wire:
        async for call, answer in answers(recording, wire, made, {"mode": "exclude", "fields": ["**.nope"]}):
            receipt = answer["_meta"]["projection"]
            source = receipt.get("schemaSource", DECLARED) if receipt["applied"] else receipt["reason"]
            found[call["tool"] + (", denied" if answer.get("isError") else "")] = source
            if receipt["applied"]:
                assert answer["structuredContent"].keys() == call["response"]["structuredContent"].keys()
    assert found == BECOMES[name]


@pytest.mark.parametrize("name", [name for name, calls in BECOMES.items() if DECLARED in calls.values()])
async def test_they_can_be_projected_as_well_without_their_schemas(era, name):
    """GATEWAY.md: most servers declare none; what is inferred admits the answer, and not the whole."""
    recording = recordings(name)
    made = served(recording, without_schemas=True)
    async with attached(made.server, era) as wire:
        async for call, answer in answers(recording, wire, made, {"mode": "exclude", "fields": ["**.name", "*.text"]}):
            receipt = answer["_meta"]["projection"]
            if receipt["applied"]:
                assert receipt["schemaSource"] == "inferred"
                schema, whole = receipt["projectedSchema"], call["response"]["structuredContent"]
                assert Draft202012Validator(schema).is_valid(answer["structuredContent"])
                if call["tool"] == "directory_tree":
                    schema, whole = schema["properties"]["content"]["contentSchema"], json.loads(whole["content"])
                assert Draft202012Validator(schema).is_valid(text_of(answer))
                assert Draft202012Validator(schema).is_valid(whole) is not receipt["partial"]


@pytest.mark.parametrize("may_lengthen", [False, True])
async def test_no_servers_list_alone_gets_longer_for_a_model(may_lengthen):
    """VALUE.md: the first list, before anything is counted; of the recorded servers and those of LiveMCPBench."""
    servers = {name: recordings(name)["tools"] for name in BECOMES}
    for tool in catalogue():
        shown = {key: tool[key] for key in ("name", "description", "inputSchema") if tool.get(key) is not None}
        servers.setdefault(tool["server"], []).append(shown)
    longer = [name for name, tools in servers.items() if await added(tools, may_lengthen=may_lengthen) > 0]
    assert len(servers) > 25
    # A server's author may want the argument all the same.
    assert bool(longer) is may_lengthen, longer


async def test_the_argument_goes_where_answers_are_large_in_fact():
    """VALUE.md: also past that room; where nothing is counted, as far as it goes."""
    tools = recordings("server-memory")["tools"]
    sizes = {"read_graph": True, "search_nodes": False}
    listed = await taking(tools, has_large_answers=sizes.get)
    assert "read_graph" in listed
    assert "search_nodes" not in listed
    assert "search_nodes" in await taking(tools, client="other", has_large_answers=sizes.get)


async def listed_by(tools, client="codex-mcp-client", **options):
    """What a client is listed by the step of a gateway."""
    options = RequestOptions("projectable", **{"may_lengthen": False, **options})
    step = ProjectionStep({}, ToolRegistry(ToolViews(None, {})), options, "relaxed")
    info = {"io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"}}

    async def server(_):
        return {"tools": tools}

    return (await step(asks("tools/list", params={"_meta": info}), server))["tools"]


async def taking(tools, **options):
    listed = await listed_by(tools, **options)
    return {tool["name"] for tool in listed if "output_fields" in tool["inputSchema"].get("properties", {})}


async def added(tools, **options):
    """Characters that a list is longer."""
    return len(read(await listed_by(tools, **options))) - len(read(tools))


def read(tools):
    """What a model reads of a list."""
    return compact([{key: tool.get(key) for key in ("name", "description", "inputSchema")} for tool in tools])


async def test_a_tree_of_files_is_projected_within_its_string(era):
    """GATEWAY.md: `{"content": "..."}`, as server-filesystem sends its tree."""
    recording = recordings("server-filesystem")
    made = served(recording)
    recording["calls"] = [call for call in recording["calls"] if call["tool"] == "directory_tree"]
    async with attached(made.server, era) as wire:
        wanted = {"mode": "include", "fields": ["name", "children.name"]}
        [(call, answer)] = [pair async for pair in answers(recording, wire, made, wanted)]
    receipt, names = answer["_meta"]["projection"], text_of(answer)
    assert names[0].keys() == {"name"}
    assert names[-1].keys() == {"name", "children"}
    assert "type" not in answer["content"][0]["text"]
    assert answer["structuredContent"] == {"content": answer["content"][0]["text"]}
    assert len(answer["content"][0]["text"]) < len(call["response"]["structuredContent"]["content"]) / 2
    tree = receipt["projectedSchema"]["properties"]["content"]["contentSchema"]
    assert Draft202012Validator(tree).is_valid(names)
    assert tree["items"]["required"] == ["name"]
