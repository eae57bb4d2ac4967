"""Nothing that a policy denies gets out over real sockets: by resumed streams, reloads, and tokens of one subject."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from louver.gateway.front.sessions import HttpSessions
from louver.gateway.gateway import Gateway
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.steps.results.results import Results
from tests.policy import canaries
from tests.policy.canaries import patched
from tests.policy.wire_canaries import ATTEMPTS, Run

pytestmark = pytest.mark.anyio

FOUND_WITHIN = 400
"""Cases in which what lets tokens out is found; mostly in ten."""


@pytest.mark.parametrize(
    ("seeds", "cases"),
    [([0], 20), *(pytest.param(seeds, 150, marks=pytest.mark.deep) for seeds in ([1, 2, 3, 4], [5, 6, 7, 8]))],
)
async def test_no_denied_token_gets_out(seeds, cases):
    """TRUST.md, "Proof through the transport"; `python -m tests.policy.wire_canaries --cases 100000` looks at more."""
    # Side by side, since a case mostly waits.
    for run in await asyncio.gather(*(Run(seed).cases(cases) for seed in seeds)):
        assert run.found == [], run.example
        assert run.counts["denied tokens"] > 10 * cases
        assert run.counts["answered"] > cases / 2
        assert run.counts["reloaded"] > cases / 10
        assert all(run.counts[attempt.__name__.strip("_")] > cases / 5 for attempt in ATTEMPTS)


STEPS = {
    "nothing is pruned": [(PolicyEnforcer, canaries.naive())],
    "events are for everybody": [(HttpSessions, {"_caller": lambda self, exchange: None})],
    "all share what is kept of answers": [(Results, {"scoped_to": lambda self, scope: self})],
    "events stay after a reload": [(Gateway, {"audience": lambda self, principal: principal.roles})],
}


@pytest.mark.parametrize("step", STEPS)
async def test_a_rule_that_is_taken_out_lets_tokens_out(step):
    """TRUST.md, "Kept means kept for someone": each turns it red."""
    with ExitStack() as stack:
        for where, functions in STEPS[step]:
            stack.enter_context(patched(where, **functions))
        run = await Run(1).cases(FOUND_WITHIN, enough=1)
    assert run.found
