"""Results that a server behind the gateway keeps itself, where the gateway keeps some too."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from mcp import MCPError

from fixtures.forking import PYTHON
from gateway.served import FIXTURES
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.steps.results.results import KeptResults
from steps.kept import KEY, Clock, read, uri_of
from steps.test_callers import caller
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", [OLD, NEW])
LARGE = (PYTHON, str(FIXTURES / "large.py"))
URI = "louver://results/told"


def keeping(*names):
    """Servers that say that they keep what they are told, at any address."""
    return [UpstreamConfig(name, "stdio", command=(PYTHON, str(FIXTURES / "keeping.py"), name)) for name in names]


@asynccontextmanager
async def before(upstreams, **options):
    """A gateway before these servers, which keeps results too."""
    options = {"keep_results": KeptResults(over_bytes=1_000_000), **options}
    gateway = Gateway(Config(tuple(upstreams), **options), single_client=False)
    try:
        yield sdk_server(gateway.answer)
    finally:
        await gateway.close()


async def error_of(wire, uri):
    with pytest.raises(MCPError) as refused:
        await wire.request("resources/read", {"uri": uri})
    return refused.value.error.model_dump(exclude_none=True)


@ERAS
async def test_what_a_server_has_kept_is_read_there(era):
    """GATEWAY.md, "Transparency first": a Louver behind a Louver; the tool runs once."""
    upstream = UpstreamConfig("large", "stdio", command=(*LARGE, "--keeps"))
    async with before([upstream]) as server, connect(server, era) as wire:
        answer = await wire.call("rows", {"number": 150})
        assert answer["structuredContent"] == {"call": 1}
        uri = uri_of(answer)
        # The server's own tool, or ours, which cannot ask for that.
        without = await wire.call("read_result", {"handle": uri, "output_fields": {"exclude": ["rows"]}})
        (told,) = without["content"]
        assert told["text"] == '{"call":1}' or (without["isError"] and "only paths to include" in told["text"])
        top = {"sort_by": "-rows.id", "limit": 1, "output_fields": ["rows.id"]}
        (told,) = (await wire.call("read_result", {"handle": uri, **top}))["content"]
        assert told["text"] == 'the first 1 of 150 elements\n{"rows":[{"id":149}]}'
        page, said = await read(wire, f"{uri}?page=2&fields=rows.id,call")
        assert page == {"call": 1, "rows": [{"id": id} for id in range(100, 150)]}
        assert said["_meta"][KEY]["pages"] == 2
        assert said["_meta"]["projection"]["projectedSchema"]["type"] == "object"


@ERAS
async def test_whatever_a_server_has_against_a_read_there_is_nothing(era):
    """P17: guessed, foreign, expired there and expired here are one answer, byte for byte."""
    clock = Clock()
    kept = KeptResults(over_bytes=1_000, clock=clock)
    async with (
        before([*keeping("one"), UpstreamConfig("large", "stdio", command=LARGE)], keep_results=kept) as server,
        connect(server, era) as wire,
    ):
        with caller("ann"):
            await wire.call("one__look", {"uri": URI})
            await wire.call("one__look", {"uri": f"{URI}-gone"})
            ours = uri_of(await wire.call("large__rows", {"number": 5}))
            assert (await read(wire, URI))[0]["from"] == "one"
            found = [await error_of(wire, f"{URI}-gone"), await error_of(wire, "louver://results/guessed")]
        with caller("ben"):
            found += [await error_of(wire, URI), await error_of(wire, ours)]
        clock.now += 60
        with caller("ann"):
            found.append(await error_of(wire, URI))
            await read(wire, ours)
            clock.now += 600
            found.append(await error_of(wire, ours))
    assert len({json.dumps(error) for error in found}) == 1
    assert found[0]["data"]["error"]["code"] == "UNKNOWN_RESULT"


@ERAS
async def test_a_read_goes_to_the_server_that_has_told_of_it_and_to_no_other(era):
    """Ours: another one would learn a handle by it, or could answer what it likes."""
    async with before(keeping("one", "two")) as server, connect(server, era) as wire:
        await wire.call("two__look", {"uri": URI})
        await wire.call("one__look", {"uri": URI})
        assert (await read(wire, f"{URI}?page=1"))[0]["from"] == "two"
        assert (await read(wire, URI))[0]["from"] == "two"


@ERAS
async def test_a_server_that_tells_of_our_own_handle_gets_nothing_by_it(era):
    """Ours: what is kept here is read here."""
    async with (
        before(
            [*keeping("one"), UpstreamConfig("large", "stdio", command=LARGE)],
            keep_results=KeptResults(over_bytes=1_000),
        ) as server,
        connect(server, era) as wire,
    ):
        ours = uri_of(await wire.call("large__rows", {"number": 5}))
        await wire.call("one__look", {"uri": ours})
        assert (await read(wire, f"{ours}?fields=call"))[0] == {"call": 1}


@ERAS
@pytest.mark.parametrize("uri", ["louver://results/", "louver://results/a?page=1", "file:///a", 5])
async def test_what_is_no_handle_is_not_remembered(era, uri):
    """Ours: `_meta` can hold anything."""
    async with before(keeping("one")) as server, connect(server, era) as wire:
        await wire.call("look", {"uri": uri})
        await wire.call("look", {"uri": URI, "seconds": 10**400})
        assert (await read(wire, URI))[0]["from"] == "one"
        assert (await error_of(wire, "louver://results/a"))["data"]["error"]["code"] == "UNKNOWN_RESULT"


@asynccontextmanager
async def changing(config):
    """A connection to a gateway, and what gives that another configuration."""
    gateway = Gateway(config, single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), NEW) as wire:
            yield wire, gateway.reconfigure
    finally:
        await gateway.close()


async def unknown(wire, uri=URI):
    return (await error_of(wire, uri))["data"]["error"]["code"] == "UNKNOWN_RESULT"


async def test_another_configuration_does_not_change_where_a_read_goes():
    """Ours: nor does it bring one to a server that has come since, whatever that is called."""
    config = Config(tuple(keeping("one", "two")), keep_results=KeptResults())
    async with changing(config) as (wire, change):
        await wire.call("two__look", {"uri": URI})
        await change(replace(config, warnings=True))
        assert (await read(wire, URI))[0]["from"] == "two"
        await change(replace(config, upstreams=tuple(keeping("two"))))
        assert (await read(wire, URI))[0]["from"] == "two"
        for others in (keeping("one"), keeping("one", "three")):
            await change(replace(config, upstreams=tuple(others)))
            assert await unknown(wire)
        another = replace(config.upstreams[1], command=config.upstreams[0].command)
        for others in ([another], [config.upstreams[0], another]):
            await change(replace(config, upstreams=tuple(others)))
            assert await unknown(wire)
        await change(config)
        assert (await read(wire, URI))[0]["from"] == "two"


async def test_nobody_is_asked_to_watch_what_no_server_has_told_of():
    """Ours: it would learn a handle by that."""
    async with before(keeping("one", "two")) as server, connect(server, OLD) as wire:
        with pytest.raises(MCPError) as refused:
            await wire.request("resources/subscribe", {"uri": URI})
    assert refused.value.error.data["error"]["code"] == "UNKNOWN_RESULT"
