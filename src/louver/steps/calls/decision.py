"""What is decided once for a tool and the words of a request: its plan, the note for its model, its receipts.

    (tool, what `_meta` and the arguments say of a projection)  ->  Decision

A request in the same words is neither read nor checked again. Decisions are kept with the plans, which bounds both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.limits import MAX_ON_LOOP
from louver.steps.calls.apply import receipt
from louver.steps.calls.unmatched import note_by_schema
from louver.wire.projection import brief

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry
    from louver.steps.calls.request import ProjectionRequest

CHARACTERS_A_NODE = 200
"""So many characters of a request weigh as much as a node of a plan."""


class Decision:
    """For a tool whose output is all of the structured content; of others the answer decides."""

    def __init__(self, entry: Entry, requested: ProjectionRequest, note: str | None, text: str) -> None:
        self.requested = requested
        self.note = note
        self.ready_plan = entry.plan(requested.projection)
        # Of a text of so many bytes, the plan looks at no more parts than the bound.
        self.small_bytes = MAX_ON_LOOP // max(1, self.ready_plan.plan.nodes)
        self.nodes = self.ready_plan.nodes + len(text) // CHARACTERS_A_NODE
        self._receipts: dict[tuple[bool, bool], dict[str, Any]] = {}

    def receipt(self, *, partial: bool, is_brief: bool) -> dict[str, Any]:
        made = self._receipts.get((partial, is_brief))
        if made is None:
            made = receipt(self.ready_plan, self.requested.projection, partial, 0).to_wire()
            made = self._receipts[partial, is_brief] = brief(made) if is_brief else made
        # A copy: its receiver in this process may change it.
        return {name: part.copy() if isinstance(part, (list, dict)) else part for name, part in made.items()}


def decided(entry: Entry, text: str) -> Decision | None:
    """The decision for a request in such words, if there is one."""
    return entry.plans.kept((entry.number, text))


def decide(entry: Entry, requested: ProjectionRequest, text: str) -> Decision | None:
    """The decision for a request that was checked; None if only the answer decides. UnknownField as the note says."""
    note = note_by_schema(entry, requested.projection) if requested.requested_by == "argument" else None
    if not entry.is_structured:
        return None
    return entry.plans.find((entry.number, text), lambda: Decision(entry, requested, note, text))
