"""A policy before a server of the SDK in the same process: the guarantees of the gateway, with other ways out.

Everything that a client gets is looked at as JSON, as in `test_guarantees.py`: its fixture's answers are those here.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp import MCPError
from mcp.server import MCPServer, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged

import louver
from fixtures.failsafe import FAILSAFE_S
from fixtures.tattled import INSTRUCTIONS, META, NAMES, RESULTS, SECRET, SEEN, listed
from louver.catalogue.entry import definition_digest
from louver.errors import AuditFailed, InvalidPolicy, LouverError
from louver.middleware import FieldPolicy, LouverMiddleware, Principal
from louver.steps.audit.report import AuditReport
from policy.behind import POLICY, leaks, policy
from steps.test_callers import caller
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

ODD = {"collide", "Collide", "duplicate", "list_root", "scalar_root", "tell_at_the_root", "describe_at_the_root"}
"""Those that a server of the SDK cannot answer so in both revisions."""

PLAIN = [name for name in NAMES if name not in ODD and name in RESULTS]
COMPLETION = {"ref": {"type": "ref/prompt", "name": "ssn"}, "argument": {"name": "a", "value": ""}}
ALLOWED = ["progress", "logging", "elicitation", "sampling", "prompts", "completion", "instructions"]


@pytest.fixture(params=[OLD, NEW])
def era(request):
    """Each protocol revision."""
    return request.param


class Tattling:
    """A server of the SDK that tells in every place what is denied."""

    def __init__(self):
        self.bus = InMemorySubscriptionBus()
        self.refused = []
        self.server = Server(
            "tattling",
            version="1",
            instructions=INSTRUCTIONS,
            on_list_tools=self.on_list_tools,
            on_call_tool=self.on_call_tool,
            on_list_resources=self.on_list_resources,
            on_read_resource=self.on_read_resource,
            on_list_prompts=self.on_list_prompts,
            on_get_prompt=self.on_get_prompt,
            on_completion=self.on_completion,
            on_subscriptions_listen=ListenHandler(self.bus),
        )
        self.server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self.on_roots_list_changed
        )

    async def on_list_tools(self, _ctx, _params):
        names = [*PLAIN, "refuse", "raise", "report", "ask", "touch"]
        return types.ListToolsResult.model_validate({"tools": [listed(name) for name in names], "_meta": META})

    async def on_call_tool(self, ctx, params):
        if params.name == "refuse":
            raise MCPError(-32007, f"no ssn {SECRET}", {"ssn": SECRET})
        if params.name == "raise":
            raise ValueError(f"no ssn {SECRET}")
        session, id = ctx.session, ctx.request_id
        if params.name == "report":
            await self.report(session, id)
        if params.name == "ask":
            for ask in (
                session.elicit_form(SECRET, {"type": "object", "properties": {}}, id),
                session.elicit_form(SECRET, {"type": "object", "properties": {}}),
            ):
                try:
                    with anyio.move_on_after(FAILSAFE_S):
                        await ask
                except MCPError as error:
                    self.refused.append(error.error.message)
        if params.name == "touch":
            await session.send_tool_list_changed()
            await self.bus.publish(ToolsListChanged())
            await self.bus.publish(ResourceUpdated(uri="file:///open"))
            await self.bus.publish(ResourceUpdated(uri=f"file:///private/{SECRET}"))
        result = RESULTS.get(params.name, RESULTS["get_person"])
        return types.CallToolResult.model_validate({"content": [], **result, "_meta": META})

    async def report(self, session, id):
        for related in (id, None):
            message = types.ProgressNotificationParams(progress_token=7, progress=1, message=SECRET, _meta=META)
            await session.send_notification(types.ProgressNotification(params=message), related)
            message = types.LoggingMessageNotificationParams(level="emergency", logger=SECRET, data={"ssn": SECRET})
            await session.send_notification(types.LoggingMessageNotification(params=message), related)
        await session.report_progress(1, message=SECRET)
        await session.send_resource_updated(f"file:///private/{SECRET}")

    async def on_list_resources(self, _ctx, _params):
        hidden = types.Resource(uri=f"file:///private/{SECRET}", name=SECRET)
        return types.ListResourcesResult(resources=[hidden, types.Resource(uri="file:///open", name="open")])

    async def on_read_resource(self, _ctx, params):
        beside = types.TextResourceContents(uri="file:///private/1", text=SECRET)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text="open"), beside])

    async def on_list_prompts(self, _ctx, _params):
        return types.ListPromptsResult(prompts=[types.Prompt(name="ssn", description=SECRET)])

    async def on_get_prompt(self, _ctx, _params):
        return types.GetPromptResult(messages=[], description=SECRET)

    async def on_completion(self, _ctx, _params):
        return types.CompleteResult(completion=types.Completion(values=[SECRET]))

    async def on_roots_list_changed(self, ctx, _params):
        await self.report(ctx.session, None)


def under(folder, rules=POLICY, **options):
    """A policy."""
    file = folder / "it.policy.json"
    file.write_text(json.dumps(rules))
    return FieldPolicy(file, audit=folder / "audit.db", **options)


@asynccontextmanager
async def heard(server, era):
    """A connection, and all that comes over it."""
    everything = []
    async with connect(server, era) as wire:
        receive = wire._receive

        async def keep():
            everything.append(await receive())
            return everything[-1]

        wire._receive = keep
        everything.append(wire.opening)
        yield wire, everything


async def answer_of(request):
    """A result, or an error."""
    try:
        return await request
    except MCPError as error:
        return error.error.model_dump()


async def told(wire, name, **meta):
    """What a call comes to."""
    return await answer_of(wire.call(name, progressToken=7, **meta))


@pytest.mark.parametrize("beside", [{}, {"search": True, "disclosure": "enforce"}])
async def test_no_way_out_of_a_server_tells_what_is_denied(tmp_path, era, beside, caplog):
    """PRIVACY.md, P1 to P7: answers, lists, errors, notifications, questions, in the log as well."""
    made = Tattling()
    made.server.middleware.append(LouverMiddleware(**beside, policy=under(tmp_path)))
    async with heard(made.server, era) as (wire, everything):
        if beside:
            await wire.call("get_tool_descriptions", {"tools": [*PLAIN, "refuse", "raise", "report", "ask", "touch"]})
        for name in (*PLAIN, "refuse", "raise", "report", "ask", "touch", "ssn"):
            await told(wire, name)
            await told(wire, name, projection={"mode": "include", "fields": ["id", "ssn"]})
        assert (await wire.call("get_person"))["structuredContent"] == SEEN
        for method, params in (
            ("tools/list", {"query": "ssn"}),
            ("tools/list", {}),
            ("resources/list", {}),
            ("resources/templates/list", {}),
            ("resources/read", {"uri": "file:///open"}),
            ("resources/read", {"uri": f"file:///private/{SECRET}"[:-1]}),
            ("prompts/list", {}),
            ("prompts/get", {"name": "ssn"}),
            ("completion/complete", COMPLETION),
            ("x.y/unknown", {}),
        ):
            everything.append(await answer_of(wire.request(method, params)))
        await wire.notify("notifications/roots/list_changed")
        await told(wire, "get_person")
    assert not leaks(everything)
    assert SECRET not in caplog.text
    kinds = {message["method"] for message in everything if "method" in message}
    assert kinds <= {"notifications/tools/list_changed"}
    if era == OLD:
        assert set(made.refused) == {"the policy for this server lets no such question through"}
        assert kinds


async def test_what_is_allowed_is_sent(tmp_path):
    """PRIVACY.md, P5: so that it was the policy that kept it back."""
    made = Tattling()
    made.server.middleware.append(
        LouverMiddleware(policy=under(tmp_path, policy(let=ALLOWED, resources=["file:///*"])))
    )
    async with heard(made.server, OLD) as (wire, everything):
        assert SECRET in wire.opening["instructions"]
        await told(wire, "report")
        await wire.notify("notifications/roots/list_changed")
        await wire.request("prompts/list")
        kinds = [message["method"] for message in everything if "method" in message]
        expected = {"notifications/progress", "notifications/message", "notifications/resources/updated"}
        assert set(kinds) == expected
        (progress, *_) = [each["params"] for each in everything if each.get("method") == "notifications/progress"]
        assert progress["_meta"] == {"a.b/cost": 1}
        assert (await wire.request("prompts/get", {"name": "ssn"}))["description"] == SECRET


async def test_who_listens_hears_of_what_may_be_seen(tmp_path):
    """PRIVACY.md, P2: the stream is acknowledged, and each notification tells which stream it is of."""
    made = Tattling()
    made.server.middleware.append(LouverMiddleware(policy=under(tmp_path)))
    async with heard(made.server, NEW) as (wire, everything), anyio.create_task_group() as tasks:
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["file:///open", "file:///private/1"]}
        meta = dict(wire._envelope)
        await wire._send(
            {"id": 99, "method": "subscriptions/listen", "params": {"notifications": wanted, "_meta": meta}}
        )
        acknowledged = (await wire._receive())["params"]
        await told(wire, "touch")
        tasks.cancel_scope.cancel()
    stream = {"io.modelcontextprotocol/subscriptionId": 99}
    assert acknowledged["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["file:///open"]}
    assert acknowledged["_meta"] == stream
    notes = [each for each in everything if "method" in each][1:]
    assert {each["params"].get("uri") for each in notes} <= {None, "file:///open"}
    assert all(each["params"]["_meta"] == stream for each in notes)
    assert not leaks(everything)


async def test_a_principal_is_that_of_the_access_token_or_who_the_author_says(tmp_path, era):
    """Ours: of a token the roles, as for the gateway; a function of the author is asked instead of it."""
    rules = {
        "version": "1",
        "tools": {
            "*": {
                "rules": [
                    {"name": "desk", "who": {"clients": ["desk"]}, "allow": ["*"]},
                    {"name": "all", "deny": ["**.ssn"]},
                ]
            }
        },
    }
    made = Tattling()
    made.server.middleware.append(LouverMiddleware(policy=under(tmp_path, rules)))
    async with connect(made.server, era) as wire:
        assert not leaks(await wire.call("get_person"))
        with caller("desk"):
            assert leaks(await wire.call("get_person"))
            assert leaks(await wire.request("tools/list"))
        assert not leaks(await wire.call("get_person"), await wire.request("tools/list"))
    named = []

    def principal(ctx):
        return Principal(client=named[-1]) if named else None

    made = Tattling()
    made.server.middleware.append(LouverMiddleware(policy=under(tmp_path, rules, principal=principal)))
    async with connect(made.server, era) as wire:
        with caller("desk"):
            assert not leaks(await wire.call("get_person"))
        named.append("desk")
        assert leaks(await wire.call("get_person"))
        named.append("other")
        assert not leaks(await wire.call("get_person"))


async def test_each_answer_is_recorded_before_it_is_sent(tmp_path, era):
    """PRIVACY.md, "Audit": the fields that were sent; without a record there is no answer."""
    made = Tattling()
    made.server.middleware.append(LouverMiddleware(name="tattling", policy=under(tmp_path)))
    async with connect(made.server, era) as wire:
        await wire.call("get_person")
        await wire.call("get_person", projection={"mode": "include", "fields": ["name"]})
        await told(wire, "ssn")
        with closing(AuditReport(tmp_path / "audit.db")) as report:
            records = [each.to_json() for each in report.records()]
        (tmp_path / "audit.db").unlink()
        refused = await told(wire, "get_person")
    told_of = [(each["server"], each["tool"], each["mode"], each["kept"], each["outcome"]) for each in records]
    assert told_of[:2] == [
        ("tattling", "get_person", "none", 6, "answered"),
        ("tattling", "get_person", "include", 1, "answered"),
    ]
    assert told_of[2][1:] == ("*", "none", 0, "refused")
    assert refused["isError"]
    assert not leaks(refused)
    assert "AUDIT_FAILED" in json.dumps(refused)


async def test_a_tool_that_has_changed_is_not_served_from_then_on(tmp_path, era):
    """Ours: its digest is looked at for each call."""
    server = MCPServer("s")

    def first() -> dict[str, int]:
        """The first."""
        return {"id": 1}

    server.add_tool(first, name="get")
    async with connect(server, OLD) as wire:
        definition = (await wire.tools())["get"]
    rules = [{"name": "all", "allow": ["*"]}]
    pinned = {"version": "1", "tools": {"get": {"rules": rules, "digest": definition_digest(definition)}}}
    louver.attach(server, policy=under(tmp_path, pinned))
    async with connect(server, era) as wire:
        assert (await wire.call("get"))["structuredContent"] == {"id": 1}
        server._tool_manager._tools["get"].description = "Another."
        with pytest.raises(MCPError, match="Unknown tool"):
            await wire.call("get")


async def test_an_mcp_server_does_not_start_with_a_policy_that_does_not_fit(tmp_path):
    """Ours: before it serves, as of views."""
    server = MCPServer("s")
    misspelt = {"version": "1", "tools": {"gte": {"rules": [{"name": "a", "allow": ["*"]}]}}}
    louver.attach(server, policy=under(tmp_path, misspelt))

    @server.tool()
    def get() -> dict[str, int]:
        return {"id": 1}

    refused = pytest.RaisesExc(InvalidPolicy, match=r"a tool 'gte', which .*did you mean 'get'")
    with pytest.RaisesGroup(refused, flatten_subgroups=True):
        async with connect(server, OLD):
            pass


def test_what_a_policy_needs_is_said_when_it_is_made(tmp_path):
    """Ours."""
    with pytest.raises(LouverError, match="'audit' is the path to a file, not of type 'NoneType'"):
        FieldPolicy(tmp_path / "it.json", audit=None)
    with pytest.raises(InvalidPolicy):
        FieldPolicy(tmp_path / "it.json", audit=tmp_path / "audit.db")
    (tmp_path / "it.policy.json").write_text(json.dumps(POLICY))
    with pytest.raises(AuditFailed):
        FieldPolicy(tmp_path / "it.policy.json", audit=tmp_path / "nowhere" / "audit.db")
    with pytest.raises(LouverError, match="a key has at least 32 bytes"):
        under(tmp_path, pseudonym_key="short")
    assert isinstance(under(tmp_path, pseudonym_key=b"k" * 32), FieldPolicy)
    assert Path(tmp_path / "audit.db").exists()
