"""Discovery from Python, before real servers."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from gateway.served import fixture
from louver.core.json import compact
from louver.errors import LouverError, NotReadOnly, UnknownName, UpstreamUnavailable
from louver.gateway.builtin.behind import VisibleServers
from louver.gateway.builtin.service import DiscoveryService
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway

pytestmark = pytest.mark.anyio

SERVERS = {
    "calculator": fixture("discovered", "calculator"),
    "data-server": fixture("discovered", "data-server"),
    "odd": fixture("discovered", "odd"),
}


@asynccontextmanager
async def discovery(folder, servers, **louver):
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers, "louver": louver}))
    gateway = Gateway(read_config(path), single_client=False)
    try:
        yield gateway.discovery()
    finally:
        await gateway.close()


async def test_servers_are_listed_with_their_identifiers(tmp_path):
    """003 section "1. `list-servers`"."""
    gone = {"command": PYTHON, "args": ["-c", "raise SystemExit(3)"]}
    async with discovery(tmp_path, {**SERVERS, "gone": gone}) as service:
        servers = {server["name"]: server for server in (await service.list_servers())["servers"]}
    assert servers["calculator"] == {
        "name": "calculator",
        "luaName": "calculator",
        "state": "ready",
        "description": "A simple calculator server",
        "version": "1.0.0",
    }
    assert servers["data-server"]["luaName"] == "data_server"
    assert servers["gone"]["state"] != "ready"


async def test_tools_of_a_server_are_listed_in_a_line_each(tmp_path):
    """003 section "2. `list-server-tools`"."""
    async with discovery(tmp_path, SERVERS) as service:
        said = await service.list_server_tools("calculator")
        assert await service.list_server_tools("data-server") == await service.list_server_tools("data_server")
    assert (said["server"], said["luaName"]) == ("calculator", "calculator")
    assert said["tools"][0] == {"name": "add", "luaName": "add", "description": "Add two numbers together"}


async def test_names_that_become_one_can_both_be_found(tmp_path):
    """GATEWAY.md."""
    async with discovery(tmp_path, SERVERS) as service:
        tools = {tool["name"]: tool["luaName"] for tool in (await service.list_server_tools("odd"))["tools"]}
        assert tools["while"] == "_while"
        assert tools["123numbers"] == "_123numbers"
        for name in ("get-it", "get.it"):
            assert (await service.tool_details("odd", tools[name]))["name"] == name


async def test_a_server_that_is_gone_is_not_one_without_tools(tmp_path):
    """Ours: nor does it hold up the others."""
    gone = {"command": PYTHON, "args": ["-c", "raise SystemExit(3)"]}
    async with discovery(tmp_path, {**SERVERS, "gone": gone}) as service:
        with pytest.raises(UpstreamUnavailable, match="server 'gone' is not there"):
            await service.list_server_tools("gone")
        with pytest.raises(UpstreamUnavailable):
            await service.tool_details("gone", "add")
        assert (await service.list_server_tools("calculator"))["tools"]


async def test_one_that_does_not_answer_holds_up_no_other(tmp_path):
    """GATEWAY.md: one server alone is asked for its tools."""
    hangs = {"command": PYTHON, "args": ["-c", "import sys; sys.stdin.read()"]}
    async with discovery(tmp_path, {**SERVERS, "hangs": hangs}) as service:
        async with asyncio.timeout(FAILSAFE_S):
            assert (await service.list_server_tools("calculator"))["tools"]
            assert (await service.tool_details("calculator", "add"))["name"] == "add"
            assert (await service.call_names("calculator"))["add"] == "calculator__add"


async def test_details_tell_how_a_tool_is_called(tmp_path):
    """003 section "3. `tool-details`"; GATEWAY.md: through `$ref` and `anyOf`."""
    async with discovery(tmp_path, SERVERS) as service:
        said = await service.tool_details("odd", "get.it")
        people = await service.tool_details("data_server", "list_people")
    assert said["callName"] == "odd__get.it"
    assert said["readOnly"] is True
    assert said["parameters"] == [
        {"name": "filter", "type": "object", "required": True},
        {"name": "filter.state", "type": "string", "required": True},
        {"name": "end", "type": "integer | null", "required": False, "description": "The last."},
        {"name": "sort-by", "type": '"name" | "date"', "required": False},
    ]
    assert {"path": "people.email", "type": "string"} in people["fields"]


async def test_an_unknown_name_is_answered_with_those_that_may_be_meant(tmp_path):
    """GATEWAY.md."""
    async with discovery(tmp_path, SERVERS) as service:
        with pytest.raises(UnknownName, match="'calculater' is no server: did you mean 'calculator'"):
            await service.list_server_tools("calculater")
        with pytest.raises(UnknownName, match="'ad' is no tool of server 'calculator': did you mean 'add'"):
            await service.tool_details("calculator", "ad")
        with pytest.raises(UnknownName, match="there are 'calculator', 'data_server', 'odd'"):
            await service.tool_details("x" * 500, "ad")


async def test_a_sample_call_tells_the_shape_and_no_value(tmp_path):
    """GATEWAY.md: merged over elements, with sizes, and a view that suffices."""
    async with discovery(tmp_path, SERVERS) as service:
        said = await service.inspect_tool_response("data_server", "list_people", {"limit": 5})
    fields = {field["path"]: field for field in said["fields"]}
    assert fields["people.id"]["types"] == ["integer"]
    assert fields["people.biography"]["share"] > 0.8
    assert fields["people.deleted"]["constant"] is True
    assert said["suggestedView"] == {"include": ["people.id", "people.name", "people.email", "total"]}
    assert "example.com" not in compact(said)
    assert "data" not in said


async def test_a_sample_call_tells_the_answer_if_it_is_small_or_asked_for(tmp_path):
    """003 section "4. `inspect-tool-response`": the answer; GATEWAY.md: a large one only with `full: true`."""
    async with discovery(tmp_path, SERVERS) as service:
        said = await service.inspect_tool_response("calculator", "add", {"a": 1, "b": 2})
        prose = await service.inspect_tool_response("odd", "prose")
        people = await service.inspect_tool_response("data_server", "list_people", {"limit": 5}, full=True)
    assert said["data"] == {"result": 3.0}
    assert len(people["data"]["people"]) == 5
    assert prose["data"] == [{"type": "text", "text": "called prose"}]
    assert (prose["seat"], prose["blocks"]) == ("blocks", ["text"])


async def test_a_tool_that_may_do_something_is_not_run_for_a_look(tmp_path):
    """003 section "4. `inspect-tool-response`": its warning; GATEWAY.md: unless the configuration allows it."""
    async with discovery(tmp_path, SERVERS) as service:
        with pytest.raises(NotReadOnly, match="tool 'divide' of server 'calculator'"):
            await service.inspect_tool_response("calculator", "divide", {"a": 1, "b": 2})


def test_a_wrong_word_for_what_may_be_inspected_is_refused():
    """Ours."""
    with pytest.raises(LouverError, match="'inspect' is one of 'readOnly', 'all', not 'readonly'"):
        DiscoveryService(VisibleServers({}, None, None), "readonly")
