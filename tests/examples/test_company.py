"""The example company as a client sees it: answers, schemas, errors, sizes."""

import json
import os
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp import Client

from examples.company import build_server
from examples.company.rows.counts import ISSUES, ORDERS, USERS
from fixtures.command import louver

pytestmark = pytest.mark.anyio

ERAS = ("legacy", "auto")

CALLS = (
    ("get_user_profile", {"user_id": 1}),
    ("get_user_profile", {"user_id": USERS}),
    ("list_issues", {}),
    ("list_issues", {"state": "closed", "limit": 3}),
    ("list_issues", {"state": "all", "limit": 1}),
    ("get_issue", {"number": 1}),
    ("get_issue", {"number": ISSUES}),
    ("search_orders", {"text": "OAK DESK"}),
    ("search_orders", {"text": "no such thing"}),
    ("get_order_tree", {"order_id": 1}),
    ("get_order_tree", {"order_id": ORDERS}),
    ("list_labels", {}),
)
"""Calls of every tool that answers in a declared shape, at the ends of what it accepts."""


def tokens(value):
    """Estimated tokens of a value: characters of its compact JSON divided by 3.5."""
    return len(json.dumps(value, separators=(",", ":"))) / 3.5


async def answer(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return result.content[0].text


@pytest.mark.parametrize("era", ERAS)
async def test_every_answer_satisfies_the_listed_output_schema(era):
    """2025-11-25 and 2026-07-28, tools: structured results MUST conform to the output schema."""
    async with Client(build_server(), mode=era) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert {tool for tool, _ in CALLS} == schemas.keys() - {"export_stats", "always_fails"}
        for tool, arguments in CALLS:
            Draft202012Validator.check_schema(schemas[tool])
            validator = Draft202012Validator(schemas[tool], format_checker=Draft202012Validator.FORMAT_CHECKER)
            validator.validate(await answer(client, tool, **arguments))


async def test_both_eras_give_the_same_answers():
    """Ours."""
    server = build_server()
    async with Client(server, mode="legacy") as old, Client(server) as new:
        assert old.protocol_version != new.protocol_version
        for tool, arguments in CALLS:
            assert await answer(old, tool, **arguments) == await answer(new, tool, **arguments)


@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_says_that_it_only_reads(era):
    """Ours; the hints are those of the specification's `ToolAnnotations`."""
    async with Client(build_server(), mode=era) as client:
        for tool in (await client.list_tools()).tools:
            hints = tool.annotations
            assert (hints.read_only_hint, hints.idempotent_hint, hints.open_world_hint) == (True, True, False)
            assert tool.description


async def test_a_list_is_wrapped_by_the_sdk():
    """The SDK: a `list[...]` becomes `{"result": [...]}`, its text one block for each element."""
    async with Client(build_server()) as client:
        result = await client.call_tool("list_labels")
    labels = result.structured_content["result"]
    assert labels[0]["name"] == "bug"
    assert [json.loads(block.text) for block in result.content] == labels


async def test_the_export_is_json_text_without_a_schema():
    """Ours: the case of a tool with JSON in `content` and no `structuredContent`."""
    async with Client(build_server()) as client:
        result = await client.call_tool("export_stats")
    assert result.structured_content is None
    assert json.loads(result.content[0].text)["issues"]["total"] == ISSUES


async def test_a_refused_call_says_what_would_have_been_right(subtests):
    """Ours."""
    async with Client(build_server()) as client:
        for tool, arguments, text in (
            ("get_user_profile", {"user_id": 0}, "user_id 0 does not exist: expected 1 to 200"),
            ("get_user_profile", {"user_id": 201}, "user_id 201 does not exist: expected 1 to 200"),
            ("get_user_profile", {"user_id": 10**30}, "expected 1 to 200"),
            ("get_issue", {"number": 2001}, "number 2001 does not exist: expected 1 to 2000"),
            ("get_order_tree", {"order_id": -1}, "order_id -1 does not exist: expected 1 to 1250"),
            ("list_issues", {"cursor": "x"}, "cursor 'x' is not one of ours: expected the nextCursor"),
            ("list_issues", {"limit": 0}, "greater than or equal to 1"),
            ("list_issues", {"state": "shut"}, "'open', 'closed' or 'all'"),
            ("search_orders", {"text": ""}, "at least 1 character"),
            ("always_fails", {}, "this tool always fails"),
        ):
            with subtests.test(f"{tool} {arguments}"):
                assert text in await refusal(client, tool, **arguments)


async def test_following_the_cursor_visits_every_issue_once():
    """Ours."""
    seen = []
    async with Client(build_server()) as client:
        page = await answer(client, "list_issues", limit=300)
        while True:
            seen += [issue["number"] for issue in page["issues"]]
            if page["nextCursor"] is None:
                break
            page = await answer(client, "list_issues", limit=300, cursor=page["nextCursor"])
    assert len(seen) == page["total"]
    assert seen == sorted(set(seen), reverse=True)


async def test_a_search_takes_the_text_as_it_stands():
    """Ours: `%` and `_` are no wildcards."""
    async with Client(build_server()) as client:
        assert (await answer(client, "search_orders", text="%"))["total"] == 0
        found = await answer(client, "search_orders", text="tea kettle", limit=2)
    assert found["total"] > len(found["orders"]) == 2
    for order in found["orders"]:
        assert "Tea kettle" in {item["product"]["name"] for item in order["items"]}


async def test_few_fields_of_any_profile_cost_a_small_share_of_it():
    """#1704, "Performance & Cost Impact": name 97.5 %, name and email 95 %, one field 97.5 % saved."""
    async with Client(build_server()) as client:
        for user_id in range(1, USERS + 1):
            profile = await answer(client, "get_user_profile", user_id=user_id)
            whole = tokens(profile)
            assert 2400 / 3.5 <= whole <= 3400 / 3.5
            assert tokens({"name": profile["name"]}) <= 0.025 * whole
            assert tokens({name: profile[name] for name in ("name", "email")}) <= 0.05 * whole
            assert tokens({"status": profile["status"]}) <= 0.025 * whole


async def test_profiles_and_issues_have_a_realistic_size():
    """#1704: a profile of about 800 tokens; the size of an issue is ours."""
    async with Client(build_server()) as client:
        profiles = [await answer(client, "get_user_profile", user_id=user_id) for user_id in range(1, USERS + 1, 5)]
        page = await answer(client, "list_issues", state="all", limit=ISSUES)
    assert sum(map(tokens, profiles)) / len(profiles) == pytest.approx(800, rel=0.05)
    sizes = [tokens(issue) * 3.5 for issue in page["issues"]]
    assert len(sizes) == ISSUES
    assert 1800 <= min(sizes) <= max(sizes) <= 3600


async def test_both_kinds_of_manager_occur():
    """Ours: an object, or null."""
    async with Client(build_server()) as client:
        first = await answer(client, "get_user_profile", user_id=1)
        last = await answer(client, "get_user_profile", user_id=USERS)
    assert first["manager"] is None
    assert last["manager"].keys() == {"id", "name", "email"}


async def test_an_order_tree_and_its_schema_are_recursive():
    """Ours: order 1 has four levels of sub-orders, order 5 has none."""

    def levels(node):
        return 1 + max(map(levels, node["sub_orders"]), default=0)

    async with Client(build_server()) as client:
        schema = next(tool.output_schema for tool in (await client.list_tools()).tools if tool.name == "get_order_tree")
        assert schema["properties"]["sub_orders"]["items"] == {"$ref": "#/$defs/OrderNode"}
        recursion = schema["$defs"]["OrderNode"]["properties"]["sub_orders"]["items"]
        assert recursion == {"$ref": "#/$defs/OrderNode"}
        assert levels(await answer(client, "get_order_tree", order_id=1)) == 5
        assert levels(await answer(client, "get_order_tree", order_id=5)) == 1


def test_it_is_served_behind_the_gateway_with_its_views(monkeypatch):
    """Ours: as `examples/company/README.md` says."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    done = louver("check", "--config", Path(__file__).parents[2] / "examples" / "company" / "mcp.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ready" in done.stdout
