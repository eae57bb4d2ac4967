"""The cost of a plan, counted before it is made: exact figures."""

from __future__ import annotations

from louver.core.paths.mask import mask_steps
from louver.core.projection.cost import MAX_COUNTED_STEPS, count_objects, plan_cost
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.limits import MAX_MASK_STEPS

NO_VIEWS = Views()


def test_the_objects_of_a_schema_are_counted_and_eight_elements_are_one_more():
    """TRUST.md, row 17: constants count too, and the elements of all lists together."""
    assert count_objects(None) == count_objects(True) == 0
    assert count_objects({}) == 1
    assert count_objects({"type": "object", "properties": {"a": {}, "b": {"const": {"c": 1}}}}) == 5
    assert count_objects({"enum": ["x"] * 7}) == 1
    assert count_objects({"anyOf": [{"enum": ["x"] * 7}, {"enum": ["x"] * 7}]}) == 5


def test_a_plan_costs_what_it_reads_of_the_schema_and_the_steps_of_its_paths():
    """TRUST.md, row 17: a wildcard reads all of the schema, and so does a name at any depth."""
    for request, cost, without_schema in (
        (Projection(include=["id"]), 1 + 100 * (8 + 1) + 20, 1 + 4),
        (Projection(include=["id", "user.login"]), 1 + 100 * (8 + 2) + 3 * 20, 1 + 3 * 4),
        (Projection(exclude=["user.login"]), 1 + 100 * (8 + 1) + 2 * 20, 1 + 2 * 4),
        (Projection(include=["*.id"]), 1 + 100 * (24 + 1 + 1) + 3 * 20, 1 + 3 * 4),
        (Projection(exclude=["**.id"]), 1 + 100 * (24 + 1 + 1) + 2 * 20, 1 + 2 * 4),
        (Projection(include=["$.a[0].id"]), 1 + 2 * 100 * (24 + 1 + 1) + 4 * 20, 1 + 4 * 4),
        (Projection(include=["$.a[?@.b].c", "$.a[?@.b].d"]), 1 + 2 * 100 * (24 + 2 + 2) + 8 * 20 + 13, 1 + 8 * 4 + 13),
    ):
        assert plan_cost(request, NO_VIEWS, 100) == cost
        assert plan_cost(request, NO_VIEWS, 0) == without_schema


def test_a_view_costs_what_its_paths_cost_and_an_unknown_one_next_to_nothing():
    """Ours: what is always added to an include is counted with it; an unknown view is refused without a plan."""
    views = Views.read({"both": {"include": ["id"], "exclude": ["**.x"]}, "less": {"exclude": ["id"]}}, ["next"])
    assert plan_cost(Projection(view="both"), views, 100) == 1 + 100 * (24 + 1 + 3) + 4 * 20
    assert plan_cost(Projection(view="less"), views, 100) == plan_cost(Projection(exclude=["id"]), NO_VIEWS, 100)
    alone = plan_cost(Projection(include=["id", "next"]), NO_VIEWS, 100)
    assert plan_cost(Projection(include=["id"]), views, 100) == alone
    assert plan_cost(Projection(exclude=["id"]), views, 100) == plan_cost(Projection(exclude=["id"]), NO_VIEWS, 100)
    assert plan_cost(Projection(view="other"), views, 100) == 1


def test_several_wildcards_cost_the_steps_of_their_masks_which_are_counted_so_far():
    """TRUST.md, row 17: together they make more states than they have steps; over 2,000 steps count as the most."""
    # The mask of what is not left out, too, takes a step.
    assert plan_cost(Projection(include=["*.a", "*.b"]), NO_VIEWS, 100) == 1 + 100 * (24 + 2 + 2) + 6 * 20 + 9 + 1
    assert plan_cost(Projection(include=["*.a", "*.b"]), NO_VIEWS, 0) == 1 + 6 * 4 + 9 + 1
    texts = [f"*.a{number}.*.b.*.c" for number in range(8)]
    few, many = Projection(include=[*texts]), Projection(exclude=[*texts])
    steps = mask_steps(few.fields, MAX_COUNTED_STEPS, exclude=False)
    assert steps is not None
    assert mask_steps(many.fields, MAX_COUNTED_STEPS, exclude=True) is None
    assert plan_cost(few, NO_VIEWS, 0) == 1 + 8 * (6 + 3) * 4 + steps + 1
    assert plan_cost(many, NO_VIEWS, 0) == 1 + 8 * (6 + 3) * 4 + 1 + MAX_MASK_STEPS
