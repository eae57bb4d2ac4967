"""An audit of servers without a policy: who called what, and which fields went."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from mcp import MCPError

from gateway.served import fixture
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.steps.audit.report import AuditReport
from steps.wire import NEW, connect

pytestmark = pytest.mark.anyio

VALUE = {"id": 1, "notes": [{"text": "canary", "jane@example.com": 2}]}
NAMED = {"notes": {"type": "array", "items": {"properties": {"text": {"type": "string"}}}}, "id": {"type": "integer"}}
TYPED = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": NAMED}}
RULES = {"rules": [{"name": "all", "deny": ["notes"]}]}


def saying(*, typed, **louver):
    """A server that answers any tool with the value, in structured content if it declares a schema."""
    answer = {
        "content": [{"type": "text", "text": json.dumps(VALUE)}],
        **({"structuredContent": VALUE} if typed else {}),
    }
    answers = {"tools/call": answer, **({"tools/list": {"tools": [TYPED]}} if typed else {})}
    return fixture("saying", json.dumps(answers), **louver)


async def test_each_call_of_each_server_is_recorded(tmp_path):
    """TEAM.md, "Second look", row 8: fields by the schema, or by what looks like a name; a policy adds its rules."""
    policy, file = tmp_path / "ruled.policy.json", tmp_path / "audit.db"
    policy.write_text(json.dumps({"version": "3", "tools": {"t": RULES}}))
    servers = {
        "bare": saying(typed=False, tools={"rename": {"t": "tool"}}),
        "typed": saying(typed=True),
        "ruled": saying(typed=True, policy=str(policy)),
    }
    gateway = Gateway({"mcpServers": servers, "louver": {"audit": {"file": str(file)}}}, single_client=False)
    try:
        # No list was requested before: what is called is looked up.
        async with connect(sdk_server(gateway.answer), NEW, streams=False) as wire:
            await wire.call("bare__tool")
            await wire.call("bare__tool", projection={"mode": "include", "fields": ["id"]})
            await wire.call("typed__t")
            await wire.call("typed__unlisted")
            await wire.call("ruled__t")
            with pytest.raises(MCPError):
                await wire.call("none__t")
    finally:
        await gateway.close()
    with closing(AuditReport(file)) as report:
        records = [
            (each.server, each.tool, each.policy, each.mode, each.fields, each.dropped) for each in report.records()
        ]
    bare, typed = ("id", "notes.*.*", "notes.*.text"), ("id", "notes.*.*", "notes.*.text")
    assert records == [
        ("bare", "t", None, "none", bare, 0),
        ("bare", "t", None, "include", ("id",), 2),
        ("typed", "t", None, "none", typed, 0),
        ("typed", "*", None, "none", bare, 0),
        ("ruled", "t", "3", "none", ("id",), 2),
    ]
    written = b"".join(path.read_bytes() for path in tmp_path.glob("audit.db*"))
    assert b"canary" not in written
    assert b"jane" not in written
