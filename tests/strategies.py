"""Hypothesis strategies: the generator of `tests/fuzz`, driven and shrunk by Hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import assume
from hypothesis import strategies as st

from fuzz.judges import JUDGES
from fuzz.laws import Subject
from fuzz.requests import Request, random_request
from fuzz.schemas import NAMES, Draft, constant, random_schema
from fuzz.shapings import random_shaping, with_nulls, with_texts
from fuzz.values import grown
from louver.core.paths.path import FieldPath

if TYPE_CHECKING:
    from louver.core.shaping.options import Shaping

JUDGE = next(iter(JUDGES.values()))


@dataclass(frozen=True, slots=True)
class Triple:
    """A schema, a value that is valid under it, and a request."""

    draft: Draft
    schema: Any
    value: Any
    request: Request


class _Drawn(Random):
    """Choices out of bytes, as far as they last; where these are zeros, it is the first of what there is to choose."""

    def __init__(self, drawn: bytes) -> None:
        super().__init__(0)
        self._bytes = drawn
        self._left = BytesIO(drawn)

    def __repr__(self) -> str:
        return f"_Drawn({self._bytes!r})"

    def getrandbits(self, k: int, /) -> int:
        size = (k + 7) // 8
        taken = self._left.read(size)
        return int.from_bytes(taken) >> 8 * size - k if len(taken) == size else super().getrandbits(k)

    def random(self) -> float:
        return self.getrandbits(53) / 2**53


def randoms() -> st.SearchStrategy[Random]:
    """A source of choices for the generator.

    All are drawn at once. Hypothesis takes half a millisecond for each draw, which is ten times as long as most laws.
    """
    return st.binary(min_size=1024, max_size=1024).map(_Drawn)


@st.composite
def triples(draw: st.DrawFn, *, rows: bool = False) -> Triple:
    """Valid triples; with `rows` most requests select some."""
    rng = draw(randoms())
    draft: Draft = rng.choice(("2020-12", "2019-09", "7"))
    schema = random_schema(rng, draft)
    valid = Subject(schema, draft, JUDGE).valid
    assume(valid is not None)
    tried = [grown(rng, schema, draft) for _ in range(4)]
    value = next((value for value in tried if valid is not None and valid(value)), None)
    assume(value is not None)
    return Triple(draft, schema, value, random_request(rng, [value], rows=rows))


@st.composite
def wrapped_triples(draw: st.DrawFn) -> Triple:
    """Valid triples of a schema that looks like the SDK's wrapper.

    Most are open. The value may have members beside `result`, or more than is declared within it. Paths are dotted,
    with the wrapper's name or without, or absolute.
    """
    rng = draw(randoms())
    within = random_schema(rng, "2020-12")
    held = grown(rng, within, "2020-12")
    assume(isinstance(within, dict))
    if isinstance(within.get("properties"), dict) and rng.random() < 0.3:
        # It declares less than the value has.
        within = {**within, "properties": dict(list(within["properties"].items())[1:])}
    rest = rng.choice(({}, {}, {"additionalProperties": True}, {"additionalProperties": False}))
    definitions = {name: within.pop(name) for name in ("$defs", "$schema") if name in within}
    schema = {"type": "object", "properties": {"result": within}, "required": ["result"], **rest, **definitions}
    names = rng.sample(NAMES, rng.choice((0, 1, 1, 2)))
    value = {"result": held, **{name: constant(rng) for name in names}}
    valid = Subject(schema, "2020-12", JUDGE).valid
    assume(valid is not None and valid(value))
    asked = random_request(rng, [value, held])
    return Triple("2020-12", schema, value, Request(asked.mode, tuple(_in_a_form(rng, each) for each in asked.fields)))


def _in_a_form(rng: Random, text: str) -> str:
    path = FieldPath.parse(text, deep=True)
    is_plain = path.deep or not path.steps or rng.random() < 0.5
    return text if is_plain else str(FieldPath(path.steps, absolute=True))


@st.composite
def asked_values(draw: st.DrawFn) -> tuple[Any, Request]:
    """A value and a request, without a schema."""
    rng = draw(randoms())
    value = constant(rng, 4)
    return value, random_request(rng, [value])


@dataclass(frozen=True, slots=True)
class ShapedTriple:
    """A schema, a value that is valid under it, and a shaping."""

    draft: Draft
    schema: Any
    value: Any
    shaping: Shaping


@st.composite
def shaped_triples(draw: st.DrawFn) -> ShapedTriple:
    """Valid triples; in some of them texts are times and addresses, and there are more nulls."""
    rng = draw(randoms())
    triple = draw(triples())
    schema, value = triple.schema, triple.value
    if rng.random() < 0.5:
        schema, value = with_texts(schema, inside=False), with_texts(value, inside=True)
    valid = Subject(schema, triple.draft, JUDGE).valid
    assume(valid is not None and valid(value))
    nulled = with_nulls(rng, value)
    if valid is not None and valid(nulled):
        value = nulled
    return ShapedTriple(triple.draft, schema, value, random_shaping(rng, [value]))
