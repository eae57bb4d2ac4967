"""Tasks are bound to the clients that made them (MCP 2025-11-25, "Tasks"; TRUST.md, "Kept means kept for someone")."""

import json

import pytest

from gateway.front.auth.guarded import bearing, token_file
from gateway.served import config, fixture, serving
from louver.gateway.back.fan_out.task_bindings import MAX_PEER_TASKS, MAX_TASK_PEERS, TaskBindings

pytestmark = pytest.mark.anyio

TASK = {"taskId": "786512e2", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
OTHER = {**TASK, "taskId": "another"}
ANSWERS = {
    "initialize": {"capabilities": {"tools": {}, "tasks": {"list": {}, "requests": {"tools": {"call": {}}}}}},
    "tools/call": {"task": TASK},
    "tasks/get": TASK,
    "tasks/cancel": TASK,
    "tasks/result": {"content": [{"type": "text", "text": "of ann alone"}]},
    "tasks/list": {"tasks": [TASK, OTHER]},
}


@pytest.mark.parametrize("isolation", ["shared", "session"])
@pytest.mark.parametrize("servers", [["it"], ["it", "other"]])
async def test_a_task_is_there_for_its_maker_alone(tmp_path, servers, isolation):
    entries = {name: fixture("saying", json.dumps(ANSWERS), isolation=isolation) for name in servers}
    options = config(tmp_path, entries, auth={"tokens": token_file(tmp_path)})
    tool = "t" if len(servers) == 1 else "it__t"
    with serving(*options, no_auth=False) as served:
        async with bearing(served.url, "t-ann") as ann, bearing(served.url, "t-bob") as bob:
            made = await ann.result("tools/call", name=tool, arguments={}, task={"ttl": 60_000})
            assert made["task"]["taskId"] == TASK["taskId"]
            for method in ("tasks/get", "tasks/result", "tasks/cancel"):
                await ann.result(method, taskId=TASK["taskId"])
                refused = await bob.error(method, taskId=TASK["taskId"])
                assert refused == await bob.error(method, taskId="never made")
                assert refused["code"] == -32602
            assert (await ann.result("tasks/list"))["tasks"] == [TASK]
            assert (await bob.result("tasks/list"))["tasks"] == []


def test_the_one_client_over_stdio_has_all_tasks():
    tasks = TaskBindings()
    tasks.check(None, {"taskId": "made before the gateway was restarted"})
    assert tasks.bind(None, "tasks/list", {"tasks": [TASK]}) == {"tasks": [TASK]}


def test_tasks_take_bounded_memory_and_the_last_ones_stay():
    tasks = TaskBindings()
    for number in range(MAX_PEER_TASKS + 1):
        tasks.bind("ann", "tools/call", {"task": {"taskId": str(number)}})
    assert [tasks.is_of("ann", each) for each in ("0", "1", str(MAX_PEER_TASKS))] == [False, True, True]
    for number in range(MAX_TASK_PEERS):
        tasks.bind(number, "tools/call", {"task": TASK})
    assert not tasks.is_of("ann", "1")
    assert tasks.is_of(0, TASK["taskId"])
