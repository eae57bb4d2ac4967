"""Samples whose tools no longer answer as they did.

A tool that tells the time answers twice the same within a second, and later differs: no sentence is broken. After a
failed check each sample is called again, in a session without projections. Changed samples are dropped, and the check
runs on the others.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from louver.core.json import members
from louver.wire.names import PROJECTION, PROJECTION_LITERAL
from louver_conformance.assertions import same
from louver_conformance.context import EVERYTHING
from louver_conformance.errors import CheckFailed, TargetError
from louver_conformance.sample import output_of

if TYPE_CHECKING:
    from louver_conformance.context import Context
    from louver_conformance.sample import Sample
    from louver_conformance.session import TargetSession


async def drop_unstable_samples(context: Context) -> bool:
    """Whether some samples were dropped, and others are left."""
    if len(context.samples) < 2:
        return False
    with suppress(CheckFailed, TargetError):
        context.plain_session = context.plain_session or await context.open_session()
        tools = await context.describe_tools(context.plain_session) if context.descriptions_resource else context.tools
        by_name = {tool.name: tool for tool in tools}
        stable = [
            sample
            for sample in context.samples
            if await _is_stable(context, replace(sample, tool=by_name[sample.tool.name]), context.plain_session)
        ]
        if 0 < len(stable) < len(context.samples):
            context.reset_samples(stable)
            return True
    return False


async def _is_stable(context: Context, sample: Sample, session: TargetSession) -> bool:
    answer = await context.call_with(sample, {}, session=session)
    if PROJECTION_LITERAL in answer.meta or PROJECTION in answer.meta:
        answer = await context.call_with(sample, {PROJECTION_LITERAL: EVERYTHING}, session=session)
    return same(output_of(members(answer.result)), sample.value)
