"""How often descriptions are read: the limit, and what is unusual enough for the log."""

import logging

import pytest
from mcp import MCPError

import louver
from louver.errors import RateLimited
from louver.limits import MAX_CALLERS, READS_PER_MINUTE
from louver.steps.disclosure.read_limits import MANY_TOOLS, MANY_UNKNOWN_TOOLS, ReadLimits
from steps.profiles import SCHEMA, lowlevel, tool
from steps.reading import URI, descriptions, read, required
from steps.test_callers import caller
from steps.wire import NEW, OLD, attached, connect, text_of

pytestmark = pytest.mark.anyio

OURS = "get_tool_descriptions"


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


async def admitted(reads, reader, times):
    """How many of so many reads are admitted."""
    count = 0
    for _ in range(times):
        try:
            await reads.admit(reader)
        except RateLimited:
            continue
        count += 1
    return count


async def test_so_many_reads_a_minute_and_no_more(clock):
    """000 section 10.3; 120 is ours. Any minute, not the clock's."""
    reads = ReadLimits(clock=clock)
    assert await admitted(reads, "a", READS_PER_MINUTE // 2) == READS_PER_MINUTE // 2
    clock.now += 40
    assert await admitted(reads, "a", READS_PER_MINUTE) == READS_PER_MINUTE // 2
    clock.now += 19.9
    assert await admitted(reads, "a", 1) == 0
    clock.now += 0.1
    assert await admitted(reads, "a", READS_PER_MINUTE) == READS_PER_MINUTE // 2
    clock.now += 60
    assert await admitted(reads, "a", READS_PER_MINUTE + 1) == READS_PER_MINUTE


async def test_a_refusal_says_when_to_read_again(clock):
    """Ours: whole seconds, and no fewer than it takes."""
    reads = ReadLimits(1, clock=clock)
    await reads.admit("a")
    clock.now += 0.5
    with pytest.raises(RateLimited) as refused:
        await reads.admit("a")
    assert refused.value.to_json() == {
        "code": "RATE_LIMITED",
        "message": "a caller may make 1 reads of descriptions a minute: ask again in 60 s",
        "limit": 1,
        "retryAfterSeconds": 60,
    }
    clock.now += 59.5
    await reads.admit("a")


async def test_each_caller_has_a_minute_of_its_own(clock):
    """Ours."""
    reads = ReadLimits(3, clock=clock)
    assert [await admitted(reads, reader, 5) for reader in ("a", "b", "a")] == [3, 3, 0]


def test_callers_that_were_not_seen_for_longest_are_forgotten(clock):
    """Ours: bounded; who is forgotten begins anew."""
    reads = ReadLimits(clock=clock)
    for number in range(MAX_CALLERS + 1):
        reads.count_read(str(number), (), 1, 1)
    assert len(reads._minutes) == MAX_CALLERS


def test_many_unknown_names_are_logged_once_a_minute(clock, caplog):
    """000 section 10.3: monitored. The log has the number, and no name."""
    reads = ReadLimits(clock=clock)
    reads.count_read("caller a", [], MANY_UNKNOWN_TOOLS - 1, 10)
    assert not caplog.records
    reads.count_read("caller b", [], 1, 10)
    assert not caplog.records
    for _ in range(3):
        reads.count_read("caller a", [], 1, 10)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "caller a has asked for 50 tools that are not there, within a minute"
    clock.now += 60
    reads.count_read("caller a", [], MANY_UNKNOWN_TOOLS - 1, 10)
    assert len(caplog.records) == 1
    reads.count_read("caller a", [], 1, 10)
    assert len(caplog.records) == 2


def test_reading_all_of_a_large_catalogue_is_logged(clock, caplog):
    """000 section 10.3; a small one may be read whole."""
    reads = ReadLimits(clock=clock)
    names = [f"t{n}" for n in range(MANY_TOOLS)]
    reads.count_read("caller a", names[:-1], 0, MANY_TOOLS - 1)
    reads.count_read("caller b", names[:-1], 0, MANY_TOOLS)
    reads.count_read("caller b", names[:-1], 0, MANY_TOOLS)
    assert not caplog.records
    reads.count_read("caller b", names[-1:], 0, MANY_TOOLS)
    reads.count_read("caller b", names, 0, MANY_TOOLS)
    (record,) = caplog.records
    assert record.getMessage() == "caller b has read the descriptions of all 50 tools, within a minute"


# Through a server.


async def test_a_read_over_the_limit_is_refused_in_either_way(era):
    """DISCLOSURE: RATE_LIMITED; by the tool as a result. What was refused authorises nothing."""
    made = lowlevel(a=tool(SCHEMA), b=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce", reads_per_minute=2) as wire:
        await descriptions(wire, "a")
        with pytest.raises(MCPError):
            await read(wire, "file:///tool_descriptions?tools=a")
        listings = made.listings
        with pytest.raises(MCPError) as refused:
            await descriptions(wire, "b")
        by_tool = await wire.call(OURS, {"tools": ["b"]})
        assert made.listings == listings
        assert required(await wire.call("b"))
    assert refused.value.error.code == -32602
    assert refused.value.error.data["error"]["code"] == "RATE_LIMITED"
    assert by_tool["isError"] is True
    assert text_of(by_tool)["error"].keys() == {"code", "message", "limit", "retryAfterSeconds"}


async def test_by_default_there_are_120_a_minute(era):
    """DISCLOSURE."""
    made = lowlevel(a=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce") as wire:
        for _ in range(READS_PER_MINUTE):
            await read(wire, URI)
        with pytest.raises(MCPError, match="120 reads of descriptions a minute"):
            await read(wire, URI)


async def test_connections_are_counted_apart_and_principals_together():
    """Ours: who is authenticated is one, however many connections it opens."""
    made = lowlevel(a=tool(SCHEMA))
    louver.attach(made.server, disclosure="enforce", reads_per_minute=1)
    async with connect(made.server, OLD) as one, connect(made.server, OLD) as other:
        await read(one, URI)
        await read(other, URI)
        for who in ("ann", "ben"):
            with caller(who):
                await read(one, URI)
                with pytest.raises(MCPError):
                    await read(other, URI)
        with pytest.raises(MCPError):
            await read(one, URI)


async def test_calls_and_lists_are_not_counted(era):
    """Ours: the limit is on reads."""
    made = lowlevel(a=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce", reads_per_minute=1) as wire:
        for _ in range(5):
            await wire.tools()
            await wire.call("a")
            await wire.request("resources/list")
        await descriptions(wire, "a")


async def test_what_is_unusual_is_logged_without_names(caplog):
    """PRIVACY P15: nobody's text, and of a principal a digest."""
    made = lowlevel(**{f"canary{n}": tool(SCHEMA) for n in range(MANY_TOOLS)})
    async with attached(made.server, NEW, disclosure="enforce") as wire:
        with caller("ann"):
            await descriptions(wire, *(f"x-canary{n}" for n in range(MANY_UNKNOWN_TOOLS)))
            await descriptions(wire, *made.tools)
    said = [record.getMessage() for record in caplog.records if record.name.startswith("louver")]
    assert len(said) == 2
    assert all(message.startswith("principal ") for message in said)
    assert "canary" not in str(said)
    assert "ann" not in str(said).replace("has asked for", "")
