"""The exposure `minimal`: tools of upstreams are described on demand, as those of any server."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from fixtures.forking import PYTHON
from gateway.served import FIXTURES
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from steps.reading import URI, call_as_told, descriptions, grants_in, read, required
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

RECORDS = (PYTHON, str(FIXTURES / "records.py"))


@asynccontextmanager
async def disclosing(era, folder, *names):
    """A connection to a gateway before that many servers of records; the folder is of the first one."""
    upstreams = [UpstreamConfig(name, "stdio", command=RECORDS) for name in names]
    upstreams[0] = replace(upstreams[0], descriptions=folder)
    gateway = Gateway(Config(tuple(upstreams), exposure="minimal"), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), era) as wire:
            yield wire, gateway
    finally:
        await gateway.close()


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_tools_of_an_upstream_are_described_gated_and_projected(era, tmp_path):
    """DISCLOSURE: on any server, and on the gateway. A grant never reaches an upstream."""
    (tmp_path / "find.json").write_text(json.dumps({"error_guidance": "It finds something always."}))
    async with disclosing(era, tmp_path, "records") as (wire, _):
        listed = await wire.tools()
        assert listed["find"]["inputSchema"] == {"type": "object", "properties": {}}
        assert "dev.louver/disclosure" in wire.opening["capabilities"]["extensions"]
        assert required(await wire.call("find", {"limit": 1}))
        described = (await descriptions(wire, "find"))["find"]
        assert {"limit", "output_fields"} <= described["inputSchema"]["properties"].keys()
        assert described["error_guidance"] == "It finds something always."
        answer = await call_as_told(wire, "find", {"limit": 2, "output_fields": ["rows.id"]})
        assert answer["structuredContent"] == {"rows": [{"id": 0}, {"id": 1}]}
        assert (await call_as_told(wire, "slow"))["structuredContent"]["total"] == 3


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_tools_of_several_are_told_apart(era, tmp_path):
    """DISCLOSURE: by the names that the gateway lists; so are their files."""
    (tmp_path / "find.json").write_text(json.dumps({"summary": "Finds in one."}))
    async with disclosing(era, tmp_path, "one", "two") as (wire, _):
        listed = await wire.tools()
        assert listed["one__find"]["description"] == "Finds in one."
        assert listed["two__find"]["description"] == "Finds records."
        found, _ = await read(wire, f"{URI}?tools=one__find")
        given = grants_in(found["one__find"])
        assert not required(await wire.call("one__find", given))
        assert required(await wire.call("two__find", given))


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_a_change_that_an_upstream_tells_is_heard(era, tmp_path):
    """DISCLOSURE: `list_changed`; what changes here is what the gateway says of the tool."""
    async with disclosing(era, tmp_path, "records") as (wire, gateway):
        given = grants_in((await descriptions(wire, "find"))["find"])
        assert not required(await wire.call("find", given))
        asked = []

        answer = gateway._routes.answer

        async def look(caller, method, params):
            asked.append(method)
            return await answer(caller, method, params)

        gateway._routes.answer = look
        assert not required(await wire.call("find", given))
        assert "tools/list" not in asked
        gateway.listen_streams.publish("notifications/tools/list_changed", None)
        assert not required(await wire.call("find", given))
        assert "tools/list" in asked


async def test_a_change_in_the_process_of_one_client_is_heard():
    """DISCLOSURE: `list_changed`, of whichever session it is."""
    unruly = UpstreamConfig("it", "stdio", command=(PYTHON, str(FIXTURES / "unruly.py")))
    gateway = Gateway(Config((unruly,), exposure="minimal"), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), OLD) as wire:
            given = {name: grants_in((await descriptions(wire, name))[name]) for name in ("pid", "storm")}
            asked = []

            answer = gateway._routes.answer

            async def look(caller, method, params):
                asked.append(method)
                return await answer(caller, method, params)

            gateway._routes.answer = look
            assert not required(await wire.call("pid", given["pid"]))
            assert "tools/list" not in asked
            assert not required(await wire.call("storm", {"times": 1, **given["storm"]}))
            assert not required(await wire.call("pid", given["pid"]))
            assert "tools/list" in asked
    finally:
        await gateway.close()


async def test_another_configuration_leaves_nothing_of_the_one_before(tmp_path):
    """Ours: a file may change often."""
    async with disclosing(NEW, tmp_path, "records") as (_, gateway):
        for exposure in ("full", "minimal") * 20:
            await gateway.reconfigure(replace(gateway._config, exposure=exposure))
        assert len(gateway.listen_streams._on_tools_changed) == 1


async def test_who_names_another_server_in_a_call_is_gated_all_the_same(tmp_path):
    """DISCLOSURE: every call; `dev.louver/server` says whose tools are listed, and nothing of calls."""
    async with disclosing(NEW, tmp_path, "one", "two") as (wire, _):
        only = {"dev.louver/server": "two"}
        assert required(await wire.call("one__find", **only))
        found, _ = await read(wire, f"{URI}?tools=one__find")
        # Part of a list takes nothing away from what is known.
        assert "one__find" not in {
            tool["name"] for tool in (await wire.request("tools/list", {"_meta": only}))["tools"]
        }
        assert not required(await wire.call("one__find", grants_in(found["one__find"]), **only))
