"""The laws of what is visible, on generated (schema, value, rules) triples.

Each `@example` is a counter-example that was found once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from fuzz.requests import Mode, random_request
from louver.core.path import FieldPath
from louver.core.visible import Fields, Sight
from strategies import JUDGE, Triple, randoms, triples

if TYPE_CHECKING:
    from random import Random

KEY = b"k" * 32


def paths(rng: Random, value: Any, mode: Mode) -> tuple[FieldPath, ...]:
    """Random paths of one mode into a value; below the root, for that is never hidden."""
    request = random_request(rng, [value], mode=mode)
    found = tuple(FieldPath.parse(field, deep=True) for field in request.fields)
    return tuple(path for path in found if path.steps)


def random_fields(rng: Random, value: Any) -> Fields:
    said = {name: paths(rng, value, "exclude") for name in ("deny", "mask", "hash") if rng.random() < 0.5}
    return Fields(allow=paths(rng, value, "include") if rng.random() < 0.4 else (), **said)


@st.composite
def ruled(draw: st.DrawFn) -> tuple[Triple, list[Fields]]:
    """A valid value of a schema, and one or two rules for it."""
    triple, rng = draw(triples()), draw(randoms())
    return triple, [random_fields(rng, triple.value) for _ in range(rng.choice((1, 1, 2)))]


@given(ruled())
def test_what_is_visible_of_a_valid_value_satisfies_the_visible_schema(case: tuple[Triple, list[Fields]]):
    """PRIVACY.md: masking changes the derived schema with it."""
    triple, rules = case
    sight = Sight(rules, triple.schema, KEY)
    accepts = JUDGE(sight.schema, "2020-12")
    assert accepts is not None
    assert accepts(sight.of(triple.value)), sight.schema
