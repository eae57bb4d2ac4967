"""A tool as the catalogue knows it: its schemas, its views, and how requests for it are planned."""

from __future__ import annotations

from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.plan_cache import Plans, ReadyPlan
from louver.core.cached import cached_property
from louver.core.json import compact, is_object, members
from louver.core.json import digest as digest_of
from louver.core.paths.path import FieldPath
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.schema.additional_member import admit
from louver.core.schema.outline import outline
from louver.core.schema.relax import relax_any
from louver.core.schema.validate import validator
from louver.core.wrapper import TEXT_WRAPPERS, is_wrapped, schema_of_text, text_wrapper, text_wrapper_in, within_text
from louver.protocol.names import EXTRAS

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.files.output_schemas import SchemaFile
    from louver.catalogue.files.views import ViewFile
    from louver.core.json import Json, Schema
    from louver.core.projection.plan import Plan
    from louver.core.projection.view import Views
    from louver.core.schema.outline import Member
    from louver.core.schema.validate import Validator
    from louver.protocol.hint import ContentMode

EXTRAS_SCHEMA: Final = {"type": "array", "items": {"type": "string"}}
"""The schema of the member `louver`, in which models are told what stands beside an answer."""


class Entry:
    """One tool.

    Args:
        tool: As the server lists it, a wire object.
        views: The views of its author and of its file.
        content: What becomes of its `content`.
        file: The file of views that was read for it.
        plans: Where its plans are kept.
        default_view: The view that a call without a request gets, if the views themselves have one for that.
        hides_views: Whether there can be views that its caller must not know of.
        declared: The file that declares its output, where the server does not.
        learned: Fields that its answers had, where nothing declares them.
    """

    def __init__(
        self,
        tool: dict[str, Any],
        views: Views,
        content: ContentMode = "project",
        file: ViewFile | None = None,
        plans: Plans | None = None,
        default_view: str | None = None,
        *,
        hides_views: bool = False,
        declared: SchemaFile | None = None,
        learned: tuple[str, ...] = (),
    ) -> None:
        self.name: str = tool["name"]
        self.input_schema: dict[str, Any] = tool["inputSchema"]
        self.output_schema: Schema | None = tool.get("outputSchema") if declared is None else declared.schema
        self.declared = declared
        self.learned = learned
        self.views = views
        self.content: ContentMode = content
        self.file = file
        self.default_view = default_view
        self.hides_views = hides_views
        self._listed = _listed(tool)
        self._plans = Plans() if plans is None else plans
        self._text_views: dict[str | None, tuple[Views, str]] = {}

    def is_of(self, tool: dict[str, Any]) -> bool:
        """Whether this is still the entry of `tool`: its schemas and its author's hint are as they were."""
        return _listed(tool) == self._listed

    @property
    def declares_itself(self) -> bool:
        """Whether its server lists an output schema."""
        return self._listed[1] is not None

    @cached_property
    def listing_schema(self) -> dict[str, Any] | None:
        """What `tools/list` shows, so that stock clients accept every projection and every shaped view."""
        if self.output_schema is None:
            return None
        shaped = [self.plan(Projection.view(name)).schema for name, view in self.views.named.items() if view.shaping]
        relaxed = relax_any([self.output_schema, *shaped])
        if is_object(relaxed):
            return relaxed
        # On the wire `true` would make clients refuse the whole list, and so would an object
        # without its `type` in 2025-11-25.
        rooted = is_object(self.output_schema) and self.output_schema.get("type") == "object"
        return {"type": "object"} if rooted else {}

    @cached_property
    def listing_schema_for_models(self) -> dict[str, Any] | None:
        """Likewise, for clients whose answers can have the member `louver`."""
        return None if self.listing_schema is None else admit(self.listing_schema, EXTRAS, EXTRAS_SCHEMA)

    @cached_property
    def admits_extras(self) -> bool:
        """Whether an answer with the member satisfies that."""
        return validator(self.listing_schema_for_models or True).is_valid({EXTRAS: [""]})

    @cached_property
    def listing_validator(self) -> Validator:
        """Of whole answers against what `tools/list` shows, as stock clients hold them against it."""
        return validator(True if self.listing_schema is None else self.listing_schema)

    def free_argument(self, name: str) -> str | None:
        """What one more argument can be called: the name, or `name_2` and so on where the tool has it itself.

        `None` where the root of the input schema is more than plain `properties`.
        """
        if not self.input_schema.keys() <= _PLAIN:
            return None
        taken = members(self.input_schema.get("properties"))
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        return next(each for each in names if each not in taken)

    @cached_property
    def leaf_fields(self) -> tuple[str, ...]:
        """The paths of the output's fields that have no fields themselves, those near the root first.

        Where nothing is declared they are those that were learnt, the weightiest first.
        """
        if self.output_schema is None:
            return self.learned
        skipped = 1 if is_wrapped(self.output_schema) else 0
        leaves = [member.path.steps[skipped:] for member in self._leaves]
        return tuple(_spelled(FieldPath(steps)) for steps in sorted(filter(None, leaves), key=len))

    @cached_property
    def _leaves(self) -> list[Member]:
        if self.output_schema is None:
            return []
        found = outline(self.output_schema)
        inner = {member.path.steps[:-1] for member in found}
        return [member for member in found if member.path.steps not in inner]

    @property
    def has_much_to_leave_out(self) -> bool:
        """Whether naming fields can pay: not where there are just two, both at the root and none of them an array."""
        is_large = any("." in leaf for leaf in self.leaf_fields) or any("array" in leaf.type for leaf in self._leaves)
        return len(self.leaf_fields) > (1 if is_large else 2)

    @cached_property
    def text_wrapper(self) -> str | None:
        """The property of the output for one string, which may be JSON text, if that is all there is."""
        return text_wrapper(self.output_schema)

    def text_wrapper_in(self, structured: Json) -> str | None:
        """Likewise, of structured content that came: without a schema any such property can be one."""
        return text_wrapper_in(structured) if self.output_schema is None else self.text_wrapper

    @cached_property
    def _plans_of(self) -> str:
        """Names what a plan for the structured output depends on beside the request."""
        # As text, because the order of the schema's properties is that of the kept members.
        return digest_of(compact(["structured", self.output_schema, self.views.to_json()]))

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

    def check(self, projection: Projection) -> None:
        """Make the plans for every place where the output may stand, before the tool runs.

        Raises:
            InvalidProjection: The request is not possible for this tool.
        """
        if self.output_schema is not None and self.text_wrapper is None:
            self.plan(projection)
            return
        for wrapper in (None, *TEXT_WRAPPERS) if self.output_schema is None else (self.text_wrapper,):
            self.plan_without_schema(projection, wrapper)

    def plan_without_schema(self, projection: Projection, wrapper: str | None = None) -> Plan:
        """The plan of a request for values of which no schema is known.

        Args:
            projection: The request.
            wrapper: The property that holds them as JSON text; paths may or may not begin with it.

        Raises:
            InvalidProjection: The request is not possible for this tool.
        """
        views, of = self._within_text(wrapper)
        asked = projection.with_fields(within_text(wrapper, projection.fields))
        return self._plans.find(of, asked, lambda: compile_projection(asked, views=views))

    def plan_inferred(
        self, projection: Projection, schema: Schema, wrapper: str | None = None, *, told_within: bool = False
    ) -> ReadyPlan:
        """Likewise, with the schema that was inferred from what is kept: a plan for each shape of that.

        Args:
            projection: The request.
            schema: Of the kept part of one answer.
            wrapper: The property that holds it as JSON text.
            told_within: Whether the wrapper is part of what is told.
        """
        wrap = partial(schema_of_text, wrapper=wrapper) if told_within and wrapper is not None else _as_it_is
        of = digest_of(["inferred", schema, wrapper, told_within, self._within_text(wrapper)[1]])
        return self._plans.find(
            of, projection, lambda: _ready(self.plan_without_schema(projection, wrapper).knowing(schema), wrap)
        )

    def _within_text(self, wrapper: str | None) -> tuple[Views, str]:
        """The views for JSON text, and the name of what plans then depend on."""
        known = self._text_views.get(wrapper)
        if known is None:
            views = self.views.each(partial(within_text, wrapper))
            known = self._text_views[wrapper] = (views, digest_of(["no schema", views.to_json()]))
        return known


def _listed(tool: dict[str, Any]) -> tuple[Any, ...]:
    """What is made into an entry of what a server lists."""
    return tool["inputSchema"], tool.get("outputSchema"), tool.get("_meta")


_PLAIN = frozenset(
    {"type", "properties", "required", "additionalProperties", "$schema", "$id", "$defs", "definitions"}
    | {"title", "description", "$comment", "examples", "default", "deprecated"}
)
"""Words that one more property takes nothing from."""


def _spelled(path: FieldPath) -> str:
    """A path as a model writes it in a list: a name with a comma is quoted, for models send lists as one text."""
    names = [str(FieldPath((step,))) for step in path.steps]
    return ".".join(f"`{name}`" if "," in name and not name.startswith("`") else name for name in names)


def _as_it_is(schema: Schema) -> Schema:
    return schema


def _ready(plan: Plan, told: Callable[[Schema], Schema] = _as_it_is) -> ReadyPlan:
    schema = told(plan.schema)
    return ReadyPlan(plan, validator(plan.schema), schema, digest_of(schema))
