"""A tool as the catalogue knows it: its schemas, its views, and the plans made for it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from louver.core.json import is_object
from louver.core.path import FieldPath
from louver.core.plan import WRAPPER, Plan, compile_projection, is_wrapped
from louver.core.relax import relax
from louver.core.validate import Validator, validator
from louver.limits import MAX_PLANS_PER_TOOL
from louver.protocol.names import ARGUMENT

if TYPE_CHECKING:
    from louver.catalogue.views import ViewFile
    from louver.core.json import Schema
    from louver.core.projection import Projection
    from louver.core.view import Views
    from louver.protocol.hint import ContentMode


@dataclass(frozen=True, slots=True)
class ReadyPlan:
    """A plan, and the validator of what it leaves."""

    plan: Plan
    validator: Validator


class Entry:
    """One tool.

    Args:
        tool: As the server lists it, a wire object.
        views: The views of its author and of its file.
        content: What becomes of its `content`.
        file: The file of views that was read for it.
    """

    def __init__(
        self,
        tool: dict[str, Any],
        views: Views,
        content: ContentMode = "project",
        file: ViewFile | None = None,
    ) -> None:
        self.name: str = tool["name"]
        self.input_schema: dict[str, Any] = tool["inputSchema"]
        self.output_schema: Schema | None = tool.get("outputSchema")
        self.views = views
        self.content: ContentMode = content
        self.file = file
        self._meta = tool.get("_meta")
        self._plans: OrderedDict[Projection, ReadyPlan] = OrderedDict()
        self._text_plans: OrderedDict[Projection, ReadyPlan] = OrderedDict()

    def is_of(self, tool: dict[str, Any]) -> bool:
        """Whether this is still the entry of `tool`: its schemas and its author's hint are as they were."""
        now = (tool["inputSchema"], tool.get("outputSchema"), tool.get("_meta"))
        return now == (self.input_schema, self.output_schema, self._meta)

    @cached_property
    def listing_schema(self) -> dict[str, Any] | None:
        """What `tools/list` shows, so that stock clients accept every projection."""
        if self.output_schema is None:
            return None
        relaxed = relax(self.output_schema)
        if is_object(relaxed):
            return relaxed
        # On the wire `true` would make clients refuse the whole list, and so would an object
        # without its `type` in 2025-11-25.
        rooted = is_object(self.output_schema) and self.output_schema.get("type") == "object"
        return {"type": "object"} if rooted else {}

    @cached_property
    def takes_argument(self) -> bool:
        """Whether the reserved argument can be added.

        The output must have a schema, and the input's root be plain `properties` without that name.
        """
        if self.output_schema is None or not self.input_schema.keys() <= _PLAIN:
            return False
        return ARGUMENT not in (self.input_schema.get("properties") or {})

    @cached_property
    def holds_text(self) -> bool:
        """Whether the output is one string in the SDK's wrapper, which may be JSON text."""
        schema: Any = self.output_schema
        return is_wrapped(schema) and schema["properties"][WRAPPER].get("type") == "string"

    def plan(self, projection: Projection) -> ReadyPlan:
        """The plan of a request for the structured output.

        Raises:
            InvalidProjection: The request is not possible for this tool.
        """
        return _cached(self._plans, projection, self.output_schema, self.views)

    def text_plan(self, projection: Projection) -> ReadyPlan:
        """The plan of a request for JSON text, of which no schema is known.

        Raises:
            InvalidProjection: The request is not possible for this tool.
        """
        if self.holds_text:
            # The text stands in the wrapper, so a path may or may not begin with it.
            fields = tuple(
                FieldPath(path.steps[1:]) if path.steps[:1] == (WRAPPER,) and not path.deep else path
                for path in projection.fields
            )
            projection = projection.with_fields(fields)
        return _cached(self._text_plans, projection, None, self.views)


_PLAIN = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "$schema", "$defs"}
)


def _cached(
    plans: OrderedDict[Projection, ReadyPlan], projection: Projection, schema: Schema | None, views: Views
) -> ReadyPlan:
    ready = plans.get(projection)
    if ready is None:
        plan = compile_projection(projection, schema, views=views)
        ready = plans[projection] = ReadyPlan(plan, validator(plan.schema))
        if len(plans) > MAX_PLANS_PER_TOOL:
            plans.popitem(last=False)
    plans.move_to_end(projection)
    return ready
