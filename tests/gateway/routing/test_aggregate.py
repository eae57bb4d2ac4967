"""Several upstreams as one server, by both transports and in both eras on both sides."""

from __future__ import annotations

import asyncio
import json
import threading

import anyio
import anyio.to_thread
import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.gateways import LOUVER
from gateway.links import there
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at, at_a_url, config, fixture, serving
from louver.gateway.back.availability import AvailabilityListeners
from louver.gateway.back.transports.transport import ignore_notification
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY
from louver.gateway.routing.aggregate import AggregateRoutes

pytestmark = pytest.mark.anyio

ROWS = [{"id": number, "name": f"n{number}", "owner": {"login": "ada", "mail": "a@b.c"}} for number in range(3)]
IDS = [{"id": number} for number in range(3)]
ONLY_IDS = {"mode": "include", "fields": ["rows.id"]}
VIEWS = {"tool": "find", "views": {"brief": {"include": ["total"]}}}

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
every_front = pytest.mark.parametrize("front", ["stdio", "http"])


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    """What the gateways are started with: five upstreams, of which one is not there."""
    folder = tmp_path_factory.mktemp("many")
    for name in ("here", "there"):
        (folder / name).mkdir()
    (folder / "here" / "find.views.json").write_text(json.dumps(VIEWS))
    there = {"tool": "find", "default": "brief", "views": {"brief": {"include": ["rows.name"]}}}
    (folder / "there" / "find.views.json").write_text(json.dumps(there))
    with at_a_url("records", "--http") as url, at_a_url("everything", "--http", "0") as everything:
        servers = {
            "old": fixture("everything", "--only", HANDSHAKE, isolation="shared"),
            "new": at(everything),
            "records": fixture("records", views="here", isolation="shared"),
            "web": at(url, views="there"),
            "absent": fixture("unruly", "dies"),
        }
        yield config(folder, servers)


@pytest.fixture(scope="module")
def served(arguments):
    """A gateway over HTTP."""
    with serving(*arguments) as served:
        yield served


@pytest.fixture(scope="module")
async def stdio_clients(arguments):
    """A client a era, each with a gateway of its own."""
    command = [*LOUVER, *arguments]
    async with raw(command, HANDSHAKE) as handshake, raw(command, STATELESS) as stateless:
        yield {HANDSHAKE: handshake, STATELESS: stateless}


@pytest.fixture
async def client(served, stdio_clients, front, era):
    if front == "stdio":
        stdio_clients[era].notes.clear()
        yield stdio_clients[era]
    else:
        async with raw(served.url, era) as client:
            yield client


def names(entries, key="name"):
    return [entry[key] for entry in entries]


@every_front
@every_era
async def test_what_all_have_is_one_list(client):
    """GATEWAY.md: several: `server__tool`; an upstream that is not there is left out; all pages in one."""
    tools = names((await client.result("tools/list"))["tools"])
    assert {name.partition("__")[0] for name in tools} == {"old", "new", "records", "web"}
    assert {"old__test_simple_text", "new__test_simple_text", "records__find", "web__find"} <= set(tools)
    prompts = names((await client.result("prompts/list"))["prompts"])
    assert {"old__test_simple_prompt", "new__test_simple_prompt"} <= set(prompts)
    resources = names((await client.result("resources/list"))["resources"], "uri")
    assert resources.count("test://static-text") == 1
    templates = await client.result("resources/templates/list")
    assert names(templates["resourceTemplates"], "uriTemplate").count("test://template/{id}/data") == 1


@every_front
@every_era
async def test_a_list_of_what_is_no_server_is_that_of_all(client):
    """Ours: `dev.louver/server` names one; what names none is as if it was not said, of whatever kind it is."""
    for server in ("nobody", ["old"], {"old": 1}, 5, None):
        tools = names((await client.result("tools/list", _meta={"dev.louver/server": server}))["tools"])
        assert {name.partition("__")[0] for name in tools} == {"old", "new", "records", "web"}


