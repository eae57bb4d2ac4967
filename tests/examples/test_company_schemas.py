"""The output schemas of the example company, kept under `examples/company/schemas/`.

After a change to the company they are written by::

    PYTHONPATH=. uv run python tests/examples/test_company_schemas.py
"""

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client

from examples.company import build_server

FOLDER = Path(__file__).parents[2] / "examples" / "company" / "schemas"

pytestmark = pytest.mark.anyio


async def listed(mode="auto"):
    """File name -> schema, for every tool that lists an output schema."""
    async with Client(build_server(), mode=mode) as client:
        tools = (await client.list_tools()).tools
    return {f"{tool.name}.output.schema.json": tool.output_schema for tool in tools if tool.output_schema}


def written(schema):
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


async def test_the_schemas_are_those_that_the_company_lists():
    """Ours: to the byte, and no file more; else run what the head of this file says."""
    found = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()}
    assert found == {name: written(schema) for name, schema in (await listed()).items()}


async def test_they_are_the_same_in_both_eras():
    """Ours: as values; the SDK sorts the keys in 2025-11-25."""
    assert await listed("legacy") == await listed("auto")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, schema in anyio.run(listed).items():
        (FOLDER / name).write_text(written(schema), "utf-8")
