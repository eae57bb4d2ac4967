"""The declared capability, and whether there is anything to check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object, members
from louver.wire.names import PROJECTION
from louver_conformance.assertions import first, must_have_extension
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered, NotTried

if TYPE_CHECKING:
    from louver_conformance.context import Context

_MODES = ("include", "exclude", "view")
# Segments of the longest path that is tried, for any `maxDepth`.
_DEEPEST_TRIED = 32


@check("connects")
async def connects(context: Context) -> None:
    """The session is open when a check runs."""


@check("tools-answer")
async def tools_answer(context: Context) -> None:
    if not context.tools:
        raise CheckFailed("no tool is listed")
    if odd := next((tool.name for tool in context.tools if not is_object(tool.listed.get("inputSchema"))), None):
        raise CheckFailed(f"{odd!r} is listed without an input schema")
    if not context.samples:
        # None that could be called, or answers in time on which nothing can be tried: no sentence is broken.
        raise (NotTried if context.usable or context.timed_out or not context.called else CheckFailed)(
            "no tool could be called that answers twice the same, with two fields or more: name one by --fixture, "
            "with arguments. Tools that are not named there are called only if they have 'readOnlyHint'"
            + (
                f". These have not answered in time: {', '.join(map(repr, context.timed_out))}"
                if context.timed_out
                else ""
            )
        )


@check("capability-declared")
async def capability_declared(context: Context) -> None:
    if not context.capability:
        raise CheckFailed("there is no 'capabilities.tools.projection'")
    if context.capability.get("supported") is not True:
        raise CheckFailed("'supported' in 'capabilities.tools.projection' is not true")


@check("capability-modes")
async def capability_modes(context: Context) -> None:
    modes = context.capability.get("modes")
    if not is_array(modes):
        raise CheckFailed("'modes' in 'capabilities.tools.projection' is no list")
    if missing := [mode for mode in _MODES[:2] if mode not in modes]:
        raise CheckFailed(f"'modes' in 'capabilities.tools.projection' lacks {missing[0]!r}")
    if not all(mode in _MODES for mode in modes):
        raise CheckFailed(f"'modes' in 'capabilities.tools.projection' has others than {', '.join(map(repr, _MODES))}")


@check("capability-depth")
async def capability_depth(context: Context) -> None:
    depth = context.capability.get("maxDepth")
    if depth is None:
        raise NotOffered("no 'maxDepth' is told")
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise CheckFailed("'maxDepth' is no whole number from 1")
    path = ".".join(["x"] * min(depth, _DEEPEST_TRIED))
    answer = await context.call(first(context), {"mode": "exclude", "fields": [path]})
    if answer.result is None or answer.is_error_result:
        raise CheckFailed(f"a path of {min(depth, _DEEPEST_TRIED)} segments is refused, and 'maxDepth' is {depth}")


@check("capability-extension")
async def capability_extension(context: Context) -> None:
    must_have_extension(context)
    extension = members(context.extensions.get(PROJECTION))
    for member in ("supported", "modes", "maxDepth"):
        if extension.get(member) != context.capability.get(member):
            raise CheckFailed(f"{member!r} is not the same in 'capabilities.tools.projection' and in the extension")
