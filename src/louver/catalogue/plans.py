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
    """Ready plans; the least recently used go first."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, tuple[ReadyPlan, int]] = OrderedDict()
        self._nodes = 0

    def find(self, of: str, projection: Projection, make: Callable[[], ReadyPlan]) -> ReadyPlan:
        """The plan of a request, made if it is not there.

        Args:
            of: Names the schema and the views that the plan depends on.
            projection: The request; how it wants the schema told does not matter for its plan.
            make: Makes the plan; what it raises is passed on.
        """
        key = (of, projection.mode, projection.fields, projection.name, projection.strict)
        found = self._plans.get(key)
        if found is None:
            ready = make()
            found = self._plans[key] = (ready, ready.nodes)
            self._nodes += found[1]
            while len(self._plans) > MAX_PLANS or (self._nodes > MAX_PLAN_NODES and len(self._plans) > 1):
                self._nodes -= self._plans.popitem(last=False)[1][1]
        self._plans.move_to_end(key)
        return found[0]