@every_front
@every_era
async def test_each_request_goes_to_whom_it_concerns(client):
    """Ours: tools and prompts by their server's name, resources by their address."""
    for server in ("old", "new"):
        result = await client.call(f"{server}__test_simple_text")
        assert result["content"][0]["text"] == "This is a simple text response for testing."
        prompt = await client.result("prompts/get", name=f"{server}__test_simple_prompt", arguments={})
        assert prompt["messages"][0]["content"]["text"] == "This is a simple prompt for testing."
        reference = {"type": "ref/prompt", "name": f"{server}__test_prompt_with_arguments"}
        completed = await client.result("completion/complete", ref=reference, argument={"name": "arg1", "value": "par"})
        assert completed["completion"]["values"] == ["paris", "park", "party"]
    # Nothing was listed by this client: they are found all the same.
    read = await client.result("resources/read", uri="test://static-text")
    assert read["contents"][0]["text"] == "This is the content of the static text resource."
    reference = {"type": "ref/resource", "uri": "test://template/{id}/data"}
    completed = await client.result("completion/complete", ref=reference, argument={"name": "id", "value": "pari"})
    assert completed["completion"]["values"] == ["paris"]


@every_front
@every_era
async def test_what_nobody_has_is_refused(client):
    """MCP: -32602 for an unknown tool, prompt or resource."""
    for name in ("nobody__find", "find", "__find", "records__", "records__nothing"):
        answer = await client.request("tools/call", name=name, arguments={})
        error = answer.get("error")
        # `MCPServer` says so of its own tools in a result.
        assert answer["result"]["isError"] if error is None else error["code"] == -32602
    assert (await client.error("prompts/get", name="nobody__p"))["code"] == -32602
    assert (await client.error("resources/read", uri="test://nothing"))["code"] == -32602
    assert (await client.error("tools/list", cursor="2"))["code"] == -32602
    absent = await client.call("absent__find")
    assert json.loads(absent["content"][0]["text"])["error"]["code"] == "UPSTREAM_UNAVAILABLE"


@every_front
@every_era
async def test_the_opening_says_what_all_can_do(client):
    """Ours: capabilities together, what each has to say under its name; nothing of ours."""
    capabilities = client.opening["capabilities"]
    assert {"tools", "prompts", "resources", "completions"} <= set(capabilities)
    assert capabilities["tools"]["listChanged"] is True
    said = client.opening["instructions"]
    assert "# records\n\nKeeps records." in said
    assert "# old\n\n" in said
    assert "output_fields" not in said
    assert "absent" not in said


@every_front
@every_era
async def test_a_log_level_is_each_clients_own(client, era):
    """MCP, logging: 2025-11-25 by a request; 2026-07-28 by `_meta`, else nothing."""

    async def logs(level):
        meta = None
        if era == HANDSHAKE:
            assert await client.result("logging/setLevel", level=level) == {}
        elif level != "none":
            meta = {"io.modelcontextprotocol/logLevel": level}
        for server in ("old", "new"):
            await client.call(f"{server}__test_tool_with_logging", meta)

    await logs("error" if era == HANDSHAKE else "none")
    assert client.heard("notifications/message") == []
    await logs("info")
    assert len(await client.hears("notifications/message", 6)) == 6


@every_front
@every_era
async def test_a_change_at_any_upstream_is_told(client, era):
    """MCP: `list_changed`, in the stream of the session or in that of `subscriptions/listen`."""
    if era == STATELESS:
        wanted = {"toolsListChanged": True, "promptsListChanged": True}
        client.begin(client.request("subscriptions/listen", notifications=wanted))
        await client.hears("notifications/subscriptions/acknowledged")
    # The fixture tells only those who listen in its newer era, so that its older one tells nothing.
    await client.result("tools/list")
    await client.call("new__test_trigger_tool_change")
    if era == STATELESS:
        await client.hears("notifications/tools/list_changed")
        await client.call("new__test_trigger_prompt_change")
        await client.hears("notifications/prompts/list_changed")


