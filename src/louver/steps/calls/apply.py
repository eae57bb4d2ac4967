"""Apply a plan to one output, and write its receipt.

For JSON text, or without a declared output schema, the receipt's schema is inferred. It is never listed, and comes from
the kept part alone, so it cannot name what was left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from louver.concurrency.offload import in_thread
from louver.core.schema.infer import infer
from louver.core.size import is_larger
from louver.limits import MAX_ON_LOOP, MAX_PLAN_COST_ON_LOOP
from louver.wire.model import Shaped
from louver.wire.projection import Applied, RowCount

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry
    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Json
    from louver.core.projection.plan import Plan
    from louver.core.projection.request import Projection
    from louver.wire.output import Output


@dataclass(frozen=True, slots=True)
class KeptValue:
    value: Json
    ready_plan: ReadyPlan  # the plan and its schema
    is_valid: bool  # the value satisfies the projected schema
    is_partial: bool  # something was left out
    rows: tuple[RowCount, ...]  # of arrays with selected rows


async def apply_projection(
    entry: Entry, projection: Projection, output: Output, ready: ReadyPlan | None = None, *, is_small: bool = False
) -> KeptValue:
    """Project an output; slow work is done off the event loop. `ready`: the plan for structured content, if known."""
    application = _Application(entry, projection, output, ready)
    if application.plan_cost > MAX_PLAN_COST_ON_LOOP:
        return await in_thread(application.kept)
    plan = application.plan
    if not is_small and plan.looks_at_more(output.value, MAX_ON_LOOP):
        return await in_thread(application.kept)
    value = plan(output.value)
    is_quick = application.is_quick or not is_larger(value, MAX_ON_LOOP)
    return application.validated(value) if is_quick else await in_thread(lambda: application.validated(value))


class _Application:
    def __init__(self, entry: Entry, projection: Projection, output: Output, ready: ReadyPlan | None) -> None:
        self._entry, self._projection, self._output = entry, projection, output
        self._ready: ReadyPlan | None = None  # for an output with a declared schema, once it is made
        self._is_declared = entry.output_schema is not None and output.seat == "structured"
        if self._is_declared:
            if entry.text_wrapper is not None:
                # JSON text was expected: unknown fields could not be refused before the tool ran, so tolerate them.
                self._projection = projection.with_options(strict=False)
            is_for_value = ready is not None and ready.plan.own_names(output.value) is None
            self._ready = ready if is_for_value else entry.kept_plan_for(self._projection, output.value)
            self.plan_cost = 0 if self._ready is not None else entry.cost(self._projection)
        else:
            self._plan: Plan | None = None
            self._wrapper, self._beside = entry.reading_of(output)
            self.plan_cost = entry.cost_without_schema(projection, self._wrapper, self._beside)

    @property
    def plan(self) -> Plan:
        if not self._is_declared:
            if self._plan is None:
                self._plan = self._entry.plan_without_schema(self._projection, self._wrapper, self._beside)
            return self._plan
        if self._ready is None:
            self._ready = self._entry.plan_for(self._projection, self._output.value)
        return self._ready.plan

    @property
    def is_quick(self) -> bool:
        return self._ready is not None and self._ready.validator.is_quick

    def kept(self) -> KeptValue:
        return self.validated(self.plan(self._output.value))

    def validated(self, value: Json) -> KeptValue:
        by = self._ready or self._inferred(value)
        whole = self._output.value
        rows = _row_counts(by.plan, whole, value) if by.plan.has_rows else ()
        return KeptValue(value, by, by.validator.is_valid(value), value != whole, rows)

    def _inferred(self, value: Json) -> ReadyPlan:
        has_text = self._output.seat in ("wrapped text", "text beside members")
        plan = None if self._beside is None else self.plan
        schema = infer([value])
        return self._entry.plan_inferred(self._projection, schema, self._wrapper, with_wrapper=has_text, plan=plan)


def _row_counts(plan: Plan, value: Json, kept: Json) -> tuple[RowCount, ...]:
    counts = plan.for_value(value).row_counts(value, kept)
    return tuple(RowCount(path=path, kept=kept, of=number) for path, (kept, number) in counts.items())


def receipt(
    ready_plan: ReadyPlan, projection: Projection, partial: bool, dropped: int, rows: tuple[RowCount, ...] = ()
) -> Applied:
    """The receipt of a projected answer; `dropped` counts the content blocks that were left out."""
    plan = ready_plan.plan
    return Applied(
        mode=projection.mode,
        fields=list(plan.fields),
        view=projection.name,
        excluded=list(plan.excluded) or None,
        always=list(plan.always) or None,
        shaped=None if plan.shaped is None else msgspec.convert(plan.shaped, Shaped),
        unmatched=list(plan.unmatched) or None,
        suggestions=plan.suggestions or None,
        rows=list(rows) or None,
        partial=partial,
        content_dropped=dropped or None,
        projected_schema=ready_plan.schema if projection.schema == "inline" else None,
        schema_precision="shape" if plan.precision == "shape" else None,
        schema_source="inferred" if plan.is_inferred else None,
    )
