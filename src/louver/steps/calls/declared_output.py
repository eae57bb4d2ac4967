"""Structured content for tools that answer with text although a file declares their output schema.

Clients reject an answer that does not fit the listed schema. So each answer gets structured content; if nothing in it
fits, it becomes the error `OUTPUT_INVALID`. Errors and incomplete results stay unchanged.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.offload import run_in_thread
from louver.core.json import is_object, members
from louver.core.projection.request import Projection
from louver.core.wrapper import WRAPPER, as_object, text_wrapper_in
from louver.errors import OutputInvalid
from louver.limits import MAX_LOG_LINE
from louver.steps.calls.call import skip_reason
from louver.steps.pages import envelope_of
from louver.steps.refusals import error_result
from louver.wire.output import find_output, texts_of

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry
    from louver.steps.request import Next, Request
    from louver.steps.tools.listing import Listing
    from louver.steps.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)

_EVERYTHING: Final = Projection(include=["*"])


class DeclaredOutput:
    def __init__(self, tools: ToolRegistry, listing: Listing) -> None:
        self._tools = tools
        self._listing: Listing = listing

    def wrap(self, call_next: Next) -> Next:
        """A handler that adds structured content to the answers of `call_next`."""
        schemas = self._tools.views.schemas

        async def answered(request: Request) -> dict[str, Any]:
            result = await call_next(request)
            name: object = request.params.get("name")
            # A projected call may send `tools/list` through this handler.
            if request.method != "tools/call" or not isinstance(name, str):
                return result
            schemas.refresh()
            if schemas.find(name) is None or skip_reason(result):
                return result
            entry = await self._tools.find_if_listed(name, request, call_next)
            if entry is None or entry.declared is None:
                return result
            looked_at = [*texts_of(result), result.get("structuredContent")]
            return await run_in_thread(looked_at, partial(self._add_structured, result, entry))

        return answered

    def _add_structured(self, result: dict[str, Any], entry: Entry) -> dict[str, Any]:
        """The answer with its output as structured content, or the error that nothing fits."""
        text = None if entry.text_wrapper else text_wrapper_in(result.get("structuredContent"))
        output = find_output(result, text)
        if output is None:
            return _invalid(result, entry, "is neither structured nor one text that holds JSON")
        value = as_object(output.value)
        # An open object schema would otherwise accept any list, once that is wrapped in an object.
        is_one = is_object(output.value) or WRAPPER in members(members(entry.output_schema).get("properties"))
        by = entry.plan(_EVERYTHING).validator if self._listing == "strict" else entry.listing_validator
        if not (is_one and by.is_valid(value)):
            return _invalid(result, entry, "does not fit the schema")
        return {**result, "structuredContent": value}


def _invalid(result: dict[str, Any], entry: Entry, reason: str) -> dict[str, Any]:
    logger.warning("tool %r: a file declares its output, and an answer %s", entry.name[:MAX_LOG_LINE], reason)
    error = OutputInvalid(f"the output of this tool is declared by a file of the gateway, and its answer {reason}")
    return error_result(error, envelope_of(result))
