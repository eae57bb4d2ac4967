"""Random shapings, and the laws of shaping, each a check of one triple.

unsound     what a shaping makes of v is valid under what it makes of S, for every valid v
loose       an object at the place that holds what is not selected is not
reads       selecting reads nothing but what an include of the same paths keeps
again       shortening twice is shortening once
form        a shaped schema is one self-contained schema of 2020-12 without annotations
seen        a shaped value satisfies the schema that was inferred from it, once that is closed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.paths.mask import Mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project
from louver.core.schema.derive import Derived
from louver.core.schema.infer import infer
from louver.core.shaping.apply import Reshaping
from louver.core.shaping.options import Shaping
from louver.core.shaping.select import PICKED, MemberSource, Select, place_mask
from louver.core.shaping.shorten import FORMATS, Shortening, shorten

from .laws import Subject, malformed, text
from .requests import random_request
from .schemas import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

TEXTS = {"ab": "2025-01-05T14:32:05.5+02:00", "a": "jo.d@a.example", "2020-01-01": "2020-01-01T00:00:00Z"}
"""What some texts are replaced by, so that formats have something to write."""


def with_texts(part: Any, inside: bool) -> Any:
    """A value, or the constants of a schema, with texts that formats know."""
    if is_object(part):
        return {name: with_texts(below, inside or name in ("enum", "const")) for name, below in part.items()}
    if is_array(part):
        return [with_texts(below, inside) for below in part]
    return TEXTS.get(part, part) if inside and isinstance(part, str) else part


def with_nulls(rng: Random, value: Any) -> Any:
    """`value` with null, or nothing, in the place of some of its parts."""
    if is_object(value):
        return {name: with_nulls(rng, member) for name, member in value.items() if rng.random() < 0.8}
    if is_array(value):
        return [with_nulls(rng, element) for element in value]
    return None if rng.random() < 0.3 else value


def random_shaping(rng: Random, values: list[Any]) -> Shaping:
    """One or several parts of a shaping; paths often lead somewhere in a value."""
    select = _random_select(rng, values) if rng.random() < 0.6 else None
    drops = rng.choice((True, None))
    items, texts = (rng.choice((None, None, 1, 2)) for _ in range(2))
    shaping = Shaping(select, items, texts, drops)
    return shaping if shaping else random_shaping(rng, values)


def _random_select(rng: Random, values: list[Any]) -> Select:
    found = [path.steps for path in random_request(rng, values, mode="include").paths]
    deepest = max(found, key=len)
    at = deepest[: rng.randrange(len(deepest))] if deepest else ()
    at = () if at == (None,) else at
    sources: list[MemberSource] = []
    for steps in (*found, (rng.choice(NAMES),)):
        below = tuple(step for step in (steps[len(at) :] if steps[: len(at)] == at else steps) if step is not None)
        if below:
            sources.append(MemberSource(FieldPath(below), rng.choice((None, None, *FORMATS))))
    names = rng.sample((*NAMES, "new", "other"), len(sources))
    return Select(tuple(zip(names, sources, strict=True)), FieldPath(at))


class Shaped:
    """One schema and one shaping."""

    def __init__(self, subject: Subject, shaping: Shaping) -> None:
        self.judge = subject.judge
        self.shaping = shaping
        self.reshape = Reshaping(shaping, wrapped=False)
        self.derived = self.reshape.derived(Derived(subject.schema, "exact"))
        self.accepts = subject.judge(self.derived.schema, "2020-12")

    def broken(self, value: Any) -> Iterator[str]:
        """The broken laws of one triple; `value` is valid."""
        shaped = self.reshape(value)
        if self.accepts is None or malformed(self.derived.schema):
            yield "form"
        elif not self.accepts(shaped):
            yield "unsound"
        elif self.shaping.select is not None:
            more, is_more = with_more(shaped, place_mask(self.shaping.select.at))
            if is_more and self.accepts(more):
                yield "loose"
        by = Shortening.to_size(
            self.shaping.max_items, self.shaping.max_string, drops_nulls=bool(self.shaping.drop_nulls)
        )
        once = shorten(value, by)
        if text(shorten(once, by)) != text(once):
            yield "again"
        seen = self.judge(self.reshape.seen(infer([shaped])).schema, "2020-12")
        if seen is None or not seen(shaped):
            yield "seen"
        if self.shaping.select is not None and not self.shaping.select.at.steps:
            asked = include_mask([source.path for _, source in self.shaping.select.members])
            if text(self.reshape(project(value, asked))) != text(shaped):
                yield "reads"


def with_more(value: Any, mask: Mask) -> tuple[Any, bool]:
    """`value` with a member more in every object at the place, and whether there was any."""
    if mask is PICKED and is_object(value):
        return {**value, "more": 1}, True
    if is_array(value):
        parts = [with_more(element, mask.elem) for element in value]
        return [part for part, _ in parts], any(done for _, done in parts)
    if is_object(value) and mask.exclude:
        named = {name: with_more(member, mask.child(name)) for name, member in value.items()}
        return {name: part for name, (part, _) in named.items()}, any(done for _, done in named.values())
    return value, False
