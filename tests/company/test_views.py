"""The views of the example company, held against its server."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp import Client

import louver
from louver.catalogue.files.views import ViewFile, ViewFolder
from tests.fixtures.company import build_server

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "fixtures" / "company" / "views"
FILES = sorted(FOLDER.glob("*.views.json"))
NAMES = [path.name.removesuffix(".views.json") for path in FILES]

CALLS = {
    "get_user_profile": [{"user_id": 1}, {"user_id": 200}],
    "list_issues": [{"limit": 5}, {"state": "closed", "limit": 50}],
    "get_issue": [{"number": 1}, {"number": 2000}],
    "search_orders": [{"text": "desk", "limit": 100}, {"text": "no such thing"}],
}

pytestmark = pytest.mark.anyio


def views_of(tool):
    return json.loads((FOLDER / f"{tool}.views.json").read_text("utf-8"))["views"]


def asked(view, **more):
    return {"projection": {"mode": "view", "view": view, **more}}


VIEWS = [(tool, view) for tool in NAMES for view in views_of(tool)]


def test_there_are_views_for_these_tools():
    """Ours."""
    assert sorted(CALLS) == NAMES
    assert ViewFolder(FOLDER).tools() == NAMES


def test_a_file_satisfies_its_schema_and_is_named_as_its_tool(subtests):
    """Ours."""
    schema = json.loads((ROOT / "schemas" / "view-file.schema.json").read_text("utf-8"))
    for path in FILES:
        with subtests.test(path.name):
            content = json.loads(path.read_text("utf-8"))
            Draft202012Validator(schema).validate(content)
            assert content["$schema"] == schema["$id"]
            assert path.name == f"{content['tool']}.views.json"
            assert {"minimal", "public"} <= content["views"].keys()


async def test_a_file_fits_the_schema_that_the_company_lists(subtests):
    """Ours: every path in it names a field."""
    async with Client(build_server()) as client:
        listed = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    for path in FILES:
        with subtests.test(path.name):
            file = ViewFile.read(path)
            file.check(listed[file.tool])


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_view_is_answered_with_what_it_names(mode, subtests):
    """#1704, "Key Features": view (named presets)."""
    server = build_server()
    louver.attach(server, views=FOLDER)
    async with Client(server, mode=mode) as client:
        for tool, view in VIEWS:
            for arguments in CALLS[tool]:
                with subtests.test(f"{tool} {arguments}, {view}"):
                    whole = await client.call_tool(tool, arguments)
                    answer = await client.call_tool(tool, arguments, meta=asked(view, strict=True))
                    receipt = answer.meta["projection"]
                    assert receipt["applied"] is True
                    # A search that finds nothing holds nothing to leave out.
                    assert receipt["partial"] == (answer.structured_content != whole.structured_content)
                    assert "unmatched" not in receipt
                    assert size(answer.structured_content) <= size(whole.structured_content)
                    Draft202012Validator(receipt["projectedSchema"]).validate(answer.structured_content)


async def test_a_minimal_view_is_a_small_share_and_a_public_one_names_no_address(subtests):
    """#1704, "Performance & Cost Impact" and "Security & Privacy Benefits"."""
    server = build_server()
    louver.attach(server, views=FOLDER)
    async with Client(server) as client:
        for tool in NAMES:
            with subtests.test(tool):
                whole, minimal, public = [
                    (await client.call_tool(tool, CALLS[tool][0], meta=meta)).structured_content
                    for meta in (None, asked("minimal"), asked("public"))
                ]
                assert size(minimal) < 0.15 * size(whole)
                assert "@example" not in json.dumps(public)


async def test_a_page_keeps_its_cursor_in_every_view_that_includes():
    """Ours: `always`; without the cursor a client could not go on."""
    server = build_server()
    louver.attach(server, views=FOLDER)
    async with Client(server) as client:
        for view in views_of("list_issues"):
            page = (await client.call_tool("list_issues", {"limit": 1}, meta=asked(view))).structured_content
            assert page["nextCursor"]


def size(value):
    return len(json.dumps(value, separators=(",", ":")))
