"""A changed configuration is served without a new start; a bad one changes nothing."""

from __future__ import annotations

import asyncio
import json
import sys

import anyio
import httpx2
import pytest
from anyio import to_thread
from mcp import Client, MCPError

from gateway.gateways import EVERYTHING, gateway_process
from gateway.raw import SOON_S, raw
from gateway.served import children, fixture, serving, stateless, until
from gateway.served import config as options_of

pytestmark = pytest.mark.anyio

ONE = {"command": EVERYTHING[0], "args": EVERYTHING[1:]}


def config(**servers):
    return json.dumps({"mcpServers": servers})


def _line_of(process, text):
    return next(line for line in process.stderr if text in line)


async def test_a_changed_configuration_is_served(tmp_path):
    """GATEWAY.md, "Start": clients are told that the lists have changed; what is wrong is told, and not served."""
    path = tmp_path / "mcp.json"
    path.write_text(config(one=ONE))
    with gateway_process("--config", str(path), "--log", "json") as (process, url):
        changed = anyio.Event()

        async def heard(message):
            if getattr(message, "method", None) == "notifications/tools/list_changed":
                changed.set()

        async with Client(url, mode="legacy", message_handler=heard) as client:
            assert "test_simple_text" in [tool.name for tool in (await client.list_tools()).tools]
            path.write_text("{")
            told = json.loads(await to_thread.run_sync(_line_of, process, "stays as it was"))
            assert told["level"] == "ERROR"
            assert (await client.call_tool("test_simple_text")).content
            path.write_text(config(one=ONE, two=ONE))
            with anyio.fail_after(60):
                await changed.wait()
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"one__test_simple_text", "two__test_simple_text"} <= set(names)
            assert (await client.call_tool("two__test_simple_text")).content
    assert process.returncode == 0


SILENT = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
LISTS_ONCE = """
import json, sys
answers = {
    "initialize": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "o", "version": "1"}
    },
    "tools/list": {"tools": [{"name": "once", "inputSchema": {"type": "object"}}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked and (answer := answers.get(asked["method"])) is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
    if asked["method"] == "tools/list":
        answers.pop("tools/list", None)
"""


@pytest.mark.parametrize("other", ["is not there yet", "does not answer"])
async def test_a_list_leaves_out_a_server_that_is_taken_out_meanwhile(tmp_path, other):
    """GATEWAY.md: one upstream's end never fails another's calls; what nobody wants any more is not started again."""
    (tmp_path / "once.py").write_text(LISTS_ONCE)
    once = {"command": sys.executable, "args": [str(tmp_path / "once.py")]}
    options = options_of(tmp_path, {"one": ONE, "other": SILENT if other == "is not there yet" else once})
    with serving(*options) as served:
        if other == "does not answer":
            served.says("^other .* 1 ")
        async with httpx2.AsyncClient(trust_env=False, timeout=SOON_S) as http:
            listing = asyncio.create_task(http.post(served.url, **stateless("tools/list")))
            async with asyncio.timeout(SOON_S):
                await reached(http, served.url)
                options_of(tmp_path, {"one": ONE})
                said = (await listing).json()
        assert {tool["name"].partition("__")[0] for tool in said["result"]["tools"]} == {"one"}
        await until(lambda: ["everything" in command for command in children(served.pid).values()] == [True])


async def test_who_was_there_before_a_change_leaves_what_came_with_it(tmp_path):
    """GATEWAY.md, "Sharing and eras": each client session has its own upstream session, closed with it."""
    with serving(*options_of(tmp_path, {"one": ONE})) as served:
        async with raw(served.url) as client:
            await client.call("test_simple_text")
            options_of(tmp_path, {"one": {**ONE, "louver": {"timeoutSeconds": 20}}})
            await client.hears("notifications/tools/list_changed")
            await client.call("test_simple_text")
            # Its own, and that of all others.
            await until(lambda: len(children(served.pid)) == 2)
            await client.end()
            await until(lambda: len(children(served.pid)) == 1)


async def test_a_silent_server_holds_up_no_other_change(tmp_path):
    """GATEWAY.md, "Start": a changed file is served without a new start, also where it mends the last one."""
    with serving(*options_of(tmp_path, {"one": ONE})) as served:
        async with raw(served.url) as client:
            for number, servers in enumerate(({"one": ONE, "silent": SILENT}, {"one": ONE, "two": ONE}), 1):
                options_of(tmp_path, servers)
                await client.hears("notifications/tools/list_changed", number)
            names = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
    assert {name.partition("__")[0] for name in names} == {"one", "two"}
    assert "Traceback" not in "".join(served.said)


