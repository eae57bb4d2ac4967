"""The plans that were made lately, of all tools of a server.

A plan is made once for a schema, views and a request, and used for every answer::

    (digest of schema and views, mode, canonical fields, view, strict)  ->  plan, validator, digest

Two tools with one schema share their plans, and a tool that is listed again, unchanged, finds
them; so do answers of one shape, where the schema is inferred from the answer. What is kept
is bounded by the number of plans, and by their size, for a few wide schemas can weigh as
much as many narrow ones.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from louver.core.json import levels
from louver.limits import MAX_PLAN_NODES, MAX_PLANS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.core.json import Schema
    from louver.core.projection.plan import Plan
    from louver.core.projection.request import Projection
    from louver.core.schema.validate import Validator


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
        return self.plan.nodes + sum(map(len, levels(self.schema)))


class _Sized(Protocol):
    @property
    def nodes(self) -> int: ...


Made = TypeVar("Made", bound=_Sized)
"""A `ReadyPlan`; or a `Plan`, of whose values no schema is known yet."""


class Plans:
    """Plans; those that were not used for long go first. Can be asked from several threads.

    Which was used last is not remembered, only which was used since the last look: finding a plan then
    asks for its hash but once, which is half of what it costs ("second chance", or CLOCK).
    """

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._nodes = 0
        self._lock = Lock()

    def find(self, of: str, projection: Projection, make: Callable[[], Made]) -> Made:
        """The plan of a request, made if it is not there.

        Args:
            of: Names what is made, and the schema and the views that it depends on.
            projection: The request; how it wants the schema told does not matter for its plan.
            make: Makes the plan; what it raises is passed on.
        """
        key = (of, projection.mode, projection.fields, projection.name, projection.strict)
        kept = self._plans.get(key)
        if kept is not None:
            kept.used = True
            return kept.made
        # Not under the lock: nobody waits for what another makes, even if both make the same.
        kept = _Kept(make())
        with self._lock:
            self._make_room(kept.nodes)
            self._nodes += kept.nodes - (self._plans.pop(key).nodes if key in self._plans else 0)
            self._plans[key] = kept
        return kept.made

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

    __slots__ = ("made", "nodes", "used")

    def __init__(self, made: Any) -> None:
        self.made = made
        self.nodes: int = made.nodes
        self.used = False
