"""The descriptions of the example company, held against its server."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp import Client

from louver.catalogue.files.descriptions import Described, DescriptionFiles
from tests.fixtures.company import build_server

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "fixtures" / "company" / "tool_descriptions"
FILES = sorted(FOLDER.glob("*.json"))
NAMES = [path.name.removesuffix(".json") for path in FILES]

pytestmark = pytest.mark.anyio


async def test_each_tool_of_the_company_has_a_description():
    """000 section 7.1."""
    async with Client(build_server()) as client:
        assert sorted(tool.name for tool in (await client.list_tools()).tools) == NAMES


def test_a_file_satisfies_its_schema(subtests):
    """Ours."""
    schema = json.loads((ROOT / "schemas" / "description-file.schema.json").read_text("utf-8"))
    for path in FILES:
        with subtests.test(path.name):
            content = json.loads(path.read_text("utf-8"))
            Draft202012Validator(schema).validate(content)
            assert content["$schema"] == schema["$id"]
            assert content["examples"]


async def test_every_example_of_a_tool_can_be_called(subtests):
    """000 section 3.2: an example that fails would teach mistakes; one tool is there to fail."""
    async with Client(build_server()) as client:
        for tool in NAMES:
            for example in DescriptionFiles({"": FOLDER}).find(tool).content["examples"]:
                with subtests.test(f"{tool}: {example}"):
                    assert example.keys() == {"description", "input"}
                    answer = await client.call_tool(tool, example["input"])
                    assert answer.is_error == (tool == "always_fails"), answer


async def test_a_description_satisfies_the_schema_of_descriptions(subtests):
    """000 section 4.4."""
    schema = json.loads((ROOT / "schemas" / "disclosure.schema.json").read_text("utf-8"))
    form = Draft202012Validator({**schema, "anyOf": [{"$ref": "#/$defs/description"}]})
    async with Client(build_server()) as client:
        listed = {each.name: each for each in (await client.list_tools()).tools}
    for tool in NAMES:
        with subtests.test(tool):
            wire = listed[tool].model_dump(by_alias=True, mode="json", exclude_none=True)
            described = Described(wire, DescriptionFiles({"": FOLDER}).find(tool))
            form.validate(described.full)
            form.validate(described.granting("v1.abc"))
