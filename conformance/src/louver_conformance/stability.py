"""Whether tools still answer as they did when their samples were taken.

A clock answers twice the same within one second, and then it does not: what is compared with its first answer differs,
and no sentence is broken. So after a check that fails the samples are asked for once more, in a conversation in which
no projection was ever asked for; those that have changed go, and the check is carried out on the others.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from louver.core.json import members
from louver.errors import Broken, UpstreamError
from louver.protocol.names import PROJECTION, PROJECTION_LITERAL
from louver_conformance.assertions import same
from louver_conformance.context import EVERYTHING
from louver_conformance.sample import output_of

if TYPE_CHECKING:
    from louver_conformance.context import Talk
    from louver_conformance.sample import Sample
    from louver_conformance.session import Peer


async def settle(talk: Talk) -> bool:
    """Let those samples go whose tools answer otherwise by now.

    Returns:
        Whether there were any, and others are left.
    """
    if len(talk.samples) < 2:
        return False
    with suppress(Broken, UpstreamError):
        talk.onlooker = talk.onlooker or await talk.another()
        tools = await talk.described(talk.onlooker) if talk.descriptions else talk.tools
        named = {tool.name: tool for tool in tools}
        steady = [
            sample
            for sample in talk.samples
            if await _is_steady(talk, replace(sample, tool=named[sample.tool.name]), talk.onlooker)
        ]
        if 0 < len(steady) < len(talk.samples):
            talk.keep(steady)
            return True
    return False


async def _is_steady(talk: Talk, sample: Sample, peer: Peer) -> bool:
    answer = await talk.call_with(sample, {}, peer=peer)
    if PROJECTION_LITERAL in answer.meta or PROJECTION in answer.meta:
        answer = await talk.call_with(sample, {PROJECTION_LITERAL: EVERYTHING}, peer=peer)
    return same(output_of(members(answer.result)), sample.value)
