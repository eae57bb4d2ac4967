"""What of a call is recorded."""

from __future__ import annotations

import pytest

from louver.steps.audit.step import AuditStep, ToolOwner
from steps.requests import asks

pytestmark = pytest.mark.anyio


class Written:
    """A writer that keeps what it is given."""

    def __init__(self):
        self.records = []

    async def check_room(self): ...

    def principal_digest(self, _principal):
        return "p"

    async def write(self, record, **_):
        self.records.append(record)


async def test_the_result_of_a_task_is_recorded_as_that_of_its_tool():
    """Ours: the answer to the call has nothing of it; of a task from before a restart the tool is not known."""
    writer, owners = Written(), {"it__t": ToolOwner("it", "t")}
    audit = AuditStep(writer, lambda name, _: owners.get(name))

    async def answered(request, result):
        async def answer(_):
            return result

        assert await audit(request, answer) is result

    await answered(asks(params={"name": "it__t"}), {"task": {"taskId": "7", "status": "working"}})
    for task in ("7", "8"):
        await answered(asks("tasks/result", {"taskId": task}), {"content": [], "structuredContent": {"a": 1}})
    assert [(each.server, each.tool, each.fields, each.outcome) for each in writer.records] == [
        ("it", "t", (), "answered"),
        ("it", "t", ("a",), "answered"),
        ("*", "*", ("a",), "answered"),
    ]
