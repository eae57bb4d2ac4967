"""The plans that were made lately, of all tools of a server.

A plan is made once for a schema, views and a request, and used for every answer::

    (digest of schema and views, mode, canonical fields, view, strict)  ->  plan, validator, digest

Two tools with one schema share their plans, and a tool that is listed again, unchanged, finds
them. What is kept is bounded by the number of plans, and by their size, for a few wide schemas
can weigh as much as many narrow ones.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from louver.core.json import levels
from louver.limits import MAX_PLAN_NODES, MAX_PLANS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.core.json import Schema
    from louver.core.plan import Plan
    from louver.core.projection import Projection
    from louver.core.validate import Validator


@dataclass(frozen=True, slots=True)
class ReadyPlan:
    """A plan, the validator of what it leaves, and the schema that answers tell.

    Args:
        plan: What is kept.
        validator: Of the kept value against the plan's schema.
        schema: Of the whole `structuredContent`: the plan's own, but where the kept value is
            written as JSON text within it.
        digest: Names `schema`.
    """

    plan: Plan
    validator: Validator
    schema: Schema
    digest: str

    @property
    def nodes(self) -> int:
        """The size: states of the plan's masks, and JSON values of its schema."""
        return self.plan.states + sum(map(len, levels(self.schema)))


class Plans:
    """Ready plans; those that were not used for long go first.

    Which was used last is not remembered, only which was used since the last look: finding a plan then
    asks for its hash but once, which is half of what it costs ("second chance", or CLOCK).
    """

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._nodes = 0

    def find(self, of: str, projection: Projection, make: Callable[[], ReadyPlan]) -> ReadyPlan:
        """The plan of a request, made if it is not there.

        Args:
            of: Names the schema and the views that the plan depends on.
            projection: The request; how it wants the schema told does not matter for its plan.
            make: Makes the plan; what it raises is passed on.
        """
        key = (of, projection.mode, projection.fields, projection.name, projection.strict)
        kept = self._plans.get(key)
        if kept is None:
            kept = _Kept(make())
            self._make_room(kept.nodes)
            self._plans[key] = kept
            self._nodes += kept.nodes
        else:
            kept.used = True
        return kept.ready

    def _make_room(self, nodes: int) -> None:
        """Let the oldest go that were not used since they were last looked at."""
        while self._plans and (len(self._plans) >= MAX_PLANS or self._nodes + nodes > MAX_PLAN_NODES):
            key, kept = self._plans.popitem(last=False)
            if kept.used:
                kept.used = False
                self._plans[key] = kept
            else:
                self._nodes -= kept.nodes


class _Kept:
    """A plan with its size, which takes a while to count, and whether it was used lately."""

    __slots__ = ("nodes", "ready", "used")

    def __init__(self, ready: ReadyPlan) -> None:
        self.ready = ready
        self.nodes = ready.nodes
        self.used = False
