"""The laws of what is visible, on generated (schema, value, rules) triples.

Each `@example` is a counter-example that was found once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from fuzz.requests import Mode, random_request
from louver.core.json import is_array, is_object
from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.policy.visibility import Fields, Visibility
from louver.core.project import project
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


def numbered(value: Any) -> Any:
    """The value with a number of its own for each scalar."""
    count = 0

    def at(value: Any) -> Any:
        nonlocal count
        if is_object(value):
            return {name: at(member) for name, member in value.items()}
        if is_array(value):
            return [at(each) for each in value]
        count += 1
        return count

    return at(value)


def scalars(value: Any) -> set[Any]:
    """All numbers in a value."""
    if is_object(value):
        return set().union(*map(scalars, value.values()))
    if is_array(value):
        return set().union(*map(scalars, value))
    return {value} if isinstance(value, int) else set()


@given(ruled())
def test_what_is_visible_of_a_valid_value_satisfies_the_visible_schema(case: tuple[Triple, list[Fields]]):
    """PRIVACY.md: masking changes the derived schema with it."""
    triple, rules = case
    visible = Visibility(rules, triple.schema, KEY)
    # A schema of which everything is seen is the server's own, of whatever draft.
    accepts = JUDGE(visible.schema, triple.draft if visible.is_whole else "2020-12")
    assert accepts is not None
    assert accepts(visible.of(triple.value)), visible.schema


@given(ruled())
def test_no_scalar_is_left_that_a_rule_denies(case: tuple[Triple, list[Fields]]):
    """PRIVACY.md, "One pipeline": by each mask alone, whatever else there is."""
    triple, rules = case
    value = numbered(triple.value)
    left = scalars(Visibility(rules, None, KEY).of(value))
    assert left <= scalars(value)
    for fields in rules:
        for denied in (fields.deny, fields.mask, fields.hash):
            assert left <= scalars(project(value, exclude_mask(denied)))
        if fields.allow:
            allowed = include_mask((*fields.allow, *fields.mask, *fields.hash))
            assert left <= scalars(project(value, allowed))


@given(ruled(), randoms())
def test_rules_one_after_the_other_let_through_what_all_of_them_do(case: tuple[Triple, list[Fields]], rng: Random):
    """Ours: so it does not matter in which order, and one more never lets through more."""
    triple, rules = case
    value = numbered(triple.value)
    rules = [*rules, random_fields(rng, triple.value)]
    together = scalars(Visibility(rules, None, KEY).of(value))
    apart = [scalars(Visibility([fields], None, KEY).of(value)) for fields in rules]
    assert together <= set.intersection(*apart)
    assert together == scalars(Visibility(rules[::-1], None, KEY).of(value))
    if not any(fields.mask or fields.hash for fields in rules):
        assert together == set.intersection(*apart)
