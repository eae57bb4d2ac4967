"""Apply a plan to one output, and write its receipt.

For JSON text, or without a declared output schema, the receipt's schema is inferred. It is never listed, and comes from
the kept part alone, so it cannot name what was left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from louver.concurrency.offload import in_thread
from louver.core.schema.infer import infer
from louver.core.size import is_larger
from louver.limits import MAX_ON_LOOP
from louver.protocol.receipt import Applied
from louver.protocol.shaped import Shaped

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry
    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Json
    from louver.core.projection.request import Projection
    from louver.protocol.output import Output


@dataclass(frozen=True, slots=True)
class KeptValue:
    value: Json
    ready_plan: ReadyPlan  # the plan and its schema
    is_valid: bool  # the value satisfies the projected schema
    is_partial: bool  # something was left out


async def apply_projection(entry: Entry, projection: Projection, output: Output) -> KeptValue:
    """Project an output; slow work is done off the event loop."""
    if projection.may_be_slow:
        return await in_thread(lambda: _Application(entry, projection, output).kept())
    application = _Application(entry, projection, output)
    if application.plan.looks_at_more(output.value, MAX_ON_LOOP):
        return await in_thread(application.kept)
    value = application.plan(output.value)
    is_quick = application.is_quick or not is_larger(value, MAX_ON_LOOP)
    return application.validated(value) if is_quick else await in_thread(lambda: application.validated(value))


class _Application:
    def __init__(self, entry: Entry, projection: Projection, output: Output) -> None:
        self._entry, self._projection, self._output = entry, projection, output
        self._wrapper = output.wrapper or entry.text_wrapper
        self._declared: ReadyPlan | None = None
        if entry.output_schema is not None and output.seat == "structured":
            # If JSON text was expected, unknown fields could not be refused before the tool ran: tolerate them now.
            lenient = projection if entry.text_wrapper is None else replace(projection, strict=False)
            self._declared = entry.plan_for(lenient, output.value)
        declared = self._declared
        self.plan = entry.plan_without_schema(projection, self._wrapper) if declared is None else declared.plan
        self.is_quick = declared is not None and declared.validator.is_quick

    def kept(self) -> KeptValue:
        return self.validated(self.plan(self._output.value))

    def validated(self, value: Json) -> KeptValue:
        by = self._declared
        if by is None:
            with_wrapper = self._output.seat == "wrapped text"
            by = self._entry.plan_inferred(self._projection, infer([value]), self._wrapper, with_wrapper=with_wrapper)
        return KeptValue(value, by, by.validator.is_valid(value), is_partial=value != self._output.value)


def receipt(ready_plan: ReadyPlan, projection: Projection, partial: bool, dropped: int) -> Applied:
    """The receipt of a projected answer; `dropped` counts the content blocks that were left out."""
    plan = ready_plan.plan
    return Applied(
        mode=projection.mode,
        fields=list(plan.fields),
        view=projection.name,
        excluded=list(plan.excluded) or None,
        always=list(plan.always) or None,
        shaped=None if plan.shaped is None else Shaped.model_validate(plan.shaped),
        unmatched=list(plan.unmatched) or None,
        suggestions=plan.suggestions or None,
        partial=partial,
        content_dropped=dropped or None,
        schema_digest=ready_plan.digest if projection.schema != "none" else None,
        projected_schema=ready_plan.schema if projection.schema == "inline" else None,
        schema_precision="shape" if plan.precision == "shape" else None,
        schema_source="inferred" if plan.is_inferred else None,
    )
