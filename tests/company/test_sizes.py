"""The example company answers as much as real servers do."""

import json

import pytest
from mcp import Client

from tests.fixtures.company import build_server
from tests.fixtures.company.rows.counts import ISSUES, USERS

pytestmark = pytest.mark.anyio


def tokens(value):
    """Estimated tokens of a value: characters of its compact JSON divided by 3.5."""
    return len(json.dumps(value, separators=(",", ":"))) / 3.5


async def answer(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


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