@every_front
@every_era
async def test_a_change_at_an_upstream_of_either_era_is_told_in_both(tmp_path, front, era):
    """MCP: `list_changed`; and what has been listed is listed anew then."""
    changed = "notifications/tools/list_changed"
    servers = {
        "old": fixture("unruly", isolation="shared"),
        "new": fixture("unruly", "modern", isolation="shared"),
    }
    with serving(*config(tmp_path, servers)) as served:
        target = served.url if front == "http" else [*LOUVER, *config(tmp_path, servers)]
        async with raw(target, era) as client:
            if era == STATELESS:
                client.begin(client.request("subscriptions/listen", notifications={"toolsListChanged": True}))
                await client.hears("notifications/subscriptions/acknowledged")
            await client.call("new__wait_for", seen="subscriptions/listen")
            await client.result("tools/list")
            for number, server in enumerate(("old", "new"), 1):
                before = len((await client.call(f"{server}__wait_for", seen="tools/list"))["seen"])
                await client.call(f"{server}__storm", times=1)
                assert len(await client.hears(changed, number)) == number
                await client.result("tools/list")
                assert len((await client.call(f"{server}__wait_for", seen="tools/list"))["seen"]) == before + 1


async def test_a_task_is_of_the_server_that_has_made_it(tmp_path):
    """MCP 2025-11-25, tasks: a call that is answered by a task, its state, its result, its end, and the list of all."""

    def task(number):
        return {"taskId": number, "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}

    def makes(number):
        said = {
            "tools/call": {"task": task(number)},
            "tasks/result": {"content": [{"type": "text", "text": number}]},
            **{method: task(number) for method in ("tasks/get", "tasks/cancel")},
        }
        opening = {"capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}}
        return {"initialize": opening, "tasks/list": {"tasks": [task(number)]}, **said}

    servers = {name: fixture("saying", json.dumps(makes(name))) for name in ("one", "two")}
    async with raw([*LOUVER, *config(tmp_path, {"none": fixture("saying"), **servers})]) as client:
        assert "tools" in client.opening["capabilities"]["tasks"]["requests"]
        for name in servers:
            made = await client.result("tools/call", name=f"{name}__t", arguments={}, task={})
            assert made["task"]["taskId"] == name
        for name in servers:
            for method in ("tasks/get", "tasks/cancel"):
                assert (await client.result(method, taskId=name))["taskId"] == name
            assert (await client.result("tasks/result", taskId=name))["content"][0]["text"] == name
        assert [each["taskId"] for each in (await client.result("tasks/list"))["tasks"]] == ["one", "two"]
        assert (await client.error("tasks/get", taskId=5))["code"] == -32602


@every_front
@every_era
async def test_progress_is_told_with_the_clients_own_token(client):
    """MCP, progress: before the result, by every transport."""
    for server in ("records", "web"):
        result = await client.call(f"{server}__slow", {"progressToken": f"{server}-token"})
        assert result["structuredContent"]["total"] == 3
        steps = [note for note in client.heard("notifications/progress") if note["progressToken"] == f"{server}-token"]
        assert [note["progress"] for note in steps] == [0, 1, 2]


@every_front
async def test_progress_of_an_answer_is_told_to_who_has_asked(tmp_path, front):
    """MCP, progress: to whom a token is of; what a client says in it is no other server's business."""
    servers = {name: fixture("faulty", isolation="shared") for name in ("one", "two")}
    arguments = config(tmp_path, servers)

    async def answer(question):
        token = question["params"]["_meta"]["progressToken"]
        await client.notify("notifications/progress", progressToken=token, progress=1, message="found some")
        # Before the answer, after which nobody may tell of it.
        await client.call(f"{question['params']['of']['server']}__wait_for", seen="notifications/progress")
        return {"roots": []}

    with serving(*arguments) as served:
        target = served.url if front == "http" else [*LOUVER, *arguments]
        async with raw(target, capabilities={"roots": {}}, answers={"roots/list": answer}) as client:
            await client.call("two__echo")
            for server in servers:
                await client.call(f"{server}__ask", {"progressToken": 1}, server=server)
            for server in servers:
                seen = (await client.call(f"{server}__wait_for", seen="notifications/progress"))["seen"]
                assert [note["params"]["message"] for note in seen] == ["found some"]


@pytest.mark.parametrize("names", [["one"], ["one", "two"]], ids=["one server", "several"])
async def test_progress_of_an_answer_is_told_by_nobody_but_who_was_asked(tmp_path, names):
    """MCP, progress: only by who was given the token; another client's is not sent on."""
    server = "one__" if len(names) > 1 else ""

    async def answer(question):
        token = question["params"]["_meta"]["progressToken"]
        await other.notify("notifications/progress", progressToken=token, progress=1, message="made up")
        await client.notify("notifications/progress", progressToken=token, progress=1, message="found some")
        await client.call(f"{server}wait_for", seen="notifications/progress")
        return {"roots": []}

    servers = {name: fixture("unruly", isolation="shared") for name in names}
    with serving(*config(tmp_path, servers)) as served:
        able = {"capabilities": {"roots": {}}, "answers": {"roots/list": answer}}
        async with raw(served.url) as other, raw(served.url, **able) as client:
            await client.call(f"{server}ask", {"progressToken": 1})
            seen = (await client.call(f"{server}wait_for", seen="notifications/progress"))["seen"]
            assert [note["params"]["message"] for note in seen] == ["found some"]


# Projection


@every_front
@every_era
@pytest.mark.parametrize("key", ["projection", "dev.louver/projection"])
async def test_a_projection_is_asked_for_by_meta(client, key):
    """#1704: on a tool with an output schema, and on one that answers with JSON text."""
    result = await client.call("records__find", {key: ONLY_IDS})
    assert result["structuredContent"] == {"rows": IDS}
    assert json.loads(result["content"][0]["text"]) == {"rows": IDS}
    assert result["_meta"][key]["applied"] is True
    text = await client.call("records__find_text", {key: ONLY_IDS})
    assert json.loads(text["content"][0]["text"]) == {"rows": IDS}
    assert text["_meta"][key]["schemaSource"] == "inferred"
    prose = await client.call("records__find_prose", {key: ONLY_IDS})
    assert prose["content"][0]["text"] == "three records"
    assert prose["_meta"][key]["applied"] is False


@every_front
@every_era
async def test_a_projection_is_asked_for_by_the_argument(client):
    """GATEWAY.md: on projectable tools alone; a tool that has such an argument itself gets it, and another is ours."""
    tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
    offered = {name for name, tool in tools.items() if "output_fields" in tool["inputSchema"].get("properties", {})}
    projectable = {f"{server}__{name}" for server in ("records", "web") for name in ("find", "slow", "own")}
    # As many as the list has room for; those with views are always among them.
    assert {"records__find", "web__find"} <= offered <= projectable
    result = await client.call("records__find", output_fields=["rows.id"], limit=2)
    assert result["structuredContent"] == {"rows": IDS[:2]}
    own = {"output_fields": "four", "output_fields_2": ["total"]}
    assert (await client.call("records__own", **own))["structuredContent"] == {"total": 4}
    refused = await client.call("records__find", output_fields=["rows..id"])
    assert refused["content"][0]["text"].startswith("output_fields: field path 'rows..id'")
    assert refused["isError"] is True


@every_front
@every_era
async def test_views_are_those_of_the_server(client):
    """GATEWAY.md: views by server and tool; a default view applies where nothing is asked for."""
    asked = {"projection": {"mode": "view", "view": "brief"}}
    assert (await client.call("records__find"))["structuredContent"] == {"rows": ROWS, "total": 3}
    assert (await client.call("records__find", asked))["structuredContent"] == {"total": 3}
    only_names = {"rows": [{"name": row["name"]} for row in ROWS]}
    assert (await client.call("web__find"))["structuredContent"] == only_names
    assert (await client.call("web__find", asked))["structuredContent"] == only_names
    assert (await client.call("web__find", {"projection": ONLY_IDS}))["structuredContent"] == {"rows": IDS}


@pytest.mark.parametrize(("argument", "tools"), [("all", {"find_text", "find"}), ("off", set())])
async def test_the_argument_is_offered_as_configured(tmp_path, argument, tools):
    """GATEWAY.md: `argument: all` for tools without a schema; `off`."""
    servers = {"records": fixture("records")}
    async with raw([*LOUVER, *config(tmp_path, servers, argument=argument)], STATELESS) as client:
        listed = (await client.result("tools/list"))["tools"]
        offered = {tool["name"] for tool in listed if "output_fields" in tool["inputSchema"].get("properties", {})}
        assert tools <= offered
        if tools:
            text = await client.call("find_text", output_fields=["total"])
            assert json.loads(text["content"][0]["text"]) == {"total": 3}
        else:
            assert offered == {"own"}


async def test_clients_that_ask_at_once_get_their_own(served):
    """Ours: one upstream process serves them all; nobody gets what another asked for."""
    clients = []
    async with asyncio.timeout(FAILSAFE_S):
        for number in range(6):
            client = raw(served.url, (HANDSHAKE, STATELESS)[number % 2])
            clients.append((await client.__aenter__(), client))

        async def ask(number, client):
            path = ("rows.id", "rows.name", "total")[number % 3]
            meta = {"projection": {"mode": "include", "fields": [path]}, "progressToken": 1}
            return number, await client.call("web__slow", meta)

        asked = [ask(number, client) for number, (client, _) in enumerate(clients) for _ in range(5)]
        for number, result in await asyncio.gather(*asked):
            rows = (
                [{("id", "name")[number % 3]: row[("id", "name")[number % 3]]} for row in ROWS] if number % 3 < 2 else 0
            )
            assert result["structuredContent"] == ({"rows": rows} if rows else {"total": 3})
        for _, context in clients:
            await context.__aexit__(None, None, None)


async def test_what_threads_do_for_a_list_that_is_given_up_is_waited_for():
    """Ours: else the next request would begin the same beside it, and another one."""
    started, go_on = asyncio.Event(), threading.Event()
    ended = []

    class Slow:
        """Answers from threads, as lists come under a policy."""

        async def send(self, upstream, turn, method, params):
            return await anyio.to_thread.run_sync(self.made, upstream.name)

        def made(self, name):
            loop.call_soon_threadsafe(started.set)
            assert go_on.wait(FAILSAFE_S)
            ended.append(name)
            return {"tools": []}

    async def ask():
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await many.answer(GatewayCaller(GatewayClient(STATELESS, GATEWAY_IDENTITY)), "tools/list", {})

    many = AggregateRoutes(
        {name: there(name) for name in ("one", "two")}, Slow(), {}, AvailabilityListeners(ignore_notification)
    )
    scopes, loop = [], asyncio.get_running_loop()
    asking = asyncio.create_task(ask())
    await started.wait()
    scopes[0].cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not asking.done()
    go_on.set()
    await asking
    assert sorted(ended) == ["one", "two"]


async def test_names_are_put_before_a_long_list_in_turns(monkeypatch):
    """PRIVACY.md, "Hostile inputs": two hundred thousand prompts took a second without a break."""
    monkeypatch.setattr("louver.concurrency.offload.MAX_TURN_S", 0)
    turns = []

    class Listed:
        async def send(self, upstream, turn, method, params):
            return {"prompts": [{"name": f"p{number}"} for number in range(50)]}

    async def others():
        while True:
            turns.append(None)
            await asyncio.sleep(0)

    meanwhile = asyncio.create_task(others())
    upstreams = {name: there(name) for name in ("one", "two")}
    many = AggregateRoutes(upstreams, Listed(), {}, AvailabilityListeners(ignore_notification))
    listed = await many.answer(GatewayCaller(GatewayClient(STATELESS, GATEWAY_IDENTITY)), "prompts/list", {})
    meanwhile.cancel()
    assert names(listed["prompts"]) == [f"{name}__p{number}" for name in upstreams for number in range(50)]
    assert len(turns) >= 90
