"""Plans: a request compiled for one tool's output. Compiling can refuse a request, before anything has run.

plan = compile_projection(Projection(include=["id", "user.login"]), schema)
plan(value)         the kept part of a value
plan.schema         the schema that every kept part satisfies
plan.fields         ("id", "user.login")
plan.unmatched      paths that the schema does not know
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from louver.core.cached import cached_property
from louver.core.json import Json, Schema, is_array, is_object
from louver.core.paths.find import at_path
from louver.core.paths.mask import ALL, NONE, Mask, exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.paths.rows import DEEP, Pick
from louver.core.project import project
from louver.core.projection.compile import Compiled
from louver.core.projection.view import View, Views
from louver.core.schema import known_fields
from louver.core.schema.derive import Derived, Precision, derive
from louver.core.shaping.apply import Reshaping
from louver.core.size import is_larger
from louver.core.wrapper import (
    WRAPPER,
    beside,
    in_wrapper,
    is_wrapped,
    maybe_within,
    says_something,
    within,
    within_text,
)
from louver.errors import UnknownField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.core.projection.request import Projection
    from louver.core.shaping.options import Shaping


class Plan:
    """What is kept of a tool's output. Made by `compile_projection`.

    Args:
        request: The request; the receipt repeats its canonical fields.
        include: What is kept; everything if there is none.
        exclude: What is left out of that.
        always: Paths that are added to the request's.
        source: The schema of the values, or `None` if it is not known.
        like: The plan that keeps the same, if the source is inferred.
        shaping: How the kept value is shaped.
        unwrapped: How the request is read for a value that is no wrapper, although `source` is of one.
        wrapper_plan: The plan for wrappers, if this is one for such a value.
        in_wrapper_too: Paths of `exclude` that may also be meant within a wrapper, which no schema rules out.
    """

    def __init__(
        self,
        request: Projection,
        include: tuple[FieldPath, ...],
        exclude: tuple[FieldPath, ...],
        always: tuple[FieldPath, ...],
        source: Schema | None,
        like: Plan | None = None,
        shaping: Shaping | None = None,
        unwrapped: _Unwrapped | None = None,
        wrapper_plan: Plan | None = None,
        in_wrapper_too: tuple[FieldPath, ...] = (),
    ) -> None:
        self.request = request
        self._include, self._exclude, self._always = include, exclude, always
        self._source = source
        self._like = like
        self._unwrapped = unwrapped
        self.is_wrapped = unwrapped is not None
        self._wrapper_plan = wrapper_plan
        self._masks = _masks(include, exclude, always) if like is None else like._masks
        self.has_rows = any(path.has_rows for path in (*include, *exclude))
        picks = [step for path in (*include, *exclude) for step in path.steps if isinstance(step, Pick)]
        self._weight = sum(pick.weight for pick in picks)
        self._reads_many = any(test.reads_many for pick in picks for test in pick.tests)
        # What rows are left out of is the whole value, so these go first.
        self._in_turn = self._masks[::-1] if any(path.has_rows for path in exclude) else self._masks
        # Masks of their own: in one, paths with wildcards would make many more states.
        self._wrapper_masks = [_wrapper_mask(in_wrapper_too)] if in_wrapper_too else []
        if exclude:
            self._always = tuple(
                path
                for path in always
                if not any(mask.leaves_out(path) for mask in (self._masks[-1], *self._wrapper_masks))
            )
        self._reshaping = Reshaping(shaping, wrapped=self.is_wrapped) if shaping else None
        self._order: dict[Mask, tuple[str, ...]] = {}
        if include and source is not None and like is None:
            self._order = known_fields.order(source, self._masks[0])
        if like is None:
            masks = [*self._wrapper_masks, *self._in_turn]
            self._keeper = _keeper(masks, self._order, self._reshaping, wrapped=self.is_wrapped)
        else:
            self._keeper = like._keeper

    def __call__(self, value: Json) -> Json:
        """The kept part of `value`, shaped if the view says so.

        Args:
            value: JSON as `json.loads` returns it. It is not changed; the result shares parts with it.
        """
        plan = self if self._unwrapped is None else self.for_value(value)
        return plan._keeper.keep(value)

    def for_value(self, value: Json) -> Plan:
        """The plan whose schema the kept part of `value` satisfies: another one, if it is not the SDK's wrapper.

        With members beside `result` it is an ordinary object: an include takes the object's own member first, and an
        exclude leaves out both, the own member and that within `result`.
        """
        names = self.own_names(value)
        return self if names is None else self.for_names(names)

    def own_names(self, value: Json) -> frozenset[str] | None:
        """The requested names that a value which is no wrapper has itself; `None` if it needs no other plan."""
        if self._unwrapped is None or not is_object(value) or (len(value) == 1 and WRAPPER in value):
            return None
        return self._unwrapped.first_names & value.keys()

    def for_names(self, names: frozenset[str]) -> Plan:
        """The plan for values with these of the requested names beside `result`."""
        assert self._unwrapped is not None
        return _beside(self.request, self._unwrapped, names, WRAPPER, self._source, self)

    def looks_at_more(self, value: Json, most: int) -> bool:
        """Whether projection looks at more than `most` parts of a value."""
        is_one = len(self._masks) == 1 and not self._wrapper_masks and self._reshaping is None
        if is_one and not self._reads_many:
            return is_larger(value, most, self._masks[0])
        return is_larger(value, most // (1 + self._weight))

    def can_have_kept(self, value: Json) -> bool:
        """Whether a value holds no more than is kept of any; of rows nobody can tell why they are there."""
        return self.has_rows or self(value) == value

    def row_counts(self, value: Json, kept: Json) -> dict[str, tuple[int, int]]:
        """For each path of names to arrays with selected rows: how many elements are kept, and were there."""
        counts: dict[str, tuple[int, int]] = {}
        for path in (*self._include, *self._exclude) if self._reshaping is None else ():
            names = tuple(takewhile(lambda step: isinstance(step, str), path.steps))
            if path.has_rows and path.steps[len(names)] is not DEEP:
                at = FieldPath(names)
                left, all_of = (
                    sum(len(part) for part in at_path(each, at) if is_array(part)) for each in (kept, value)
                )
                counts[str(at)] = left, all_of
        return counts

    @property
    def is_generated(self) -> bool:
        """Whether the next value goes to generated code first."""
        return self._keeper.is_special

    def knowing(self, schema: Schema) -> Plan:
        """This plan with an inferred schema: it keeps the same, and reports more.

        Args:
            schema: Inferred from what this plan kept, or from the whole value if it does not shape; without a wrapper.
        """
        shaping = None if self._reshaping is None else self._reshaping.shaping
        return Plan(self.request, self._include, self._exclude, self._always, schema, self, shaping)

    @property
    def is_of_object(self) -> bool:
        """Whether it is for values that are no wrapper, although the schema looks like one."""
        return self._wrapper_plan is not None

    @property
    def is_inferred(self) -> bool:
        """Whether the schema of the values is inferred from them, not declared."""
        return self._like is not None

    @property
    def nodes(self) -> int:
        """The size of the plan: how many nodes its masks have, and how much its tests read."""
        wrapper_masks = (self._like or self)._wrapper_masks
        return self._weight + sum(len(mask.nodes()) for mask in (*wrapper_masks, *self._masks))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The canonical list of requested paths, in the order of the schema's properties."""
        if self.request.mode == "exclude":
            return tuple(str(path) for path in self._exclude)
        return tuple(str(path) for path in self._sorted) or ("*",)

    @cached_property
    def excluded(self) -> tuple[str, ...]:
        """What a view leaves out of its fields."""
        return () if self.request.mode == "exclude" else tuple(str(path) for path in self._exclude)

    @cached_property
    def always(self) -> tuple[str, ...]:
        """The canonical list of paths that the tool's author adds, as far as their fields are left."""
        select = None if self._reshaping is None else self._reshaping.shaping.select
        return tuple(str(path) for path in self._always if select is None or not select.replaces(self._inside(path)))

    @property
    def shaped(self) -> dict[str, Any] | None:
        """The canonical form of the view's shaping, if it shapes."""
        return None if self._reshaping is None else self._reshaping.shaping.to_json()

    @cached_property
    def suggestions(self) -> dict[str, str]:
        """For unmatched paths, the path that was probably meant."""
        return {str(path): str(meant) for path, meant in self._unmatched.items() if meant is not None}

    @cached_property
    def unmatched(self) -> tuple[str, ...]:
        """The requested paths that the schema does not know; none without a declared schema."""
        return tuple(str(path) for path in self._unmatched)

    @property
    def schema(self) -> Schema:
        """The schema that every kept part of a valid value satisfies."""
        return self._derived.schema

    @property
    def precision(self) -> Precision:
        """Whether `schema` carries the original's assertions, or only the shape."""
        return self._derived.precision

    @cached_property
    def _derived(self) -> Derived:
        if self._reshaping is not None and self._source is not None and self.is_inferred:
            return self._reshaping.seen(self._source)
        schema: Schema = True if self._source is None else self._source
        precision: Precision = "shape" if self._source is None else "exact"
        for mask in (*self._wrapper_masks, *self._in_turn):
            derived = derive(schema, mask, wrapped=self.is_wrapped)
            schema = derived.schema
            precision = derived.precision if precision == "exact" else precision
        projected = Derived(schema, precision)
        return projected if self._reshaping is None else self._reshaping.derived(projected)

    @cached_property
    def _unmatched(self) -> dict[FieldPath, FieldPath | None]:
        # Another answer can have what one lacks: only a declared schema knows which fields are impossible.
        if self._source is None or self.is_inferred:
            return {}
        if self._wrapper_plan is not None:
            named = {*self._include, *self._exclude}
            unknown = self._wrapper_plan._unmatched
            own = {path: meant for path, meant in unknown.items() if path in named}
            others = {FieldPath(path.steps[1:], absolute=True): unknown[path] for path in unknown if path not in named}
            return own | others
        return self._unknown((), self._exclude) if self.request.mode == "exclude" else self._unknown(self._sorted, ())

    def _unknown(self, include: Sequence[FieldPath], exclude: Sequence[FieldPath]) -> dict[FieldPath, FieldPath | None]:
        assert self._source is not None
        unknown = known_fields.unmatched(self._source, include, exclude)
        if not self.is_wrapped or not unknown:
            return unknown
        # A path may mean a member beside the wrapper's: such a schema has no properties there, but may describe others.
        own = {path: FieldPath(path.steps[1:]) for path in unknown if len(path.steps) > 1 and not path.absolute}
        neither = known_fields.unmatched(self._source, tuple(own.values()), ())
        return {path: meant for path, meant in unknown.items() if path not in own or own[path] in neither}

    def _inside(self, path: FieldPath) -> FieldPath:
        return within_text(WRAPPER, (path,))[0] if self.is_wrapped else path

    @cached_property
    def _sorted(self) -> list[FieldPath]:
        """The included paths in the order of their fields in the output."""
        if not self._order:
            return list(self._include)

        def position(path: FieldPath) -> list[tuple[int, str]]:
            mask, key = self._masks[0], list[tuple[int, str]]()
            for step in path.steps:
                names = self._order.get(mask, ())
                key.append((names.index(step) if isinstance(step, str) and step in names else -1, str(step or "")))
                mask = mask.child(step) if isinstance(step, str) else mask.other if step is None else mask.elem
            return key

        return sorted(self._include, key=position)


