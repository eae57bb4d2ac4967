"""Who has read what is kept apart: by connection, by principal, by grant; among many at once."""

import json
import random
from contextlib import AsyncExitStack
from functools import partial

import anyio
import pytest

import louver
from louver.catalogue.grants import Grants
from steps.profiles import SCHEMA, build, lowlevel, tool
from steps.reading import URI, descriptions, grants_in, read, required
from steps.test_callers import caller
from steps.wire import NEW, OLD
from steps.wire import attached as attached_over_streams
from steps.wire import connect as connected_over_streams

pytestmark = pytest.mark.anyio

# In 2026-07-28 what a stream does not remember is seen where there is none.
attached = partial(attached_over_streams, streams=False)
connect = partial(connected_over_streams, streams=False)

MANY = pytest.mark.parametrize("many", [50, pytest.param(200, marks=pytest.mark.deep)])
"""Sessions of the protocol, or principals, at once."""

TOOLS = [f"t{n}" for n in range(10)]
KEYS = ["k" * 32]
PLENTY = 1_000_000


def tools():
    return lowlevel(**{name: tool(SCHEMA) for name in TOOLS})


async def test_what_one_connection_has_read_another_has_not():
    """000 sections 5.1, 5.2 and criterion 8: isolated for each session."""
    made = tools()
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, OLD) as one, connect(made.server, OLD) as other:
        await descriptions(one, "t0")
        await descriptions(other, "t1")
        assert [required(await wire.call(name)) for wire in (one, other) for name in ("t0", "t1")] == [
            False,
            True,
            True,
            False,
        ]
    async with connect(made.server, OLD) as later:
        assert required(await later.call("t0"))


async def test_what_one_principal_has_read_another_has_not(era):
    """DISCLOSURE: a session, and its principal; a grant of one is nothing in the hands of another."""
    made = tools()
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, era) as wire:
        with caller("ann"):
            _, result = await read(wire, f"{URI}?tools=t0")
            grant = {"dev.louver/grant": result["_meta"].get("dev.louver/grant")}
            assert not required(await wire.call("t0", **grant))
        with caller("ben"):
            assert required(await wire.call("t0", **grant))
        assert required(await wire.call("t0", **grant))
        with caller("ann"):
            assert not required(await wire.call("t0", **grant))
    assert len(made.calls) == 2


async def test_one_principal_with_other_scopes_has_read_what_it_has_read(era):
    """Ours: who it is counts; what it may see is the server's to say."""
    made = tools()
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, era) as wire:
        with caller("ann", "read"):
            given = grants_in((await descriptions(wire, "t0"))["t0"])
        with caller("ann", "read", "write"):
            assert not required(await wire.call("t0", given))


async def test_what_nobody_in_particular_has_read_no_principal_has(era):
    """Ours."""
    made = tools()
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, era) as wire:
        given = grants_in((await descriptions(wire, "t0"))["t0"])
        with caller("ann"):
            assert required(await wire.call("t0", given))


class Session:
    """One session or principal: what it has read, by whatever remembers it."""

    def __init__(self, wire, name=None):
        self.wire = wire
        self.name = name
        self.read = set()
        self.grants = {}

    async def reads(self, names):
        found, result = await self.as_itself(read, self.wire, f"{URI}?tools={','.join(names)}")
        assert list(found) == names
        self.read.update(names)
        self.grants.update({name: grants_in(described).get("grant") for name, described in found.items()})
        self.both = result["_meta"].get("dev.louver/grant")

    async def calls(self, name, grant):
        given = {} if grant is None else {"grant": grant}
        return not required(await self.as_itself(self.wire.call, name, given))

    async def as_itself(self, function, *arguments):
        if self.name is None:
            return await function(*arguments)
        with caller(self.name):
            return await function(*arguments)


async def at_once(sessions, seed):
    """Every session reads and calls, all interleaved; each is admitted to just what it has read itself."""
    wrong = []

    async def live(session, dice):
        for _ in range(4):
            await session.reads(dice.sample(TOOLS, dice.randint(1, 3)))
            await anyio.lowlevel.checkpoint()
            for name in dice.sample(TOOLS, 4):
                own = await session.calls(name, session.grants.get(name))
                wrong.extend([] if own == (name in session.read) else [(session.name, name)])
                other = dice.choice(sessions)
                if other is not session and (borrowed := other.grants.get(name)) is not None:
                    may = await session.calls(name, borrowed)
                    # A connection goes by what it remembers, whatever grant comes.
                    remembers = session.wire.era == OLD and name in session.read
                    wrong.extend([] if may == remembers else [(session.name, name, "borrowed")])

    async with anyio.create_task_group() as tasks:
        for number, session in enumerate(sessions):
            tasks.start_soon(live, session, random.Random(f"{seed}/{number}"))
    return wrong


@MANY
async def test_sessions_at_once_are_kept_apart(many):
    """000 criterion 8: connections of 2025-11-25, interleaved."""
    made = tools()
    louver.attach(made.server, disclosure="enforce", reads_per_minute=PLENTY)
    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(connect(made.server, OLD)) for _ in range(many)]
        assert await at_once([Session(wire) for wire in wires], "sessions") == []
    assert len(made.calls) > many


