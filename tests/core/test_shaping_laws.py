"""The laws of shaping, on generated (schema, value, shaping) triples.

Each `@example` is a counter-example that was found once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given

from fuzz.judges import JUDGES
from fuzz.laws import Subject, text
from fuzz.shapings import Shaped
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import View, Views
from louver.core.shaping.apply import Reshaping
from louver.core.shaping.options import Shaping
from louver.core.wrapper import WRAPPER
from strategies import JUDGE, ShapedTriple, Triple, shaped_triples, triples

if TYPE_CHECKING:
    from fuzz.judges import Judge


HAS_A_ONE_OF: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {"b": {"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 0}]}},
}
HAS_A_NOT = {"type": "object", "properties": {"b": {"type": "string", "not": {"maxLength": 0}}}}
NULL_ON_THE_WAY_TO_A_ONE_OF = ShapedTriple(
    "2020-12", {"properties": {"a": HAS_A_ONE_OF}}, {"a": None}, Shaping.read("v", {"select": {"c": "a.b"}})
)
NOTHING_IN_AN_ELEMENT_WITH_A_NOT = ShapedTriple(
    "2020-12",
    {"properties": {"a": {"type": "array", "items": HAS_A_NOT}}},
    {"a": [{}]},
    Shaping.read("v", {"select": {"c": "a.b"}}),
)


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
@given(shaped_triples())
@example(NULL_ON_THE_WAY_TO_A_ONE_OF)
@example(NOTHING_IN_AN_ELEMENT_WITH_A_NOT)
def test_what_a_shaping_makes_of_a_valid_value_satisfies_what_it_makes_of_the_schema(
    judge: Judge, triple: ShapedTriple
):
    """DERIVATION.md: *sound*, by both judges; and what else `fuzz.shapings` holds a triple to."""
    shaped = Shaped(Subject(triple.schema, triple.draft, judge), triple.shaping)
    assert list(shaped.broken(triple.value)) == [], shaped.derived.schema


@given(shaped_triples(), triples())
def test_a_view_that_leaves_out_and_then_shapes_is_sound_too(triple: ShapedTriple, other: Triple):
    """PROJECTION.md, "Views": the shaping comes after both kinds of paths."""
    paths = {other.request.mode: other.request.paths}
    views = Views({"v": View(paths.get("include", ()), paths.get("exclude", ()), triple.shaping)})
    plan = compile_projection(Projection(view="v"), triple.schema, views=views)
    accepts = JUDGE(plan.schema, "2020-12")
    assert accepts is not None
    assert accepts(plan(triple.value)), plan.schema


@given(shaped_triples())
def test_what_a_wrapper_holds_is_shaped_as_if_it_stood_alone(triple: ShapedTriple):
    """PROJECTION.md, "Where projection does not apply": the wrapper stays on the wire."""
    is_whole = isinstance(triple.schema, dict) and "$" in text(triple.schema)
    held = {} if is_whole or isinstance(triple.schema, bool) else triple.schema
    schema = {"type": "object", "properties": {WRAPPER: held}, "required": [WRAPPER]}
    views = Views({"v": View(shaping=triple.shaping)})
    plan = compile_projection(Projection(view="v"), schema, views=views)
    shaped = plan({WRAPPER: triple.value})
    assert text(shaped) == text({WRAPPER: Reshaping(triple.shaping, wrapped=False)(triple.value)})
    accepts = JUDGE(plan.schema, "2020-12")
    assert accepts is not None
    assert accepts(shaped), plan.schema


@given(shaped_triples())
def test_the_shaping_of_a_value_leaves_the_value_as_it_was(triple: ShapedTriple):
    before = text(triple.value)
    Reshaping(triple.shaping, wrapped=False)(triple.value)
    assert text(triple.value) == before