def _keeper(
    masks: list[Mask], order: Mapping[Mask, tuple[str, ...]], reshaping: Reshaping | None, *, wrapped: bool
) -> Compiled | _Chain | _Shaped:
    chain = _Chain(masks, order, wrapped=wrapped)
    keeper = chain.keepers[0] if len(masks) == 1 and not wrapped else chain
    return keeper if reshaping is None else _Shaped(keeper, reshaping)


class _Shaped:
    def __init__(self, keeper: Compiled | _Chain, reshaping: Reshaping) -> None:
        self._keeper = keeper
        self._reshaping = reshaping

    def keep(self, value: Json) -> Json:
        return self._reshaping(self._keeper.keep(value))

    @property
    def is_special(self) -> bool:
        return self._keeper.is_special


class _Chain:
    def __init__(self, masks: list[Mask], order: Mapping[Mask, tuple[str, ...]], *, wrapped: bool) -> None:
        self._masks = masks
        self._order = order
        self.is_wrapped = wrapped
        self.keepers = [Compiled(mask.child(WRAPPER) if wrapped else mask, order) for mask in masks]

    def keep(self, value: Json) -> Json:
        if not self.is_wrapped:
            return self._below(value, value)
        if is_object(value) and WRAPPER in value and (len(value) == 1 or NONE in self._masks):
            # The wrapper stays, whatever is left of its value.
            return {WRAPPER: self._below(value[WRAPPER], value)}
        for mask in self._masks:
            value = project(value, mask, self._order)
        return value

    @property
    def is_special(self) -> bool:
        return all(keeper.is_special for keeper in self.keepers)

    def _below(self, value: Json, whole: Json) -> Json:
        for keeper, mask in zip(self.keepers, self._masks, strict=True):
            if keeper.reads_root and self.is_wrapped:
                value = project(value, mask.child(WRAPPER), self._order, whole)
            else:
                value = keeper.keep(value)
        return value


