"""Nothing that a policy denies gets out over real sockets: by sessions, streams that are resumed, reloads, tokens of one subject."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from louver.gateway.serve.sessions import HttpSessions
from louver.http1.connection import Connection, Response
from louver.http1.parser import PlainFirstParser
from louver.server.policy.enforcer import PolicyEnforcer
from louver.server.results.results import Results
from tests.policy import canaries
from tests.policy.canaries import patched
from tests.policy.wire_canaries import ATTEMPTS, Run

pytestmark = pytest.mark.anyio

FOUND_WITHIN = 400
"""Cases in which what lets tokens out is found; mostly in ten."""


@pytest.mark.parametrize(
    ("seed", "cases"), [(0, 60), *(pytest.param(seed, 2_500, marks=pytest.mark.deep) for seed in (1, 2, 3, 4))]
)
async def test_no_denied_token_gets_out(seed, cases):
    """TRUST.md, "Proof through the transport"; `python -m tests.policy.wire_canaries --cases 100000` looks at more."""
    run = await Run(seed).cases(cases)
    assert run.found == [], run.example
    assert run.counts["denied tokens"] > 10 * cases
    assert run.counts["answered"] > cases / 2
    assert run.counts["reloaded"] > cases / 10
    assert all(run.counts[attempt.__name__.strip("_")] > cases / 5 for attempt in ATTEMPTS)


def of_anybody(self, exchange):
    """The session of that id, whoever opened it."""
    return self._sessions.get(exchange.headers.get("mcp-session-id", ""))


async def leaves_its_connection(self, head, body):
    """A request that is cancelled leaves its connection to the next one before its response has come."""
    self._is_busy = True
    self._transport.write(head + body)
    try:
        return Response(self, await self.next_part())
    except asyncio.CancelledError:
        self._parser = PlainFirstParser(self._heads)
        self._on_idle(self)
        raise


STEPS = {
    "nothing is pruned": [(PolicyEnforcer, canaries.naive())],
    "a session is anybody's": [(HttpSessions, {"_find_own": of_anybody})],
    "all share what is kept of answers": [(Results, {"scoped_to": lambda self, scope: self})],
    "a connection is used again before its answer has come": [(Connection, {"request": leaves_its_connection})],
}


@pytest.mark.parametrize("step", STEPS)
async def test_a_rule_that_is_taken_out_lets_tokens_out(step):
    """TRUST.md, "Kept means kept for someone": each turns it red."""
    with ExitStack() as stack:
        for where, functions in STEPS[step]:
            stack.enter_context(patched(where, **functions))
        run = await Run(1).cases(FOUND_WITHIN, enough=1)
    assert run.found
