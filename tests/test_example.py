"""The server of `louver demo` and `serve --example`: answers, schemas, sizes, and its views."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp import Client

import louver
from louver.catalogue.files.views import ViewFile
from louver.example import ISSUES, ORDERS, USERS, build_server

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "views").glob("*.views.json"))
ERAS = ("legacy", "auto")
CALLS = (
    ("get_user_profile", {"user_id": 1}),
    ("get_user_profile", {"user_id": USERS}),
    ("list_users", {}),
    ("list_issues", {"state": "all", "limit": ISSUES}),
    ("list_issues", {"state": "closed", "limit": 3}),
    ("get_issue", {"number": 1}),
    ("get_issue", {"number": ISSUES}),
    ("search_orders", {"text": "A", "limit": ORDERS}),
    ("search_orders", {"text": "no such thing"}),
)
DIGEST = "5cabe06dbc7343228d16fb6f9885d2651c72a22a6d174aa34ca5639b0b1b3e76"
"""Of what all these calls answer."""

pytestmark = pytest.mark.anyio


async def answers(client, calls=CALLS):
    return [(await client.call_tool(tool, arguments)).structured_content for tool, arguments in calls]


def size(value):
    return len(json.dumps(value, separators=(",", ":")))


@pytest.mark.parametrize("mode", ERAS)
async def test_every_answer_satisfies_the_listed_output_schema(mode):
    """2025-11-25 and 2026-07-28, tools: structured results MUST conform to the output schema."""
    async with Client(build_server(), mode=mode) as client:
        tools = (await client.list_tools()).tools
        found = await answers(client)
    assert {tool for tool, _ in CALLS} == {tool.name for tool in tools} - {"export_stats"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    schemas = {tool.name: tool.output_schema for tool in tools}
    for (tool, _), answer in zip(CALLS, found, strict=True):
        Draft202012Validator(schemas[tool], format_checker=Draft202012Validator.FORMAT_CHECKER).validate(answer)


async def test_answers_are_the_same_on_every_machine():
    """Ours: they do not depend on the version of Python, on a clock, or on the order of a set."""
    async with Client(build_server()) as client:
        text = json.dumps(await answers(client))
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST
    assert all(ip.startswith("203.0.113.") for ip in re.findall(r"\d+\.\d+\.\d+\.\d+", text))
    assert set(re.findall(r"@([\w.-]+)", text)) == {"example.com"}


async def test_the_export_is_json_text_without_a_schema():
    """Ours."""
    async with Client(build_server()) as client:
        result = await client.call_tool("export_stats")
    assert result.structured_content is None
    assert json.loads(result.content[0].text)["users"]["total"] == USERS


async def test_following_the_cursor_visits_every_issue_once():
    """Ours."""
    seen, arguments = [], {"limit": 30}
    async with Client(build_server()) as client:
        while True:
            page = (await client.call_tool("list_issues", arguments)).structured_content
            seen += [issue["number"] for issue in page["issues"]]
            if page["nextCursor"] is None:
                break
            arguments["cursor"] = page["nextCursor"]
    assert len(seen) == page["total"]
    assert seen == sorted(set(seen), reverse=True)


async def test_few_fields_of_any_profile_cost_a_small_share_of_it():
    """#1704, "Performance & Cost Impact": name 97.5 %, name and email 95 %, one field 97.5 % saved."""
    async with Client(build_server()) as client:
        profiles = await answers(client, [("get_user_profile", {"user_id": number + 1}) for number in range(USERS)])
    assert len({profile["name"] for profile in profiles}) == USERS
    for profile in profiles:
        for fields, share in ((["name"], 0.025), (["name", "email"], 0.05), (["status"], 0.025)):
            assert size({name: profile[name] for name in fields}) <= share * size(profile)


async def test_every_path_of_a_view_names_a_field(subtests):
    """Ours; and a file satisfies its schema."""
    form = Draft202012Validator(json.loads((ROOT / "schemas" / "view-file.schema.json").read_text("utf-8")))
    async with Client(build_server()) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    for path in FILES:
        with subtests.test(path.name):
            form.validate(json.loads(path.read_text("utf-8")))
            file = ViewFile.read(path)
            file.check(schemas[file.tool])


@pytest.mark.parametrize("mode", ERAS)
async def test_a_view_is_answered_with_what_it_names(mode, subtests):
    """#1704, "Key Features": view (named presets)."""
    server = build_server()
    louver.attach(server, views=ROOT / "views")
    views = [(file, view) for file in map(ViewFile.read, FILES) for view in file.views.named]
    async with Client(server, mode=mode) as client:
        for file, view in views:
            with subtests.test(f"{file.tool}: {view}"):
                arguments = next(arguments for tool, arguments in CALLS if tool == file.tool)
                whole = (await client.call_tool(file.tool, arguments)).structured_content
                meta = {"projection": {"mode": "view", "view": view, "strict": True}}
                answer = await client.call_tool(file.tool, arguments, meta=meta)
                receipt, kept = answer.meta["projection"], answer.structured_content
                assert receipt["applied"] is receipt["partial"] is True
                assert size(kept) < size(whole) * (0.15 if view == "minimal" else 1)
                Draft202012Validator(receipt["projectedSchema"]).validate(kept)
                assert view != "public" or "@example" not in json.dumps(kept)