def compile_projection(
    projection: Projection,
    schema: Schema | None = None,
    *,
    views: Views | Mapping[str, Any] | None = None,
) -> Plan:
    """The plan of a request for one tool.

    Args:
        projection: The request.
        schema: The tool's output schema; without one every field is possible.
        views: The tool's views, for mode `view`: a `Views`, or name -> paths or view.

    Raises:
        UnknownView: The tool has no such view.
        UnknownField: The request is strict and names a field that the schema does not know.
        ProjectionLimit: The paths together are too many.
        InvalidView: `views` has another form.
    """
    requested = _requested(projection, views if isinstance(views, Views) else Views.read(views or {}))
    view, always = requested.view, requested.always
    include, exclude, added = (within(schema, paths) for paths in (view.include, view.exclude, always))
    shaping, unwrapped = view.shaping, None
    if not is_wrapped(schema):
        shaping = shaping.moved(partial(within, schema))
    elif not include or any(map(_may_reach_wrapper, (*include, *added))):
        shaping = shaping.moved(lambda paths: tuple(filter(None, map(in_wrapper, paths))))
        unwrapped = requested
    else:
        # Only members beside the wrapper's are kept, so no value needs another plan.
        exclude = beside(view.exclude, frozenset(), exclude=True)
    added = _added(added, include)
    too = () if says_something(schema) else maybe_within(view.exclude)
    plan = Plan(projection, include, exclude, added, schema, shaping=shaping, unwrapped=unwrapped, in_wrapper_too=too)
    if projection.strict and plan.unmatched:
        first = plan.unmatched[0]
        meant = plan.suggestions.get(first)
        hint = "" if meant is None else f"; did you mean {meant!r}?"
        message = f"field path {first!r} is not a field of this tool's output{hint}"
        raise UnknownField(message, unmatched=list(plan.unmatched), suggestions=plan.suggestions)
    return plan


