"""Whose a resource of several servers is: who lists it now, not who listed it once; and never more than is bounded."""

from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from gateway.links import there
from louver.gateway.back.availability import AvailabilityListeners
from louver.gateway.back.transports.transport import ignore_notification
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY
from louver.gateway.routing.aggregate import AggregateRoutes
from louver.gateway.routing.resource_owners import ResourceOwners
from louver.limits import MAX_RESULTS, MAX_URI_BYTES
from louver.wire.jsonrpc.errors import JsonRpcError
from steps.wire import NEW

pytestmark = pytest.mark.anyio

X, Y = "file:///x", "file:///y"


def test_an_address_that_is_too_long_is_not_remembered():
    """Ours: 1,000 addresses of 4 MB would be kept."""
    owners, uri = ResourceOwners(), "file:///" + "x" * MAX_URI_BYTES
    owners.record_read(uri, SimpleNamespace(name="a"))
    assert owners.candidates(uri) == []


class Shelves:
    """Upstreams that have what is given, list of it what is `listed`, and note what they are asked."""

    def __init__(self, **has):
        self.has, self.listed = has, dict(has)
        self.templates = {}
        self.asked, self.away = [], set()

    async def send(self, upstream, turn, method, params):
        self.asked.append(method)
        if upstream.name in self.away:
            raise JsonRpcError(-32603, "upstream is not there")
        if method == "resources/list":
            return {"resources": [{"uri": uri} for uri in self.listed[upstream.name]]}
        if method == "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": text} for text in self.templates.get(upstream.name, [])]}
        if params["uri"] not in self.has[upstream.name]:
            raise JsonRpcError(-32602, "Unknown resource")
        return {"of": upstream.name}

    def before(self):
        """Those servers as one."""
        return AggregateRoutes(
            {name: there(name) for name in self.has}, self, {}, AvailabilityListeners(ignore_notification)
        )


async def ask(many, method, **params):
    return await many.answer(GatewayCaller(GatewayClient(NEW, GATEWAY_IDENTITY)), method, params)


async def uris(many):
    return [entry["uri"] for entry in (await ask(many, "resources/list"))["resources"]]


async def test_what_another_server_has_by_now_is_its():
    """Ours: whoever listed it, else whoever has it."""
    shelves = Shelves(a=[X], b=[Y])
    many = shelves.before()
    assert await uris(many) == [X, Y]
    assert await ask(many, "resources/read", uri=X) == {"of": "a"}
    shelves.has = shelves.listed = {"a": [], "b": [X, Y]}
    assert await uris(many) == [X, Y]
    assert await ask(many, "resources/read", uri=X) == {"of": "b"}


async def test_a_server_that_does_not_answer_has_what_it_had():
    """Ours: a restart takes no resource from it, whoever lists meanwhile, and whoever else would take it."""
    shelves = Shelves(a=[], b=[X])
    many = shelves.before()
    assert await uris(many) == [X]
    shelves.away = {"b"}
    assert await uris(many) == []
    shelves.away, shelves.has["a"] = set(), [X]
    assert await ask(many, "resources/subscribe", uri=X) == {"of": "b"}


async def test_what_nobody_lists_is_of_whom_it_was_read_from_until_that_has_it_no_more():
    """Ours: else whoever has it. That somebody takes a subscription does not say that it has the resource."""
    shelves = Shelves(a=[], b=[X])
    shelves.listed = {"a": [], "b": []}
    many = shelves.before()
    assert await ask(many, "resources/read", uri=X) == {"of": "b"}
    shelves.has = {"a": [X], "b": [X]}
    assert await ask(many, "resources/read", uri=X) == {"of": "b"}
    shelves.has = {"a": [X], "b": []}
    assert await ask(many, "resources/read", uri=X) == {"of": "a"}
    shelves.has = {"a": [Y], "b": [Y]}
    assert await ask(many, "resources/subscribe", uri=Y) == {"of": "a"}
    shelves.has = {"a": [], "b": [Y]}
    assert await ask(many, "resources/read", uri=Y) == {"of": "b"}


