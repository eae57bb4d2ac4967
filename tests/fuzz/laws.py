"""The laws of projection and derivation, each a check of one triple.

wrong       with rows, the masks keep what plain recursion keeps (`rows.py`)
unsound     project(v) is valid under derive(S) for every valid v
loose       a value that holds something left out is not
relax       relax(S) accepts v and every projection of it
again       projecting twice is projecting once, but for rows
order       the order of the paths changes neither the value nor the schema
partition   include and exclude of the same paths share no scalar, and miss none
whole       derive(S, everything) accepts what S accepts
form        a derived schema is one self-contained schema of 2020-12 without annotations
chain       what is projected twice satisfies what is derived twice
"""

from __future__ import annotations

import json
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from louver.core.paths.mask import ALL, exclude_mask, include_mask
from louver.core.paths.path import FieldPath, fold
from louver.core.paths.rows import DEEP, Descent, Pick
from louver.core.project import project
from louver.core.schema.derive import derive
from louver.core.schema.relax import relax

from . import rows as reference
from .judges import Judge, Verdict, is_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from louver.core.paths.mask import Mask
    from louver.core.paths.rows import Step

    from .requests import Request
    from .schemas import Draft

_ONE = (
    "additionalProperties unevaluatedProperties propertyNames items unevaluatedItems contains not if then else"
).split()
_MANY = ("prefixItems", "allOf", "anyOf", "oneOf")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")
_ANNOTATIONS = frozenset(
    "title description default examples $comment deprecated readOnly writeOnly $id $anchor $schema"
    " $dynamicAnchor $dynamicRef definitions".split()
)


def text(value: Any) -> str:
    """Two values have equal texts if they are the same JSON; `1`, `1.0` and `true` are not."""
    return json.dumps(value, sort_keys=True)


class Asked:
    """One schema and one request."""

    def __init__(self, subject: Subject, request: Request) -> None:
        self.request = request
        self.mask = request.mask
        self.derived = derive(subject.schema, self.mask)
        self.accepts: Verdict | None = subject.judge(self.derived.schema, "2020-12")

    @cached_property
    def names(self) -> Mask | None:
        """What an include names of each row, if no path goes to every depth."""
        if self.request.mode == "exclude" or any(DEEP in path.steps for path in self.request.paths):
            return None
        return include_mask(
            [FieldPath(steps) for path in self.request.paths for steps in product(*map(_named, path.steps))]
        )

    @cached_property
    def is_complete(self) -> bool:
        """Whether include and exclude of these paths are each other's complement.

        An exclude reads a wildcard that is not last more widely than an include.
        """
        return not any(path.deep or None in path.steps[:-1] for path in self.request.paths)


def _named(step: Step) -> tuple[str | None, ...]:
    if isinstance(step, Pick):
        return (*step.names, *((None,) if step.rows else ()))
    return () if isinstance(step, Descent) else (step,)