@dataclass(frozen=True, slots=True)
class _Unwrapped:
    """A request as it was written, without regard to a wrapper."""

    view: View
    always: tuple[FieldPath, ...]

    @property
    def first_names(self) -> frozenset[str]:
        """The names on which it depends how paths are read."""
        select = self.view.shaping.select
        paths = (*self.view.include, *self.always, *(() if select is None else (select.at,)))
        return frozenset(path.steps[0] for path in paths if path.steps and isinstance(path.steps[0], str))


def compile_beside_text(projection: Projection, views: Views, wrapper: str, names: frozenset[str]) -> Plan:
    """The plan of a request for an object with JSON text in `wrapper`, once that is parsed, and other members.

    Args:
        projection: The request.
        views: The tool's views.
        wrapper: `result` or `content`.
        names: Those of `first_names` that the object has.
    """
    return _beside(projection, _requested(projection, views), names, wrapper)


def first_names(projection: Projection, views: Views) -> frozenset[str]:
    """The names on which it depends how a request is read for an object that is no wrapper."""
    return _requested(projection, views).first_names


def _requested(projection: Projection, views: Views) -> _Unwrapped:
    if projection.mode == "view":
        view = views.find(projection.name or "")
    elif projection.mode == "include":
        view = View(include=projection.fields)
    else:
        view = View(exclude=projection.fields)
    return _Unwrapped(view, views.always if view.include else ())


def _beside(
    projection: Projection,
    requested: _Unwrapped,
    names: frozenset[str],
    wrapper: str,
    source: Schema | None = None,
    wrapper_plan: Plan | None = None,
) -> Plan:
    view, own = requested.view, partial(beside, names=names, exclude=False, wrapper=wrapper)
    return Plan(
        projection,
        own(view.include),
        beside(view.exclude, names, exclude=True, wrapper=wrapper),
        _added(own(requested.always), own(view.include)),
        source,
        shaping=view.shaping.moved(own),
        wrapper_plan=wrapper_plan,
    )


def _may_reach_wrapper(path: FieldPath) -> bool:
    return not path.steps or not isinstance(path.steps[0], str) or path.steps[0] == WRAPPER


def _added(always: tuple[FieldPath, ...], include: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    return tuple(path for path in always if not any(chosen.covers(path) for chosen in include))


def _masks(include: tuple[FieldPath, ...], exclude: tuple[FieldPath, ...], always: tuple[FieldPath, ...]) -> list[Mask]:
    masks = [include_mask((*include, *always))] if include else []
    return [*masks, exclude_mask(exclude)] if exclude else masks or [ALL]


def _wrapper_mask(exclude: tuple[FieldPath, ...]) -> Mask:
    """The mask that leaves out paths within the wrapper alone."""
    mask = Mask(exclude=True)
    mask.children = {WRAPPER: exclude_mask(exclude)}
    mask.other = mask.elem = ALL
    return mask
