"""Of what an upstream lists, what is no tool is left out."""

import pytest

from fixtures.forking import PYTHON
from gateway.links import FIXTURES
from louver.gateway.back.lists.list_cache import MAX_TOOL_BYTES, ListCache, without_bad_tools
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.wire.mcp import TOOLS_CHANGED
from steps.wire import NEW, connect

pytestmark = pytest.mark.anyio

# As PHP writes an object without members.
EMPTY = {"name": "empty", "inputSchema": {"type": "object", "properties": []}}
GOOD = {"name": "good", "inputSchema": {"type": "object"}, "title": None, "outputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (5, "it has no name, or no input schema"),
        ({"name": "bad"}, "it has no name, or no input schema"),
        ({**GOOD, "name": 5}, "it has no name, or no input schema"),
        (
            {**GOOD, "name": "bad", "inputSchema": {"type": "object", "properties": ["a"]}},
            "tool 'bad' is left out: its properties are not as MCP has them",
        ),
        ({**GOOD, "name": "bad", "outputSchema": 5}, "tool 'bad' is left out: its outputSchema is not as MCP has it"),
        ({**GOOD, "name": "bad", "description": 5}, "tool 'bad' is left out: its description is not as MCP has it"),
        ({**GOOD, "name": "bad", "annotations": [1]}, "tool 'bad' is left out: its annotations is not as MCP has it"),
        ({**GOOD, "name": "bad", "_meta": "m"}, "tool 'bad' is left out: its _meta is not as MCP has it"),
        (
            {**GOOD, "name": "bad", "title": "t" * MAX_TOOL_BYTES},
            f"tool 'bad' is left out: it has over some {MAX_TOOL_BYTES} bytes",
        ),
        (dict(GOOD), "tool 'good' is listed twice: the second is left out"),
    ],
)
async def test_a_bad_tool_is_left_out_and_the_rest_live(bad, said, caplog):
    """GATEWAY.md: quarantined and logged."""
    listed = {"tools": [GOOD, bad], "x": 1}
    assert await without_bad_tools(listed) == {"tools": [GOOD], "x": 1}
    assert said in caplog.text


async def test_a_good_list_is_left_as_it_is():
    """MCP: an icon is a URL, or holds its image; no model reads it."""
    icon = {"src": f"data:image/png;base64,{'A' * MAX_TOOL_BYTES}"}
    listed = {"tools": [GOOD, {**GOOD, "name": "shown", "icons": [icon]}, EMPTY]}
    assert await without_bad_tools(listed) is listed


def kept(lists, *cursors):
    """Whether each page is kept."""
    return [lists.find("tools/list", None if at is None else {"cursor": at}) is not None for at in cursors]


def keep(lists, cursor, following=None, **said):
    page = {"tools": [], **said, **({} if following is None else {"nextCursor": following})}
    lists.store("tools/list", None if cursor is None else {"cursor": cursor}, page, lists.generation)


def told_of_changes():
    lists = ListCache()
    lists.announced = frozenset({"tools"})
    return lists


def test_no_page_is_kept_that_a_client_has_made_up():
    """Ours: many servers ignore cursors, and nothing grows with what clients ask for."""
    lists = told_of_changes()
    keep(lists, "before there is a list")
    keep(lists, None, "2")
    keep(lists, "2", "3")
    keep(lists, "made up", "4")
    keep(lists, "4")
    keep(lists, "3")
    keep(lists, "after its end")
    assert kept(lists, None, "2", "3") == [True, True, True]
    assert kept(lists, "before there is a list", "made up", "4", "after its end") == [False] * 4


def test_of_a_list_that_goes_on_otherwise_the_rest_is_kept_no_more():
    """Ours: the cursors of many servers are others each time."""
    lists = told_of_changes()
    for cursor, following in ((None, "2"), ("2", "3"), ("3", None)):
        keep(lists, cursor, following)
    keep(lists, "2", "other")
    assert kept(lists, None, "2", "3") == [True, True, False]
    keep(lists, "other")
    keep(lists, None, "2")
    assert kept(lists, None, "2", "other") == [True, False, False]


def test_a_server_that_gives_the_same_page_for_every_cursor_is_kept_twice():
    """Ours: as some do."""
    lists = told_of_changes()
    keep(lists, None, "next")
    for _ in range(3):
        keep(lists, "next", "next")
    assert kept(lists, None, "next") == [True, True]
    lists.invalidate(TOOLS_CHANGED)
    assert kept(lists, None, "next") == [False, False]


async def test_views_that_take_long_to_check_hold_up_nobody():
    """GATEWAY.md: the event loop never stalls over 250 ms. What a tool says of views is held against its schema."""
    command = (PYTHON, str(FIXTURES / "unruly.py"), "views")
    gateway = Gateway(Config((UpstreamConfig("it", "stdio", command=command),)), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), NEW) as wire:
            assert "hinted" in await wire.tools()
    finally:
        await gateway.close()