async def test_what_a_server_lists_a_template_of_is_its():
    """Ours: whoever else would take it, as one that answers whatever it is asked with nothing; also unlisted before."""
    shelves = Shelves(a=["b://1", X], b=["b://1", "b://2", X])
    shelves.listed, shelves.templates = {"a": [], "b": []}, {"b": ["b://{x}"]}
    for method in ("resources/read", "resources/subscribe"):
        many = shelves.before()
        assert await ask(many, method, uri="b://1") == {"of": "b"}
        assert await ask(many, method, uri=X) == {"of": "a"}
        # Nor is it asked of others that it does not have.
        shelves.has["a"].append("b://3")
        with pytest.raises(JsonRpcError, match="Unknown resource"):
            await ask(many, method, uri="b://3")
    assert shelves.asked.count("resources/templates/list") == 4


async def test_a_server_that_comes_later_has_what_it_lists_a_template_of():
    """Ours: templates of one that was not there, or did not answer, are asked for before others are asked for its."""
    shelves = Shelves(a=["b://1"], b=["b://1"])
    shelves.listed, shelves.templates, shelves.away = {"a": [], "b": []}, {"b": ["b://{x}"]}, {"b"}
    many = shelves.before()
    await ask(many, "resources/templates/list")
    shelves.away = set()
    assert await ask(many, "resources/read", uri="b://1") == {"of": "b"}


async def test_what_several_list_a_template_of_is_asked_of_these_in_turn():
    """Ours: two servers of files list the same one."""
    shelves = Shelves(a=["file:///a/1"], b=["file:///b/1"], c=["file:///b/1"])
    shelves.listed, shelves.templates = {"a": [], "b": [], "c": []}, {name: ["file:///{+path}"] for name in "ac"}
    many = shelves.before()
    for uri, server in (("file:///a/1", "a"), ("file:///b/1", "c")):
        assert await ask(many, "resources/read", uri=uri) == {"of": server}
    shelves.templates = {"b": ["file:///b/{x}"]}
    await ask(many, "resources/templates/list")
    assert await ask(many, "resources/read", uri="file:///b/1") == {"of": "b"}


async def test_what_was_read_of_one_is_of_whom_lists_a_template_of_it_by_now():
    """Ours: a server that was not there at first, and one that answered in its place."""
    shelves = Shelves(a=["b://1"], b=["b://1"])
    shelves.listed = {"a": [], "b": []}
    many = shelves.before()
    assert await ask(many, "resources/read", uri="b://1") == {"of": "a"}
    shelves.templates = {"b": ["b://{x}"]}
    await ask(many, "resources/templates/list")
    assert await ask(many, "resources/read", uri="b://1") == {"of": "b"}
    shelves.has["b"] = []
    with pytest.raises(JsonRpcError, match="Unknown resource"):
        await ask(many, "resources/read", uri="b://1")


async def test_what_two_servers_list_is_of_the_first_also_where_one_alone_is_asked():
    """Ours: an address names one resource."""
    shelves = Shelves(a=[X], b=[X, Y])
    many = shelves.before()
    assert await uris(many) == [X, Y]
    only = {"_meta": {"dev.louver/server": "b"}}
    assert [entry["uri"] for entry in (await ask(many, "resources/list", **only))["resources"]] == [Y]
    assert await ask(many, "resources/read", uri=X) == {"of": "a"}


async def test_of_what_nobody_lists_as_much_is_remembered_as_is_bounded():
    """PRIVACY.md: nothing grows with what clients ask for."""
    known, here = ResourceOwners(), SimpleNamespace()
    for number in range(MAX_RESULTS + 1):
        known.record_read(f"big:{number}", here)
        known.record_kept(f"kept:{number}", here)
    assert [known.owner_of(uri) for uri in ("big:0", "kept:0?page=1")] == [None, None]
    assert [known.owner_of(uri) for uri in ("big:1", "kept:1?page=1")] == [here, here]
    assert known.owner_of("big:1?page=1") is None


async def test_servers_list_once_for_all_that_is_watched(monkeypatch):
    """Ours: one request is not made thousands."""
    watched = []

    @asynccontextmanager
    async def watching(turn, whose):
        watched.extend((uri, upstream.name) for uri, upstream in whose.items())
        yield

    monkeypatch.setattr("louver.gateway.routing.aggregate.watching", watching)
    shelves = Shelves(a=[X], b=[Y])
    many = shelves.before()
    async with many.watching(
        GatewayCaller(GatewayClient(NEW, GATEWAY_IDENTITY)), [X, Y, *(f"no:{number}" for number in range(100))]
    ):
        assert watched == [(X, "a"), (Y, "b")]
    assert sorted(shelves.asked) == 2 * ["resources/list"] + 2 * ["resources/templates/list"]
