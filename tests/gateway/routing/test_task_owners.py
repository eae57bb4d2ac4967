"""Whose a task of several servers is: whoever has made it, for who asks, else whoever has it; in memory."""

import pytest

from gateway.links import there
from louver.gateway.back.availability import AvailabilityListeners
from louver.gateway.back.transports.transport import ignore_notification
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY
from louver.gateway.routing import task_owners as module
from louver.gateway.routing.aggregate import AggregateRoutes
from louver.gateway.routing.task_owners import TaskOwners
from louver.wire.jsonrpc.errors import JsonRpcError
from steps.wire import OLD

pytestmark = pytest.mark.anyio


class Makers:
    """Upstreams that make tasks, and answer who they are for those that they have made."""

    def __init__(self, **makes):
        self.makes, self.made, self.asked = makes, {name: set() for name in makes}, []
        self.many = AggregateRoutes(
            {name: there(name) for name in makes}, self, {}, AvailabilityListeners(ignore_notification)
        )
        self.turn = GatewayCaller(GatewayClient(OLD, GATEWAY_IDENTITY))

    async def send(self, upstream, turn, method, params):
        self.asked.append(upstream.name)
        if method == "tools/call":
            self.made[upstream.name].add(self.makes[upstream.name])
            return {"task": {"taskId": self.makes[upstream.name]}}
        if params["taskId"] not in self.made[upstream.name]:
            raise JsonRpcError(-32602, "no such task")
        return {"of": upstream.name}

    async def call(self, server):
        await self.many.answer(self.turn, "tools/call", {"name": f"{server}__t"})

    async def get(self, number):
        self.asked = []
        return await self.many.answer(self.turn, "tasks/get", {"taskId": number})


async def test_a_task_is_asked_of_whom_has_made_it_alone():
    """MCP, tasks: an id is unique among those of one server; ours: of two of one id the later counts."""
    makers = Makers(a="1", b="1", c="2")
    await makers.call("a")
    await makers.call("b")
    assert await makers.get("1") == {"of": "b"}
    assert makers.asked == ["b"]
    await makers.call("a")
    assert await makers.get("1") == {"of": "a"}


async def test_a_task_that_is_not_known_is_of_the_first_that_has_it():
    """Ours: one that was made before the gateway was started anew, or for another connection."""
    makers = Makers(a="1", b="2")
    makers.made["b"] = {"2"}
    assert await makers.get("2") == {"of": "b"}
    assert makers.asked == ["a", "b"]
    assert await makers.get("2") == {"of": "b"}
    assert makers.asked == ["b"]
    with pytest.raises(JsonRpcError, match="Unknown task"):
        await makers.get("3")


async def test_two_clients_whose_tasks_have_one_id_get_each_their_own():
    """Ours: servers may count."""
    makers = Makers(a="1", b="1")
    first, second = makers.turn, GatewayCaller(GatewayClient(OLD, GATEWAY_IDENTITY))
    await makers.call("a")
    makers.turn = second
    await makers.call("b")
    for makers.turn, server in ((first, "a"), (second, "b")):
        assert await makers.get("1") == {"of": server}


def test_as_many_tasks_are_known_as_are_bounded(monkeypatch):
    """PRIVACY.md: nothing grows with what clients ask for."""
    monkeypatch.setattr(module, "MAX_TASKS", 2)
    known, here = TaskOwners(), there("here")
    for number in "123":
        known.record("who", number, here)
    assert [known.owner_of("who", number) for number in "123"] == [None, here, here]
