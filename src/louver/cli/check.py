"""`louver check`: whether a configuration can be served, without serving it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.cli import signals, terminal, upstreams

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print the servers and what is wrong; 1 if anything is.

    Raises:
        InvalidConfig: The configuration cannot be used.
    """
    return signals.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    config = upstreams.read(arguments)
    if config.auth is not None:
        # Imported here: who asks nobody for tokens needs no cryptography.
        from louver.gateway.auth.authenticated import verifier_of

        verifier_of(config.auth)
    async with upstreams.opened(config) as (gateway, states):
        problems = [problem for state in states for problem in gateway.problems_of(state)]
    terminal.console().print(upstreams.table(states))
    for problem in problems:
        terminal.say(problem)
    return 1 if problems or any(state.problem is not None for state in states) else 0
