"""A catalogue entry: one tool with its schemas, its views, and the plans for requests."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.plan_cache import Plans, ReadyPlan, key_of
from louver.core.cached import cached_property
from louver.core.json import compact, is_object, levels, members
from louver.core.json import digest as digest_of
from louver.core.paths.path import FieldPath
from louver.core.projection.cost import count_objects, plan_cost
from louver.core.projection.plan import compile_beside_text, compile_projection, first_names
from louver.core.projection.request import Projection
from louver.core.schema.outline import outline
from louver.core.schema.relax import admit, relax_any
from louver.core.schema.validate import validator
from louver.core.wrapper import (
    TEXT_WRAPPERS,
    WRAPPER,
    is_wrapped,
    schema_of_text,
    schema_with_text,
    text_wrapper,
    text_wrapper_in,
    within_text,
)
from louver.wire.names import EXTRAS

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.files.output_schemas import SchemaFile
    from louver.catalogue.files.views import ViewFile
    from louver.core.json import Json, Schema
    from louver.core.projection.plan import Plan
    from louver.core.projection.view import Views
    from louver.core.schema.outline import Member
    from louver.core.schema.validate import Validator
    from louver.wire.hint import ContentMode
    from louver.wire.output import Output

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
        self.meta = members(tool.get("_meta"))
        self.output_schema: Schema | None = tool.get("outputSchema") if declared is None else declared.schema
        self.has_listed_schema = tool.get("outputSchema") is not None  # the server lists an output schema
        self.declared = declared
        self.learned = learned
        self.views = views
        self.content: ContentMode = content
        self.file = file
        self.default_view = default_view
        self.hides_views = hides_views
        # Clients may hold an older list, with an output schema, and then want structured content.
        self.stays_structured = False
        self._listed = _listed(tool)
        self.plans = Plans() if plans is None else plans
        self.number = next(self.plans.numbers)  # apart from a tool of its name, listed before or to others
        self._text_views: dict[str | None, tuple[Views, str]] = {}

    def is_of(self, tool: dict[str, Any]) -> bool:
        """Whether this entry is still current: `tool` has the same schemas and `_meta`."""
        return _listed(tool) == self._listed

    @cached_property
    def listing_schema(self) -> dict[str, Any] | None:
        """The output schema in `tools/list`: stock clients accept every projection and shaped view by it."""
        if self.output_schema is None:
            return None
        shaped = [self.plan(Projection(view=name)).schema for name, view in self.views.named.items() if view.shaping]
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

    def spelled_out(self, projection: Projection) -> Projection:
        """The request with the whole path of each name that one leaf alone ends with, and that is none at the root."""
        # Without a schema the root may have that name all the same.
        if self.output_schema is None or projection.mode != "include":
            return projection
        return projection.with_fields(tuple(self._lone_leaves.get(path, path) for path in projection.fields))

    @cached_property
    def _lone_leaves(self) -> dict[FieldPath, FieldPath]:
        leaves = [FieldPath.parse(leaf) for leaf in self.leaf_fields]
        roots = {leaf.steps[0] for leaf in leaves}
        found = Counter(leaf.steps[-1] for leaf in leaves)
        lone = [leaf for leaf in leaves if found[leaf.steps[-1]] == 1 and leaf.steps[-1] not in {None, *roots}]
        return {FieldPath(leaf.steps[-1:]): leaf for leaf in lone}

    @cached_property
    def _leaves(self) -> list[Member]:
        if self.output_schema is None:
            return []
        found = outline(self.output_schema)
        inner = {member.path.steps[:-1] for member in found}
        return [member for member in found if member.path.steps not in inner]

    @cached_property
    def answers_data(self) -> bool:
        """Whether its text is JSON of one shape, as learnt, and not the content of what an argument names."""
        words = (each for level in levels(self.input_schema) for part in level for each in members(part).items())
        return bool(self.learned) and not any(
            _PLACE.search(str(argument) if word == "format" else word) for word, argument in words
        )

    @property
    def has_much_to_leave_out(self) -> bool:
        """Whether projection can pay: two plain fields at the root are too few."""
        is_large = any("." in leaf for leaf in self.leaf_fields) or any("array" in leaf.type for leaf in self._leaves)
        return len(self.leaf_fields) > (1 if is_large else 2)

    @cached_property
    def text_wrapper(self) -> str | None:
        """The property for one string that may be JSON text, if the output has nothing else."""
        return text_wrapper(self.output_schema)

    @property
    def lone_text(self) -> str | None:
        """The property whose string may be sent as text, without structured content and output schema."""
        return None if self.stays_structured else self.text_wrapper

    @cached_property
    def output_names(self) -> frozenset[str] | None:
        """The names in the output schema; `None` if that names no field."""
        if self.output_schema is None or self.text_wrapper is not None:
            return None
        # Lazy import: only an audit needs it.
        from louver.core.policy.name_variants import names_in

        names = frozenset(names_in(self.output_schema))
        return names if names - ({WRAPPER} if is_wrapped(self.output_schema) else set()) else None

    @property
    def is_structured_in_lists(self) -> bool:
        return self.output_schema is not None and self.lone_text is None

    def text_wrapper_in(self, structured: Json) -> str | None:
        """The same for actual structured content: any lone string of such a name may hold JSON text."""
        return self.text_wrapper or text_wrapper_in(structured)

    def reading_of(self, output: Output) -> tuple[str | None, Json]:
        """How paths are read for an output without a schema: the wrapper that they may name, and `beside`.

        See `plan_without_schema`. JSON text of a wrapped output has the wrapper or not: the value decides.
        """
        if output.seat == "text beside members":
            return output.wrapper, output.value
        wrapper = output.wrapper or self.text_wrapper
        if output.seat != "text" or wrapper is not None or not is_wrapped(self.output_schema):
            return wrapper, None
        return WRAPPER, output.value if WRAPPER in members(output.value) else None

    @cached_property
    def _plans_of(self) -> str:
        # Digest of the text, since the order of the schema's properties is the order of the kept members.
        return digest_of(compact(["structured", self.output_schema, self.views.to_json()]))

    def plan(self, projection: Projection) -> ReadyPlan:
        return self.plans.find(
            key_of(self._plans_of, projection),
            lambda: _ready(compile_projection(projection, self.output_schema, views=self.views)),
        )

    def plan_for(self, projection: Projection, value: Json) -> ReadyPlan:
        """The plan for an output: the value decides whether it is the SDK's wrapper."""
        ready = self.plan(projection)
        names = ready.plan.own_names(value)
        if names is None:
            return ready
        return self.plans.find(
            key_of(self._plans_beside(names), projection), lambda: _ready(ready.plan.for_names(names))
        )

    def kept_plan_for(self, projection: Projection, value: Json) -> ReadyPlan | None:
        """The same, if it is kept."""
        ready: ReadyPlan | None = self.plans.kept(key_of(self._plans_of, projection))
        names = None if ready is None else ready.plan.own_names(value)
        return ready if names is None else self.plans.kept(key_of(self._plans_beside(names), projection))

    def cost(self, projection: Projection) -> int:
        """What a plan for the output schema costs to make (`louver.core.projection.cost`)."""
        return plan_cost(projection, self.views, self.objects)

    def _plans_beside(self, names: frozenset[str]) -> str:
        return digest_of([self._plans_of, sorted(names)])

    @cached_property
    def objects(self) -> int:
        """The objects of the output schema; 0 without one."""
        return count_objects(self.output_schema)

    def check(self, projection: Projection) -> None:
        """Make the plan for every place where the output may be, so that a bad request fails before the tool runs."""
        if self.is_structured:
            self.plan(projection)
            return
        for wrapper in self._wrappers:
            self.plan_without_schema(projection, wrapper)

    def cost_of_check(self, projection: Projection) -> int:
        """What `check` would cost; plans that are kept cost nothing."""
        if self.is_structured:
            return self.cost(projection) if self.plans.kept(key_of(self._plans_of, projection)) is None else 0
        return sum(self.cost_without_schema(projection, wrapper) for wrapper in self._wrappers)

    @property
    def is_structured(self) -> bool:
        """Whether its output is all of the structured content."""
        return self.output_schema is not None and self.text_wrapper is None

    @property
    def _wrappers(self) -> tuple[str | None, ...]:
        return (None, *TEXT_WRAPPERS) if self.output_schema is None else (self.text_wrapper,)

    def plan_without_schema(self, projection: Projection, wrapper: str | None = None, beside: Json = None) -> Plan:
        """The plan for values without a schema, perhaps JSON text in `wrapper`; paths may begin with it or not.

        `beside`: the object with the text parsed, if there are members next to it.
        """
        if is_object(beside):
            of, names = self._beside_text(projection, wrapper, beside)
            make = partial(compile_beside_text, projection, self.views, wrapper or "", names)
            return self.plans.find(key_of(of, projection), make)
        views, of = self._within_text(wrapper)
        requested = projection.with_fields(within_text(wrapper, projection.fields))
        return self.plans.find(key_of(of, requested), lambda: compile_projection(requested, views=views))

    def cost_without_schema(self, projection: Projection, wrapper: str | None = None, beside: Json = None) -> int:
        """What `plan_without_schema` would cost: nothing, if the plan is kept."""
        if is_object(beside):
            of, _ = self._beside_text(projection, wrapper, beside)
            return 0 if self.plans.kept(key_of(of, projection)) is not None else plan_cost(projection, self.views, 0)
        views, of = self._within_text(wrapper)
        requested = projection.with_fields(within_text(wrapper, projection.fields))
        return 0 if self.plans.kept(key_of(of, requested)) is not None else plan_cost(requested, views, 0)

    def _beside_text(
        self, projection: Projection, wrapper: str | None, beside: dict[str, Json]
    ) -> tuple[str, frozenset[str]]:
        """What the plan is of, and the names of the members that it tells apart."""
        names = first_names(projection, self.views) & beside.keys()
        return digest_of([self._plans_of, "beside", wrapper, sorted(names)]), names

    def plan_inferred(
        self,
        projection: Projection,
        schema: Schema,
        wrapper: str | None = None,
        *,
        with_wrapper: bool = False,
        plan: Plan | None = None,
    ) -> ReadyPlan:
        """The plan with a schema inferred from a kept value; with `with_wrapper` it describes the wrapper too.

        `plan`: for an object with a wrapper's member; `schema` describes it with the text there parsed.
        """
        if plan is not None:
            wrap = partial(schema_with_text, wrapper=wrapper) if with_wrapper and wrapper is not None else _as_it_is
            return _ready(plan.knowing(schema), wrap)
        wrap = partial(schema_of_text, wrapper=wrapper) if with_wrapper and wrapper is not None else _as_it_is
        of = digest_of(["inferred", schema, wrapper, with_wrapper, self._within_text(wrapper)[1]])
        return self.plans.find(
            key_of(of, projection), lambda: _ready(self.plan_without_schema(projection, wrapper).knowing(schema), wrap)
        )

    def _within_text(self, wrapper: str | None) -> tuple[Views, str]:
        known = self._text_views.get(wrapper)
        if known is None:
            views = self.views.each(partial(within_text, wrapper))
            known = self._text_views[wrapper] = (views, digest_of(["no schema", views.to_json()]))
        return known


def definition_digest(tool: dict[str, Any]) -> str:
    """The digest of what a tool is called by and promises, which a policy can pin."""
    return digest_of([tool.get(key) for key in ("name", "description", "inputSchema", "outputSchema")])


def _listed(tool: dict[str, Any]) -> tuple[Any, ...]:
    return tool["inputSchema"], tool.get("outputSchema"), tool.get("_meta")


# Names of arguments, and formats, that name a file or a resource, or a command that may print one.
_PLACE: Final = re.compile("path|file|dir|folder|ur[il]|href|command|cmd|(?<!de)(?<!sub)script|shell", re.IGNORECASE)

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
    # Receipts need them: looked up here, where that is counted, and often in a thread.
    _ = plan.unmatched, plan.fields
    schema = wrap(plan.schema)
    return ReadyPlan(plan, validator(plan.schema), schema)
