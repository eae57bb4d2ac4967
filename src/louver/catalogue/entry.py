"""A tool as the catalogue knows it: its schemas, its views, and how requests for it are planned."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from louver.catalogue.plans import Plans, ReadyPlan
from louver.core.json import compact, is_object
from louver.core.json import digest as digest_of
from louver.core.path import FieldPath
from louver.core.plan import compile_projection
from louver.core.relax import relax
from louver.core.validate import validator
from louver.core.wrapper import WRAPPER, schema_of_text, wraps_text
from louver.protocol.names import ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.views import ViewFile
    from louver.core.json import Schema
    from louver.core.plan import Plan
    from louver.core.projection import Projection
    from louver.core.view import Views
    from louver.protocol.hint import ContentMode


class Entry:
    """One tool.

    Args:
        tool: As the server lists it, a wire object.
        views: The views of its author and of its file.
        content: What becomes of its `content`.
        file: The file of views that was read for it.
        plans: Where its plans are kept.
    """

    def __init__(
        self,
        tool: dict[str, Any],
        views: Views,
        content: ContentMode = "project",
        file: ViewFile | None = None,
        plans: Plans | None = None,
    ) -> None:
        self.name: str = tool["name"]
        self.input_schema: dict[str, Any] = tool["inputSchema"]
        self.output_schema: Schema | None = tool.get("outputSchema")
        self.views = views
        self.content: ContentMode = content
        self.file = file
        self._meta = tool.get("_meta")
        self._plans = Plans() if plans is None else plans

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
        return wraps_text(self.output_schema)

    @cached_property
    def _plans_of(self) -> str:
        """Names what a plan for the structured output depends on beside the request."""
        # As text, because the order of the schema's properties is that of the kept members.
        return digest_of(compact(["structured", self.output_schema, self.views.to_json()]))

    @cached_property
    def _text_plans_of(self) -> str:
        """Likewise, of a plan for JSON text."""
        return digest_of(["wrapped text" if self.holds_text else "text", self.views.to_json()])

    def plan(self, projection: Projection) -> ReadyPlan:
        """The plan of a request for the structured output.

        Raises:
            InvalidProjection: The request is not possible for this tool.
        """
        return self._plans.find(
            self._plans_of,
            projection,
            lambda: _ready(compile_projection(projection, self.output_schema, views=self.views)),
        )

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
        wrap = schema_of_text if self.holds_text else _as_it_is
        return self._plans.find(
            self._text_plans_of, projection, lambda: _ready(compile_projection(projection, views=self.views), wrap)
        )


_PLAIN = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "$schema", "$defs"}
)


def _as_it_is(schema: Schema) -> Schema:
    return schema


def _ready(plan: Plan, told: Callable[[Schema], Schema] = _as_it_is) -> ReadyPlan:
    schema = told(plan.schema)
    return ReadyPlan(plan, validator(plan.schema), schema, digest_of(schema))
