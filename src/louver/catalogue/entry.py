"""A catalogue entry: one tool with its schemas, its views, and the plans for requests."""

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

# Schema of the member `louver` in structured content: notes for the model.
EXTRAS_SCHEMA: Final = {"type": "array", "items": {"type": "string"}}


class Entry:
    def __init__(
        self,
        tool: dict[str, Any],  # the wire object of `tools/list`
        views: Views,
        content: ContentMode = "project",
        file: ViewFile | None = None,
        plans: Plans | None = None,
        default_view: str | None = None,
        *,
        hides_views: bool = False,
        declared: SchemaFile | None = None,  # only if the server declares no output schema
        learned: tuple[str, ...] = (),  # fields seen in results, if nothing declares them
    ) -> None:
        self.name: str = tool["name"]
        self.input_schema: dict[str, Any] = tool["inputSchema"]
        self.output_schema: Schema | None = tool.get("outputSchema") if declared is None else declared.schema
        self.has_listed_schema = tool.get("outputSchema") is not None  # the server lists an output schema
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
        """Whether this entry is still current: `tool` has the same schemas and `_meta`."""
        return _listed(tool) == self._listed

    @cached_property
    def listing_schema(self) -> dict[str, Any] | None:
        """The output schema in `tools/list`: stock clients accept every projection and shaped view by it."""
        if self.output_schema is None:
            return None
        shaped = [self.plan(Projection.view(name)).schema for name, view in self.views.named.items() if view.shaping]
        relaxed = relax_any([self.output_schema, *shaped])
        if is_object(relaxed):
            return relaxed
        # Clients refuse the whole list if it holds the schema `true`, or in 2025-11-25 an object schema without `type`.
        rooted = is_object(self.output_schema) and self.output_schema.get("type") == "object"
        return {"type": "object"} if rooted else {}

    @cached_property
    def listing_schema_for_models(self) -> dict[str, Any] | None:
        """The same, with the member `louver` allowed."""
        return None if self.listing_schema is None else admit(self.listing_schema, EXTRAS, EXTRAS_SCHEMA)

    @cached_property
    def admits_extras(self) -> bool:
        return validator(self.listing_schema_for_models or True).is_valid({EXTRAS: [""]})

    @cached_property
    def listing_validator(self) -> Validator:
        """Validates whole results against `tools/list`, as stock clients do."""
        return validator(True if self.listing_schema is None else self.listing_schema)

    def free_argument(self, name: str) -> str | None:
        """An unused argument: `name`, `name_2`, ...; `None` if the input schema's root is not plain `properties`."""
        if not self.input_schema.keys() <= _PLAIN:
            return None
        taken = members(self.input_schema.get("properties"))
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        return next(each for each in names if each not in taken)

    @cached_property
    def leaf_fields(self) -> tuple[str, ...]:
        """Paths of the output's leaves, shallowest first; without a schema the learned ones, heaviest first."""
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
        """Whether projection can pay: two plain fields at the root are too few."""
        is_large = any("." in leaf for leaf in self.leaf_fields) or any("array" in leaf.type for leaf in self._leaves)
        return len(self.leaf_fields) > (1 if is_large else 2)

    @cached_property
    def text_wrapper(self) -> str | None:
        """The property for one string that may be JSON text, if the output has nothing else."""
        return text_wrapper(self.output_schema)

    def text_wrapper_in(self, structured: Json) -> str | None:
        """The same for actual structured content: without a schema any such property can be the wrapper."""
        return text_wrapper_in(structured) if self.output_schema is None else self.text_wrapper

    @cached_property
    def _plans_of(self) -> str:
        # Digest of the text, since the order of the schema's properties is the order of the kept members.
        return digest_of(compact(["structured", self.output_schema, self.views.to_json()]))

    def plan(self, projection: Projection) -> ReadyPlan:
        return self._plans.find(
            self._plans_of,
            projection,
            lambda: _ready(compile_projection(projection, self.output_schema, views=self.views)),
        )

    def plan_for(self, projection: Projection, value: Json) -> ReadyPlan:
        """The plan for an output: the value decides whether it is the SDK's wrapper."""
        ready = self.plan(projection)
        if not ready.plan.is_wrapped or (names := ready.plan.own_names(value)) is None:
            return ready
        of = digest_of([self._plans_of, sorted(names)])
        return self._plans.find(of, projection, lambda: _ready(ready.plan.for_names(names)))

    def check(self, projection: Projection) -> None:
        """Make the plan for every place where the output may be, so that a bad request fails before the tool runs."""
        if self.output_schema is not None and self.text_wrapper is None:
            self.plan(projection)
            return
        for wrapper in (None, *TEXT_WRAPPERS) if self.output_schema is None else (self.text_wrapper,):
            self.plan_without_schema(projection, wrapper)

    def plan_without_schema(self, projection: Projection, wrapper: str | None = None) -> Plan:
        """The plan for values without a schema, perhaps JSON text in `wrapper`; paths may begin with it or not."""
        views, of = self._within_text(wrapper)
        requested = projection.with_fields(within_text(wrapper, projection.fields))
        return self._plans.find(of, requested, lambda: compile_projection(requested, views=views))

    def plan_inferred(
        self, projection: Projection, schema: Schema, wrapper: str | None = None, *, with_wrapper: bool = False
    ) -> ReadyPlan:
        """The plan with a schema inferred from a kept value; with `with_wrapper` it describes the wrapper too."""
        wrap = partial(schema_of_text, wrapper=wrapper) if with_wrapper and wrapper is not None else _as_it_is
        of = digest_of(["inferred", schema, wrapper, with_wrapper, self._within_text(wrapper)[1]])
        return self._plans.find(
            of, projection, lambda: _ready(self.plan_without_schema(projection, wrapper).knowing(schema), wrap)
        )

    def _within_text(self, wrapper: str | None) -> tuple[Views, str]:
        known = self._text_views.get(wrapper)
        if known is None:
            views = self.views.each(partial(within_text, wrapper))
            known = self._text_views[wrapper] = (views, digest_of(["no schema", views.to_json()]))
        return known


def _listed(tool: dict[str, Any]) -> tuple[Any, ...]:
    return tool["inputSchema"], tool.get("outputSchema"), tool.get("_meta")


# Keywords that do not restrict an added property.
_PLAIN = frozenset(
    {"type", "properties", "required", "additionalProperties", "$schema", "$id", "$defs", "definitions"}
    | {"title", "description", "$comment", "examples", "default", "deprecated"}
)


def _spelled(path: FieldPath) -> str:
    """A path as a model writes it: names with a comma are quoted, since models send lists as one text."""
    names = [str(FieldPath((step,))) for step in path.steps]
    return ".".join(f"`{name}`" if "," in name and not name.startswith("`") else name for name in names)


def _as_it_is(schema: Schema) -> Schema:
    return schema


def _ready(plan: Plan, wrap: Callable[[Schema], Schema] = _as_it_is) -> ReadyPlan:
    schema = wrap(plan.schema)
    return ReadyPlan(plan, validator(plan.schema), schema, digest_of(schema))