async def test_calls_are_written_down_where_the_first_were(tmp_path):
    """Ours: else one that is under way would have no place for its record. What the file says is logged."""

    rules = {"*": {"rules": [{"name": "all", "deny": ["**.ssn"]}]}}
    (tmp_path / "it.policy.json").write_text(json.dumps({"version": "1", "tools": rules}))
    with serving(*options_of(tmp_path, {"it": fixture("tattling")})) as served:
        async with raw(served.url) as client:
            for number, name in enumerate(("a.db", "b.db"), 1):
                options_of(tmp_path, {"it": fixture("tattling", policy="it.policy.json")}, audit={"file": name})
                await client.hears("notifications/tools/list_changed", number)
                await client.call("get_person")
        served.says("where is audited stays as it was")
    assert (tmp_path / "a.db").exists()
    assert not (tmp_path / "b.db").exists()


async def reached(http, url):
    """Wait until what was sent before this has been read: another connection's request is answered."""
    for _ in range(3):
        assert (await http.get(url.removesuffix("/mcp") + "/healthz")).status_code == 200


async def test_a_folder_with_a_wrong_file_changes_nothing(tmp_path):
    """GATEWAY.md, "Start": a bad one keeps the last good configuration; the next good one is served."""
    path, told = tmp_path / "mcp.json", tmp_path / "told"
    told.mkdir()
    (told / "test_simple_text.json").write_text("{")
    path.write_text(config(one=ONE))
    with gateway_process("--config", str(path), "--exposure", "minimal", "--log", "json") as (process, url):
        changed = anyio.Event()

        async def heard(message):
            if getattr(message, "method", None) == "notifications/tools/list_changed":
                changed.set()

        async with Client(url, mode="legacy", message_handler=heard) as client:
            path.write_text(config(one={**ONE, "louver": {"descriptions": "told"}}))
            line = json.loads(await to_thread.run_sync(_line_of, process, "stays as it was"))
            assert line["level"] == "ERROR"
            assert "test_simple_text" in [tool.name for tool in (await client.list_tools()).tools]
            (told / "test_simple_text.json").write_text('{"summary": "Says it."}')
            path.write_text(config(one={**ONE, "louver": {"descriptions": "told", "timeoutSeconds": 20}}))
            with anyio.fail_after(60):
                await changed.wait()
            listed = {tool.name: tool.description for tool in (await client.list_tools()).tools}
            assert listed["test_simple_text"] == "Says it."
    assert process.returncode == 0


async def test_a_gateway_whose_words_nobody_reads_serves_on(tmp_path):
    """Ours: a host may close the other end of standard error."""
    path = tmp_path / "mcp.json"
    path.write_text(config(one=ONE))
    with gateway_process("--config", str(path)) as (process, url):
        process.stderr.close()
        changed = anyio.Event()

        async def heard(message):
            if getattr(message, "method", None) == "notifications/tools/list_changed":
                changed.set()

        async with Client(url, mode="legacy", message_handler=heard) as client:
            await client.list_tools()
            path.write_text(config(one=ONE, two=ONE))
            with anyio.fail_after(60):
                await changed.wait()
            assert (await client.call_tool("two__test_simple_text")).content
    assert process.returncode == 0


async def test_an_exposure_is_changed_while_clients_are_there(tmp_path):
    """GATEWAY.md: five tools instead of all, scripts and all, and back."""
    path = tmp_path / "mcp.json"
    path.write_text(config(one=ONE))
    with gateway_process("--config", str(path)) as (_, url):
        changed = anyio.Event()

        async def heard(message):
            if getattr(message, "method", None) == "notifications/tools/list_changed":
                changed.set()

        async with Client(url, mode="legacy", message_handler=heard) as client:
            before = {tool.name for tool in (await client.list_tools()).tools}
            for louver, names in (({"exposure": "discovery"}, {"execute", "list-servers"}), ({}, before)):
                changed = anyio.Event()
                path.write_text(json.dumps({"mcpServers": {"one": ONE}, "louver": louver}))
                with anyio.fail_after(60):
                    await changed.wait()
                assert names <= {tool.name for tool in (await client.list_tools()).tools}
            script = {"script": "result(1)"}
            assert (await client.call_tool("test_simple_text")).content
            with pytest.raises(MCPError):
                await client.call_tool("execute", script)
