"""A changed configuration is served without a new start; a bad one changes nothing."""

from __future__ import annotations

import asyncio
import json

import anyio
import httpx2
import pytest
from anyio import to_thread
from mcp import Client, MCPError

from fixtures.failsafe import FAILSAFE_S, until
from fixtures.forking import PYTHON
from gateway.gateways import EVERYTHING, gateway_process
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import children, fixture, serving, stateless
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
            with anyio.fail_after(FAILSAFE_S):
                await changed.wait()
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"one__test_simple_text", "two__test_simple_text"} <= set(names)
            assert (await client.call_tool("two__test_simple_text")).content
    assert process.returncode == 0


SILENT = {"command": PYTHON, "args": ["-c", "import sys; sys.stdin.read()"]}
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
    if asked["method"] == "server/discover":
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
    if asked["method"] == "tools/list":
        answers.pop("tools/list", None)
"""

SLOW = """
import json, pathlib, signal, sys
folder = pathlib.Path(sys.argv[1])
def end(*_):
    (folder / "told").touch()
    sys.exit()
signal.signal(signal.SIGTERM, end)
for line in sys.stdin:
    asked = json.loads(line)
    said = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    if asked["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
    elif "id" in asked:
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
(folder / "closed").touch()
while True:
    signal.pause()
"""
"""Ends when it is told to by a signal, and not because nobody speaks to it any more."""


NOTING = """
import json, sys
answers = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}},
    "resources/list": {"resources": [{"uri": "test://a", "name": "a"}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    with open(sys.argv[1], "a") as file:
        print(asked["method"], file=file)
    if "id" in asked:
        result = answers.get(asked["method"], {"tools": []})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""Writes down what it is asked."""


@pytest.mark.parametrize("other", ["is not there yet", "does not answer"])
async def test_a_list_leaves_out_a_server_that_is_taken_out_meanwhile(tmp_path, other):
    """GATEWAY.md: one upstream's end never fails another's calls; what nobody wants any more is not started again."""
    (tmp_path / "once.py").write_text(LISTS_ONCE)
    once = {"command": PYTHON, "args": [str(tmp_path / "once.py")]}
    options = options_of(tmp_path, {"one": ONE, "other": SILENT if other == "is not there yet" else once})
    with serving(*options) as served:
        if other == "does not answer":
            served.says("^other .* 1 ")
        async with httpx2.AsyncClient(trust_env=False) as http:
            # A call waits until its server is there, however long that takes; a list would go on without it.
            await http.post(served.url, **stateless("tools/call", name="one__test_simple_text", arguments={}))
            listing = asyncio.create_task(http.post(served.url, **stateless("tools/list")))
            async with asyncio.timeout(FAILSAFE_S):
                await reached(http, served.url)
                options_of(tmp_path, {"one": ONE})
                said = (await listing).json()
        assert {tool["name"].partition("__")[0] for tool in said["result"]["tools"]} == {"one"}
        await until(lambda: ["everything" in command for command in children(served.pid).values()] == [True])


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_clients_know_that_lists_change_with_the_configuration(tmp_path, era):
    """MCP, `listChanged`: clients drop what was not announced. Without a file nothing else changes."""
    server = fixture("samples")
    options = options_of(tmp_path, {"one": server})
    for arguments, changes in ((options, True), (["--", server["command"], *server["args"]], None)):
        with serving(*arguments) as served:
            async with raw(served.url, era) as client:
                said = client.opening["capabilities"]["tools"].get("listChanged") or None
                assert said == changes


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


@pytest.mark.parametrize("is_taken_out", [False, True], ids=["", "taken out and put back"])
@pytest.mark.parametrize(("before", "after"), [("session", "session"), ("shared", "shared"), ("session", "shared")])
async def test_what_clients_want_to_be_told_outlives_a_change_of_its_server(tmp_path, before, after, is_taken_out):
    """Ours: as it does a crash (GATEWAY.md, "Upstream side"). The server of now is asked, and is told of the end."""
    with serving(*options_of(tmp_path, {"it": fixture("unruly", isolation=before)})) as served:
        async with raw(served.url) as client, raw(served.url, STATELESS) as modern:
            await client.result("resources/subscribe", uri="test://a")
            await client.result("logging/setLevel", level="error")
            filters = {"resourceSubscriptions": ["test://b"]}
            listening = modern.begin(modern.request("subscriptions/listen", notifications=filters))
            await modern.hears("notifications/subscriptions/acknowledged")
            if is_taken_out:
                options_of(tmp_path, {"other": ONE})
                await client.hears("notifications/tools/list_changed")
            options_of(tmp_path, {"it": fixture("unruly", isolation=after, timeoutSeconds=20)})
            await client.hears("notifications/tools/list_changed", 1 + is_taken_out)
            for each, uri in ((client, "test://a"), (modern, "test://b")):
                await asked_of(each, "resources/subscribe", uri=uri)
                await each.call("touch", uri=uri)
                assert (await each.hears("notifications/resources/updated"))[0]["uri"] == uri
            await asked_of(client, "logging/setLevel", level="error")
            listening.cancel()
            await asked_of(modern, "resources/unsubscribe", uri="test://b")


@pytest.mark.parametrize("others", [{}, {"silent": SILENT}], ids=["alone", "beside a silent server"])
async def test_who_only_listens_is_told_by_a_changed_server_too(tmp_path, others):
    """Ours: its session is opened anew at once, though it asks for nothing, and another server is silent."""
    (tmp_path / "noting.py").write_text(NOTING)

    def noting(file):
        return {"command": PYTHON, "args": [str(tmp_path / "noting.py"), str(tmp_path / file)]}

    with serving(*options_of(tmp_path, {"it": noting("before")})) as served:
        async with raw(served.url) as client:
            await client.result("resources/subscribe", uri="test://a")
            options_of(tmp_path, {**others, "it": noting("after")})
            after = tmp_path / "after"
            await until(lambda: after.exists() and "resources/subscribe" in after.read_text())


async def test_after_a_change_that_server_is_asked_which_a_resource_is_watched_at(tmp_path):
    """Ours: though nobody has listed the resources again."""
    servers = {"one": ONE, "two": fixture("unruly")}
    with serving(*options_of(tmp_path, servers)) as served:
        async with raw(served.url) as client:
            await client.result("resources/list")
            await client.result("resources/subscribe", uri="test://a")
            options_of(tmp_path, {**servers, "two": fixture("unruly", timeoutSeconds=20)})
            await client.hears("notifications/tools/list_changed")
            await client.result("resources/unsubscribe", uri="test://a")
            await asked_of(client, "resources/unsubscribe", "two__", uri="test://a")


async def asked_of(client, method, server="", **params):
    """Wait until the server of `unruly.py` behind has been asked that."""
    async with asyncio.timeout(FAILSAFE_S):
        while params not in [
            {key: value for key, value in asked["params"].items() if key != "_meta"}
            for asked in (await client.call(f"{server}wait_for", seen=method))["seen"]
        ]:
            pass


async def test_a_gateway_that_ends_leaves_servers_that_end_their_time(tmp_path):
    """Ours: also those that a change has taken out just before; SIGKILL is the last that they get."""
    (tmp_path / "slow.py").write_text(SLOW)
    slow = {"command": PYTHON, "args": [str(tmp_path / "slow.py"), str(tmp_path)]}
    with serving(*options_of(tmp_path, {"slow": slow})) as served:
        served.says("^slow .* 0 ")
        options_of(tmp_path, {"one": ONE})
        await until((tmp_path / "closed").exists)
        served.process.terminate()
        assert await asyncio.to_thread(served.ends) == 0
    assert (tmp_path / "told").exists()


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


def write_policy(folder):
    rules = {"*": {"rules": [{"name": "all", "deny": ["**.ssn"]}]}}
    (folder / "it.policy.json").write_text(json.dumps({"version": "1", "tools": rules}))


async def test_calls_are_written_down_where_the_first_were(tmp_path):
    """Ours: else one that is under way would have no place for its record. What the file says is logged."""

    write_policy(tmp_path)
    with serving(*options_of(tmp_path, {"it": fixture("tattling")})) as served:
        async with raw(served.url) as client:
            for number, name in enumerate(("a.db", "b.db"), 1):
                options_of(tmp_path, {"it": fixture("tattling", policy="it.policy.json")}, audit={"file": name})
                await client.hears("notifications/tools/list_changed", number)
                await client.call("get_person")
        served.says("where is audited stays as it was")
    assert (tmp_path / "a.db").exists()
    assert not (tmp_path / "b.db").exists()


async def test_what_came_before_a_policy_is_not_answered_by_a_server_that_is_under_it(tmp_path):
    """PRIVACY.md: no answer of a policed server without a record, and what came before has none."""
    write_policy(tmp_path)
    with serving(*options_of(tmp_path, {"it": SILENT})) as served:
        async with httpx2.AsyncClient(trust_env=False) as http:
            calling = asyncio.create_task(http.post(served.url, **stateless("tools/call", name="get_person")))
            await reached(http, served.url)
            options_of(tmp_path, {"it": fixture("tattling", policy="it.policy.json")})
            said = (await calling).json()
    assert said["result"]["_meta"]["dev.louver/error"]["message"] == "upstream 'it' has been reconfigured: call again"


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
            with anyio.fail_after(FAILSAFE_S):
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
            with anyio.fail_after(FAILSAFE_S):
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
                with anyio.fail_after(FAILSAFE_S):
                    await changed.wait()
                assert names <= {tool.name for tool in (await client.list_tools()).tools}
            script = {"script": "result(1)"}
            assert (await client.call_tool("test_simple_text")).content
            with pytest.raises(MCPError):
                await client.call_tool("execute", script)
