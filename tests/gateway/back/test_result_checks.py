"""What one server says that is not as MCP has it takes nothing from the others, and is told by its code."""

import json

import pytest
from mcp import MCPError

from fixtures.forking import PYTHON
from gateway.links import FIXTURES
from louver.errors import UpstreamInvalidOutput
from louver.gateway.back.lists.list_cache import ListCache
from louver.gateway.back.result_checks import check_result
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

every_era = pytest.mark.parametrize("era", [OLD, NEW])
BAD = [
    ("tools/list", {"tools": 5}, "'tools' that is not a list"),
    ("tools/list", {"nextCursor": ["2"]}, "'nextCursor' that is not a text"),
    ("prompts/list", {"prompts": 5}, "'prompts' that is not a list"),
    ("prompts/list", {"nextCursor": {}}, "'nextCursor' that is not a text"),
    ("resources/list", {"resources": True}, "'resources' that is not a list"),
    ("resources/templates/list", {"resourceTemplates": {}}, "'resourceTemplates' that is not a list"),
]


def before(*servers):
    """A gateway before servers that say what is given by their names."""
    command = (PYTHON, str(FIXTURES / "saying.py"))
    upstreams = (UpstreamConfig(name, "stdio", command=(*command, json.dumps(said))) for name, said in servers)
    return Gateway(Config(tuple(upstreams)), single_client=False)


def names(listed):
    (entries,) = (said for said in listed.values() if isinstance(said, list))
    return sorted(entry["name"] for entry in entries)


@every_era
@pytest.mark.parametrize(("method", "wrong"), [(method, wrong) for method, wrong, _ in BAD])
async def test_a_list_that_is_none_is_left_out_and_the_rest_live(era, method, wrong, caplog):
    """Issue 5: other upstreams unharmed."""
    gateway = before(("bad", {method: wrong}), ("good", {}))
    try:
        async with connect(sdk_server(gateway.answer), era) as wire:
            own = {"tools/list": "good__t", "prompts/list": "good__p", "resources/list": "r"}
            assert names(await wire.request(method)) == [own.get(method, "x")]
            assert f"upstream 'bad' does not answer {method!r}" in caplog.text
            meta = {"projection": {"mode": "include", "fields": ["a"]}}
            assert (await wire.call("good__t", **meta))["content"][0]["text"] == '{"a":1}'
    finally:
        await gateway.close()


@pytest.mark.parametrize(("method", "wrong", "told"), BAD)
async def test_a_list_that_is_none_is_told_where_it_is_the_only_one(method, wrong, told):
    """WIRE.md, Errors."""
    gateway = before(("bad", {method: wrong}))
    try:
        async with connect(sdk_server(gateway.answer), NEW) as wire:
            with pytest.raises(MCPError, match=f"the upstream answers {method!r} with {told}") as refused:
                await wire.request(method)
            assert refused.value.error.data["error"]["code"] == "UPSTREAM_INVALID_OUTPUT"
    finally:
        await gateway.close()


@pytest.mark.parametrize(("wrong", "is_told"), [({"tools": 5}, True), ({"nextCursor": [1]}, True), ({}, False)])
async def test_a_list_of_tools_that_is_none_shows_at_the_start(wrong, is_told):
    """GATEWAY.md, Start: one that errors on `tools/list` shows as unhealthy, the rest serve."""
    gateway = before(("bad", {"tools/list": wrong}), ("good", {}))
    try:
        bad, good = await gateway.open()
        assert ("that is not a" in (bad.problem or "")) is is_told
        assert (good.problem, len(good.tools)) == (None, 1)
    finally:
        await gateway.close()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"capabilities": 5}, "'capabilities' that is not an object"),
        ({"capabilities": {"tools": True}}, "a capability 'tools' that is none"),
        ({"capabilities": {"extensions": [1]}}, "a capability 'extensions' that is none"),
        ({"instructions": ["i"]}, "'instructions' that is not a text"),
    ],
)
async def test_a_server_whose_opening_is_none_is_not_there(wrong, told):
    """As for a revision that is not known."""
    gateway = before(("bad", {"initialize": wrong}))
    try:
        (state,) = await gateway.open()
        assert state.problem == f"the upstream answers 'initialize' with {told}"
    finally:
        await gateway.close()


async def test_content_that_is_no_list_is_told_by_its_code():
    """WIRE.md, Errors: a tool's model reads the code."""
    gateway = before(("bad", {"tools/call": {"content": 5}}))
    try:
        async with connect(sdk_server(gateway.answer), OLD) as wire:
            answer = await wire.call("t")
            assert answer["isError"]
            assert "UPSTREAM_INVALID_OUTPUT" in json.dumps(answer)
    finally:
        await gateway.close()


@pytest.mark.parametrize(
    ("ttl_ms", "is_kept"), [(10**400, True), (1e300, True), (60_000, True), (-1, False), (0, False), (None, False)]
)
def test_a_list_is_kept_for_as_long_as_it_says(ttl_ms, is_kept):
    """2026-07-28, `ttlMs`; an integer may be larger than any float."""
    lists = ListCache()
    lists.store("tools/list", {}, {"tools": [], "ttlMs": ttl_ms}, lists.generation)
    assert (lists.find("tools/list", {}) is not None) is is_kept


def test_what_is_not_read_passes_as_it_is():
    """GATEWAY.md, Transparency."""
    said = {"tools": None, "nextCursor": None, "other": 5}
    assert check_result("tools/list", said) is said
    able = {"capabilities": {"tools": None, "streaming": True, "roots": False}}
    assert check_result("initialize", able) is able
    assert check_result("resources/read", {"contents": 5}) == {"contents": 5}
    with pytest.raises(UpstreamInvalidOutput):
        check_result("server/discover", {"instructions": 5})
