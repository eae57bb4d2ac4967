"""What a target says when it is connected to, and whether there is anything to check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object, members
from louver.errors import Broken, NotOffered, NotTried
from louver.protocol.names import PROJECTION
from louver_conformance.assertions import first, must_have_extension
from louver_conformance.checks import check

if TYPE_CHECKING:
    from louver_conformance.context import Talk

_MODES = ("include", "exclude", "view")
_DEEPEST_TRIED = 32
"""Longest path that is tried, in segments, whatever a target says."""


@check("connects")
async def connects(talk: Talk) -> None:
    """The conversation is open when this is asked."""


@check("tools-answer")
async def tools_answer(talk: Talk) -> None:
    if not talk.tools:
        raise Broken("no tool is listed")
    if odd := next((tool.name for tool in talk.tools if not is_object(tool.listed.get("inputSchema"))), None):
        raise Broken(f"{odd!r} is listed without an input schema")
    if not talk.samples:
        # None that could be called, or answers on which nothing can be tried: no sentence is broken.
        raise (NotTried if talk.usable or not talk.called else Broken)(
            "no tool could be called that answers twice the same, with two fields or more: name one by --fixture, "
            "with arguments. Tools that are not named there are called only if they have 'readOnlyHint'"
            + (f". These have not answered in time: {', '.join(map(repr, talk.late))}" if talk.late else "")
        )


@check("capability-declared")
async def capability_declared(talk: Talk) -> None:
    if not talk.capability:
        raise Broken("there is no 'capabilities.tools.projection'")
    if talk.capability.get("supported") is not True:
        raise Broken("'supported' in 'capabilities.tools.projection' is not true")


@check("capability-modes")
async def capability_modes(talk: Talk) -> None:
    modes = talk.capability.get("modes")
    if not is_array(modes):
        raise Broken("'modes' in 'capabilities.tools.projection' is no list")
    if missing := [mode for mode in _MODES[:2] if mode not in modes]:
        raise Broken(f"'modes' in 'capabilities.tools.projection' lacks {missing[0]!r}")
    if not all(mode in _MODES for mode in modes):
        raise Broken(f"'modes' in 'capabilities.tools.projection' has others than {', '.join(map(repr, _MODES))}")


@check("capability-depth")
async def capability_depth(talk: Talk) -> None:
    depth = talk.capability.get("maxDepth")
    if depth is None:
        raise NotOffered("no 'maxDepth' is told")
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise Broken("'maxDepth' is no whole number from 1")
    path = ".".join(["x"] * min(depth, _DEEPEST_TRIED))
    answer = await talk.call(first(talk), {"mode": "exclude", "fields": [path]})
    if answer.result is None or answer.is_error_result:
        raise Broken(f"a path of {min(depth, _DEEPEST_TRIED)} segments is refused, and 'maxDepth' is {depth}")


@check("capability-extension")
async def capability_extension(talk: Talk) -> None:
    must_have_extension(talk)
    said = members(talk.extensions.get(PROJECTION))
    for member in ("supported", "modes", "maxDepth"):
        if said.get(member) != talk.capability.get(member):
            raise Broken(f"{member!r} is not the same in 'capabilities.tools.projection' and in the extension")