class Subject:
    """One schema, and whatever is asked of it."""

    def __init__(self, schema: Any, draft: Draft, judge: Judge) -> None:
        self.schema = schema
        self.judge = judge
        self.valid = judge(schema, draft)

    @cached_property
    def relaxed(self) -> Any:
        return relax(self.schema)

    @cached_property
    def relaxed_accepts(self) -> Verdict | None:
        return self.judge(self.relaxed, "2020-12")

    @cached_property
    def whole_accepts(self) -> Verdict | None:
        return self.judge(derive(self.schema, ALL).schema, "2020-12")

    def own(self) -> Iterator[str]:
        """The broken laws of the schema alone."""
        if self.relaxed_accepts is None or malformed(self.relaxed, annotated=True):
            yield "form"
        if self.whole_accepts is None or malformed(derive(self.schema, ALL).schema):
            yield "form"

    def asked(self, request: Request, rng: Random) -> tuple[Asked, list[str]]:
        """The request, and the broken laws of it and the schema."""
        asked = Asked(self, request)
        broken: list[str] = []
        if asked.accepts is None or malformed(asked.derived.schema):
            broken.append("form")
        again = derive(self.schema, _shuffled(request, rng))
        if json.dumps(again.schema) != json.dumps(asked.derived.schema):
            broken.append("order")
        return asked, broken

    def broken(self, asked: Asked, value: Any, rng: Random) -> Iterator[str]:
        """The broken laws of one triple; `value` is valid."""
        if asked.accepts is None or self.relaxed_accepts is None or self.whole_accepts is None:
            return
        kept = project(value, asked.mask)
        if not asked.accepts(kept):
            yield "unsound"
        if asked.request.has_rows:
            if text(kept) != text(reference.kept(value, fold(asked.request.paths), asked.request.mode)):
                yield "wrong"
            back, is_more = restored(value, project(value, asked.names), rng) if asked.names else (value, False)
            if is_more and asked.accepts(back):
                yield "loose"
        elif text(kept) != text(value) and (asked.accepts(value) or asked.accepts(restored(value, kept, rng)[0])):
            yield "loose"
        if not self.relaxed_accepts(value) or not self.relaxed_accepts(kept):
            yield "relax"
        if not self.whole_accepts(value):
            yield "whole"
        if not asked.request.has_rows and text(project(kept, asked.mask)) != text(kept):
            yield "again"
        if json.dumps(project(value, _shuffled(asked.request, rng))) != json.dumps(kept):
            yield "order"
        if not asked.request.has_rows:
            yield from _unparted(asked, value)

    def chained(self, first: Asked, second: Asked, value: Any) -> Iterator[str]:
        """The broken laws of an include of which an exclude takes more away, as a view can ask."""
        kept = project(project(value, first.mask), second.mask)
        accepts = self.judge(derive(first.derived.schema, second.mask).schema, "2020-12")
        if accepts is None or not accepts(kept):
            yield "chain"
        if self.relaxed_accepts is not None and not self.relaxed_accepts(kept):
            yield "relax"


def _shuffled(request: Request, rng: Random) -> Any:
    paths = list(request.paths)
    rng.shuffle(paths)
    paths = fold(tuple(paths))
    return include_mask(paths) if request.mode == "include" else exclude_mask(paths)


def _unparted(asked: Asked, value: Any) -> Iterator[str]:
    paths: tuple[FieldPath, ...] = fold(asked.request.paths)
    if any(path.deep for path in paths):
        return
    kept, rest = (dict(scalars(project(value, mask(paths)))) for mask in (include_mask, exclude_mask))
    both = {**kept, **rest}
    if len(both) != len(kept) + len(rest) or (asked.is_complete and both != dict(scalars(value))):
        yield "partition"


def scalars(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """The scalars of a value but null, each with its position."""
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from scalars(below, (*at, key))
    elif value is not None:
        yield at, text(value)


def restored(value: Any, kept: Any, rng: Random) -> tuple[Any, bool]:
    """`kept` with one thing of `value` back that was left out, and whether there was any."""
    if isinstance(value, dict) and isinstance(kept, dict):
        names = list(value)
        rng.shuffle(names)
        for name in names:
            if name not in kept:
                return {**kept, name: value[name]}, True
            below, done = restored(value[name], kept[name], rng)
            if done:
                return {**kept, name: below}, True
        return kept, False
    if isinstance(value, list) and isinstance(kept, list):
        if len(value) != len(kept):
            return value[:1], True
        for position in rng.sample(range(len(value)), len(value)):
            below, done = restored(value[position], kept[position], rng)
            if done:
                return [*kept[:position], below, *kept[position + 1 :]], True
        return kept, False
    return value, text(value) != text(kept)


def malformed(document: Any, *, annotated: bool = False) -> bool:
    """Whether a document is not one self-contained schema without annotations."""
    if not is_schema(document):
        return True
    defs: dict[str, Any] = document.get("$defs", {}) if isinstance(document, dict) else {}
    used: set[str] = set()
    todo = [document]
    first = True
    while todo:
        part = todo.pop()
        if not isinstance(part, dict):
            continue
        if (not annotated and not _ANNOTATIONS.isdisjoint(part)) or ("$defs" in part and not first):
            return True
        first = False
        if "$ref" in part:
            name = part["$ref"].removeprefix("#/$defs/")
            if name not in defs:
                return True
            used.add(name)
        todo += [part[keyword] for keyword in _ONE if keyword in part]
        todo += [below for keyword in _MANY for below in part.get(keyword, ())]
        todo += [below for keyword in _NAMED for below in part.get(keyword, {}).values()]
    return used != defs.keys()
