"""What one tool saves of the schemas of eight."""

import json

import pytest

from benchmarks.scenarios import disclosure

pytestmark = pytest.mark.anyio


async def test_one_tool_saves_three_quarters_of_eight_schemas():
    """001 pattern 1: its figure, here in bytes; in tokens it is a claim of the benchmarks."""
    eight = json.loads(await disclosure.listed(disclosure.build_server))
    assert len(eight) == 8
    assert len(await disclosure.one_tool()) <= len(disclosure.inputs(eight)) / 4
