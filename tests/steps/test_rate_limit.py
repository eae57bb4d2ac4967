"""So many requests of one caller within any minute."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.auth.provider import AccessToken

import louver
from louver.errors import LouverError, RateLimited
from louver.limits import MAX_CALLERS
from louver.sdk.adapter import identity_of
from louver.steps.rate_limit import RateLimiter, rate_limit_key
from steps.profiles import lowlevel
from steps.requests import asks


class Clock:
    """Seconds that a test makes go by."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def admitted(rates, who="ann"):
    return rates.count(who) is None


@pytest.mark.anyio
async def test_after_a_minute_there_is_room_again():
    """DISCLOSURE.md; ours: the error says after how many seconds."""
    clock = Clock()
    rates = RateLimiter("queries", 2, clock)
    await rates.admit("ann")
    clock.now += 20
    await rates.admit("ann")
    with pytest.raises(RateLimited) as refused:
        await rates.admit("ann")
    assert refused.value.fields == {"limit": 2, "retryAfterSeconds": 40}
    clock.now += 39.5
    assert not admitted(rates)
    clock.now += 0.5
    assert admitted(rates)
    assert not admitted(rates)
    assert admitted(rates, "ben")


@given(st.lists(st.integers(0, 120).map(lambda quarters: quarters / 4), max_size=60), st.integers(1, 5))
def test_in_no_minute_are_there_more(waits, most):
    """Ours: a window that moves, not one that begins anew; who is refused is let in after the time that was said."""
    clock = Clock()
    rates = RateLimiter("queries", most, clock)
    times = []
    for wait in waits:
        clock.now += wait
        if (wait_s := rates.count("ann")) is not None:
            clock.now += wait_s
            assert admitted(rates)
        times.append(clock.now)
    for at, time in enumerate(times):
        assert sum(time - 60 < other <= time for other in times[: at + 1]) <= most


@pytest.mark.parametrize("most", [0, -1])
def test_a_server_that_would_answer_nobody_does_not_start(most):
    """Ours."""
    with pytest.raises(LouverError, match="one of the queries a minute or more"):
        louver.attach(lowlevel().server, search=True, queries_per_minute=most)


def test_the_callers_that_were_not_seen_for_longest_are_forgotten():
    """Ours: `MAX_CALLERS`, so that memory is bounded whoever comes."""
    rates = RateLimiter("queries", 1)
    for number in range(MAX_CALLERS):
        assert admitted(rates, number)
    assert not admitted(rates, 0)
    assert admitted(rates, "one more")
    assert not admitted(rates, 0)
    assert not admitted(rates, 2)
    assert admitted(rates, 1)


def test_a_caller_is_a_principal_or_an_address():
    """Ours: over stdio, where there is neither, all requests are of one."""
    here, there = "127.0.0.1", "127.0.0.2"
    assert len({rate_limit_key(asks(address=address)) for address in (here, there, None)}) == 3
    ann, writing, ben = (
        identity_of(AccessToken(token="", client_id=client, scopes=[scope]))
        for client, scope in (("ann", "read"), ("ann", "write"), ("ben", "read"))
    )
    who = rate_limit_key(asks(address=here, identity=ann))
    assert who == rate_limit_key(asks(address=there, identity=ann))
    assert who == rate_limit_key(asks(address=here, identity=writing))
    assert who != rate_limit_key(asks(address=here, identity=ben))
