"""The budget of plans: TRUST.md, row 17."""

from types import SimpleNamespace

import pytest
from anyio.lowlevel import checkpoint

from louver.catalogue.entry import Entry
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.errors import ProjectionLimit
from louver.limits import MAX_PLAN_COST, PLAN_COST_A_SECOND
from louver.steps.calls.planning import Planning

pytestmark = pytest.mark.anyio

ANN, BOB = SimpleNamespace(peer="ann"), SimpleNamespace(peer="bob")


def entry(fields):
    schema = {"type": "object", "properties": {f"f{number}": {"type": "string"} for number in range(fields)}}
    return Entry({"name": "t", "inputSchema": {}, "outputSchema": schema}, Views())


async def new_plans(planning, of, number):
    for each in range(number):
        await planning.check(of, Projection(exclude=[f"**.x{each}"]), ANN)


async def test_a_request_that_costs_too_much_is_refused_and_nothing_is_planned():
    large = entry(3000)
    wanted = Projection(exclude=[*(f"**.x{number}" for number in range(256))])
    with pytest.raises(ProjectionLimit, match="name fewer field paths") as refused:
        await Planning().check(large, wanted, ANN)
    assert refused.value.fields["limit"] == MAX_PLAN_COST
    assert large.cost_of_check(wanted) > MAX_PLAN_COST


async def test_the_elements_of_a_schema_count_too():
    schema = {"type": "object", "properties": {"a": {"enum": list(range(40_000))}}}
    many = Entry({"name": "t", "inputSchema": {}, "outputSchema": schema}, Views())
    assert (many.objects, Entry({"name": "t", "inputSchema": {}}, Views()).objects) == (5003, 0)
    with pytest.raises(ProjectionLimit, match="ask again"):
        await new_plans(Planning(lambda: 0.0), many, 100)


async def test_new_plans_are_limited_for_each_caller_and_kept_ones_are_free():
    now = 0.0
    planning, large = Planning(lambda: now), entry(3000)
    with pytest.raises(ProjectionLimit, match="ask again") as refused:
        await new_plans(planning, large, 100)
    await planning.check(large, Projection(exclude=["**.x0"]), ANN)
    await planning.check(large, Projection(exclude=["**.y"]), BOB)
    now = refused.value.fields["retryAfterSeconds"]
    assert refused.value.fields["limit"] == PLAN_COST_A_SECOND
    await planning.check(large, Projection(exclude=["**.z"]), ANN)


async def test_256_new_field_paths_one_after_the_other_meet_no_limit():
    planning, usual = Planning(lambda: 0.0), entry(150)
    await planning.check(usual, Projection(include=[*(f"f{number}" for number in range(150))]), ANN)
    for number in range(256):
        await planning.check(usual, Projection(include=[f"f{number % 150}", f"g{number}"]), ANN)
        await checkpoint()
