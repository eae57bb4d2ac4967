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
from fuzz.schemas import Draft, constant, random_schema
from fuzz.shapings import random_shaping, with_nulls, with_texts
from fuzz.values import grown

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
def triples(draw: st.DrawFn) -> Triple:
    """Valid triples."""
    rng = draw(randoms())
    draft: Draft = rng.choice(("2020-12", "2019-09", "7"))
    schema = random_schema(rng, draft)
    valid = Subject(schema, draft, JUDGE).valid
    assume(valid is not None)
    tried = [grown(rng, schema, draft) for _ in range(4)]
    value = next((value for value in tried if valid is not None and valid(value)), None)
    assume(value is not None)
    return Triple(draft, schema, value, random_request(rng, [value]))


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