@MANY
async def test_principals_at_once_are_kept_apart(era, many):
    """DISCLOSURE: each over a connection of its own, some over one; a grant never serves another."""
    made = tools()
    louver.attach(made.server, disclosure="enforce", reads_per_minute=PLENTY)
    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(connect(made.server, era)) for _ in range(many)]
        sessions = [Session(wires[number], f"principal-{number}") for number in range(many)]
        assert await at_once(sessions, "principals") == []
    assert len(made.calls) > many


@MANY
async def test_one_connection_of_many_principals_keeps_them_apart(era, many):
    """Ours: one after the other over one connection, for a reply belongs to one request."""
    made = tools()
    louver.attach(made.server, disclosure="enforce", reads_per_minute=PLENTY)
    dice = random.Random("one connection")
    async with connect(made.server, era) as wire:
        sessions = [Session(wire, f"principal-{number}") for number in range(many)]
        for session in sessions:
            await session.reads(dice.sample(TOOLS, 2))
        for session in dice.sample(sessions, many):
            for name in dice.sample(TOOLS, 3):
                assert await session.calls(name, session.grants.get(name)) == (name in session.read)
                other = dice.choice([one for one in sessions if one is not session and name in one.read])
                remembers = era == OLD and name in session.read
                assert await session.calls(name, other.grants[name]) == remembers


WRONG = {
    "one letter more": lambda grant: f"{grant}A",
    "one letter less": lambda grant: grant[:-1],
    "one letter other": lambda grant: grant[:30] + ("A" if grant[30] != "A" else "B") + grant[31:],
    "without its form": lambda grant: grant.removeprefix("v1."),
    "of nobody": lambda _: "v1." + "A" * 70,
    "no text": lambda grant: [grant],
    "nothing": lambda _: "",
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
async def test_a_grant_that_was_tampered_with_is_none(spoil):
    """DISCLOSURE: TOOL_DESCRIPTION_REQUIRED again, so everything heals itself."""
    made = tools()
    async with attached(made.server, NEW, disclosure="enforce") as wire:
        grant = grants_in((await descriptions(wire, "t0"))["t0"])["grant"]
        for meta in ({}, {"dev.louver/grant": spoil(grant)}):
            assert required(await wire.call("t0", {"grant": spoil(grant)}, **meta))
        assert not required(await wire.call("t0", {"grant": grant}))
    assert len(made.calls) == 1


async def test_a_grant_that_has_expired_is_none(monkeypatch):
    """DISCLOSURE: an hour; then the description is read again."""
    made = tools()
    async with attached(made.server, NEW, disclosure="enforce") as wire:
        with monkeypatch.context() as late:
            late.setattr("louver.catalogue.grants.GRANT_S", 0)
            old = grants_in((await descriptions(wire, "t0"))["t0"])
        assert required(await wire.call("t0", old))
        assert not required(await wire.call("t0", grants_in((await descriptions(wire, "t0"))["t0"])))


async def test_a_grant_of_another_server_is_none():
    """DISCLOSURE: audience; they share keys, and have the same tool."""
    one, other = build("MCPServer").server, lowlevel(get_profile=tool(SCHEMA)).server
    other.name = "others"
    for server in (one, other):
        louver.attach(server, disclosure="enforce", keys=KEYS)
    async with connect(one, NEW) as wire:
        grant = grants_in((await descriptions(wire, "get_profile"))["get_profile"])
    async with connect(other, NEW) as wire:
        assert required(await wire.call("get_profile", grant))


async def test_servers_with_one_key_accept_each_others_grants():
    """DISCLOSURE: two workers. Without a key they do not, and the client reads again."""
    for keys, accepted in ((KEYS, True), ((), False)):
        workers = [tools(), tools()]
        for made in workers:
            louver.attach(made.server, disclosure="enforce", keys=keys)
        async with connect(workers[0].server, NEW) as wire:
            grant = grants_in((await descriptions(wire, "t0"))["t0"])
        async with connect(workers[1].server, NEW) as wire:
            assert required(await wire.call("t0", grant)) is not accepted
            assert not required(await wire.call("t0", grants_in((await descriptions(wire, "t0"))["t0"])))


async def test_a_grant_of_a_key_that_was_the_first_is_good_while_it_is_in_the_ring():
    """DISCLOSURE: a key ring for rotation."""
    made = tools()
    old = Grants(["o" * 32], audience=made.server.name)
    async with attached(made.server, NEW, disclosure="enforce", keys=["n" * 32, "o" * 32]) as wire:
        _, result = await read(wire, f"{URI}?tools=t0")
        version = result["_meta"]["dev.louver/versions"]["t0"]
        assert not required(await wire.call("t0", {"grant": old.seal(None, {"t0": version})}))
        assert required(await wire.call("t0", {"grant": old.seal(None, {"t0": "0" * 16})}))


async def test_in_2026_nothing_is_remembered():
    """2026-07-28: every request stands for itself; a call without a grant is one without."""
    made = tools()
    async with attached(made.server, NEW, disclosure="enforce") as wire:
        described = (await descriptions(wire, "t0"))["t0"]
        assert required(await wire.call("t0"))
        assert json.dumps(described["inputSchema"]).count("grant") == 2
        assert not required(await wire.call("t0", grants_in(described)))
        assert required(await wire.call("t0"))
