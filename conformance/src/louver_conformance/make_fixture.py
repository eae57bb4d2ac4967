"""A fixture to begin with: arguments for each tool of a target; tools that may have effects are not called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from louver.errors import InvalidInput
from louver_conformance.context import Context
from louver_conformance.errors import TargetError
from louver_conformance.fixture import NOT_CALLED, Fixture, filled
from louver_conformance.session import REVISIONS, Deadline
from louver_conformance.validator_process import ValidatorProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver_conformance.session import Target
    from louver_conformance.tools import Tool


async def fixture_of(target: Target, *, revisions: Sequence[str] = (), timeout_s: float | None = None) -> str:
    """The text of the file; InvalidInput if the target speaks none of the revisions."""
    problem = ""
    for revision in revisions or REVISIONS:
        context = Context(target, revision, Fixture(), ValidatorProcess(), Deadline(timeout_s))
        try:
            await context.open()
            await context.list_tools()
            tools = await context.describe_tools(context.session) if context.descriptions_resource else context.tools
        except TargetError as error:
            problem = error.message
        else:
            return _text(tools)
        finally:
            await context.close()
    raise InvalidInput(f"the tools cannot be listed: {problem}")


def _text(tools: list[Tool]) -> str:
    called, others = (
        {tool.name: filled(tool.input_schema) for tool in tools if tool.is_read_only is read_only}
        for read_only in (True, False)
    )
    content: dict[str, Any] = {**called, **({NOT_CALLED: others} if others else {})}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
