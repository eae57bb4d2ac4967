"""The laws of what is visible, on generated (schema, value, rules) triples.

Each `@example` is a counter-example that was found once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from fuzz.requests import Mode, random_request
from louver.core.json import is_array, is_object
from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.policy.visibility import MASKED, Fields, Visibility
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
def ruled(draw: st.DrawFn) -> tuple[Triple, Fields]:
    """A valid value of a schema, and a rule for it."""
    triple, rng = draw(triples()), draw(randoms())
    return triple, random_fields(rng, triple.value)


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
def test_what_is_visible_of_a_valid_value_satisfies_the_visible_schema(case: tuple[Triple, Fields]):
    """PRIVACY.md: masking changes the derived schema with it."""
    triple, fields = case
    visible = Visibility(fields, triple.schema, KEY)
    # A schema of which everything is seen is the server's own, of whatever draft.
    accepts = JUDGE(visible.schema, triple.draft if visible.is_whole else "2020-12")
    assert accepts is not None
    assert accepts(visible.of(triple.value)), visible.schema


@given(ruled())
def test_no_scalar_is_left_that_a_rule_denies(case: tuple[Triple, Fields]):
    """PRIVACY.md, "One pipeline": by each mask alone, whatever else there is."""
    triple, fields = case
    value = numbered(triple.value)
    left = scalars(Visibility(fields, None, KEY).of(value))
    assert left <= scalars(value)
    for denied in (fields.deny, fields.mask, fields.hash):
        assert left <= scalars(project(value, exclude_mask(denied)))
    if fields.allow:
        allowed = include_mask((*fields.allow, *fields.mask, *fields.hash))
        assert left <= scalars(project(value, allowed))


def scattered(value: Any, rng: Random) -> Any:
    """The value with some of its members and elements as JSON text, some of that as text again."""
    if is_object(value):
        value = {name: scattered(member, rng) for name, member in value.items()}
    elif is_array(value):
        value = [scattered(each, rng) for each in value]
    else:
        return value
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        value = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 2)))
    return value


def scalars_within(value: Any) -> set[Any]:
    """All numbers in a value, and in the JSON of its strings."""
    if isinstance(value, str) and value[:1] in tuple('{["') and value != MASKED:
        return scalars_within(json.loads(value))
    if is_object(value):
        return set().union(*map(scalars_within, value.values()))
    if is_array(value):
        return set().union(*map(scalars_within, value))
    return scalars(value)


@given(ruled(), randoms())
def test_no_scalar_is_left_that_a_rule_denies_in_the_json_of_a_string(case: tuple[Triple, Fields], rng: Random):
    """TRUST.md, "Unreadable is not harmless": JSON in a string is seen as if there were no string."""
    triple, fields = case
    value = numbered(triple.value)
    left = scalars_within(Visibility(fields, None, KEY).of(scattered(value, rng)))
    for denied in (fields.deny, fields.mask, fields.hash):
        assert left <= scalars(project(value, exclude_mask(denied)))
