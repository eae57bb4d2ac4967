"""Laws of the judging, on generated (schema, value, request) triples, and what may be applied in bounded work."""

import pytest
from hypothesis import assume, given
from jsonschema import Draft202012Validator

import louver
from louver.catalogue.plan_cache import Plans
from louver.client.answer import judge
from louver.client.tools import KnownTool
from louver.client.validation_cost import is_affordable
from louver.core.projection.view import Views
from louver.core.schema.relax import relax
from louver.core.wrapper import is_wrapped
from louver.wire.projection import Applied
from strategies import Triple, triples


def listed(schema, **hint):
    return {"name": "t", "inputSchema": {}, "outputSchema": schema, "_meta": {"dev.louver/projectionHint": hint}}


def conversation(triple, *, loosened):
    """A tool as a client knows it, a request, its plan at the server, and the honest answer."""
    assume(isinstance(triple.schema, dict) and not is_wrapped(triple.schema))
    projection = louver.Projection.from_wire({"mode": triple.request.mode, "fields": list(triple.request.fields)})
    plan = louver.compile_projection(projection, triple.schema)
    shown = relax(triple.schema)
    assume(not loosened or isinstance(shown, dict))
    hint = {} if loosened else {"outputSchema": triple.schema}
    tool = KnownTool(listed(shown, **hint), Plans(), declared=True)
    return tool, projection, plan, answer(plan, projection, plan(triple.value))


def answer(plan, projection, value):
    said = Applied(mode=projection.mode, fields=list(plan.fields), projected_schema=plan.schema)
    return {"content": [], "structuredContent": value, "_meta": {"projection": said.to_wire()}}


def check_honest(triple, *, loosened):
    tool, projection, plan, result = conversation(triple, loosened=loosened)
    judged = judge(tool, projection, result, prune=False)
    assert judged.applied
    assert judged.exact or loosened
    held = judged.checked_against(plan.schema)
    for each in (judged, held):
        value, schema = each.unwrapped()
        Draft202012Validator.check_schema(schema)
        assert Draft202012Validator(schema).is_valid(value)


@given(triples())
def test_an_honest_answer_is_taken(triple: Triple):
    """Ours: whatever the schema, from the exact one, with what is told or without."""
    check_honest(triple, loosened=False)


@given(triples())
def test_an_honest_answer_is_taken_where_the_listed_schema_is_loosened(triple: Triple):
    """Ours."""
    check_honest(triple, loosened=True)


@given(triples())
def test_an_answer_that_holds_more_is_not(triple: Triple):
    """Ours: the whole value, with the receipt of a part."""
    tool, projection, plan, result = conversation(triple, loosened=True)
    assume(plan(triple.value) != triple.value)
    with pytest.raises(louver.errors.InvalidAnswer, match="more than was asked for"):
        judge(tool, projection, {**result, "structuredContent": triple.value}, prune=False)


@given(triples())
def test_what_is_pruned_here_is_what_the_server_would_have_kept(triple: Triple):
    """Ours: `minimize`."""
    assume(isinstance(triple.schema, dict))
    projection = louver.Projection.from_wire({"mode": triple.request.mode, "fields": list(triple.request.fields)})
    plan = louver.compile_projection(projection, triple.schema)
    tool = KnownTool({"name": "t", "inputSchema": {}, "outputSchema": triple.schema}, Plans(), declared=False)
    judged = judge(tool, projection, {"content": [], "structuredContent": triple.value}, prune=True)
    assert judged.value == plan(triple.value)
    assert judged.pruned == (judged.value != triple.value)
    assert Draft202012Validator(judged.schema).is_valid(judged.value)


@given(triples())
def test_what_is_generated_can_be_applied(triple: Triple):
    """Ours: the bound is for schemas that nobody writes by hand."""
    schema = louver.compile_projection(louver.Projection(include=["*"]), triple.schema).schema
    assert is_affordable(schema, triple.value, 1)


OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "value", "affordable"),
    [
        (True, {}, True),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, 1, True),
        (
            {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}},
            ["x"] * 10_000,
            True,
        ),
        (
            {"items": {"not": {"enum": [1]}}, "prefixItems": [True], "contains": {}, "unevaluatedItems": False},
            [[1]],
            True,
        ),
        ({"properties": {"a": {}}, "patternProperties": {"b": {}}, "propertyNames": {}}, {"a": 1, "b": 2}, True),
        (
            {"$ref": "#/$defs/l", "$defs": {"l": {"allOf": [{"properties": {"a": {"$ref": "#/$defs/l"}}}] * 2}}},
            "deep",
            False,
        ),
    ],
)
def test_the_ways_through_a_schema_are_counted_not_gone(schema, value, affordable):
    """Ours: two references a level are 2^40 ways through a value of 40 levels."""
    if value == "deep":
        value = {}
        for _ in range(40):
            value = {"a": value}
    assert is_affordable(schema, value, 10_000 if isinstance(value, list) else 1) is affordable


PERSON = {"type": "object", "properties": {"name": {"type": "string"}}}
LIKE_A_WRAPPER = {"type": "object", "properties": {"result": PERSON}, "required": ["result"]}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("fields", "value", "left"),
    [
        (["*.name"], {"result": {"name": "Ann"}, "x": "s"}, {"result": {"name": "Ann"}}),
        (["*.name", "result.x"], {"result": {"name": "Ann"}, "x": "s"}, {"result": {"name": "Ann"}}),
        (["token.x"], {"result": {"name": "Ann"}, "token": "s"}, {}),
        (["name", "token.x"], {"result": {"name": "Ann"}, "token": "s"}, {"result": {"name": "Ann"}}),
        (["name", "token"], {"result": {"name": "Ann"}, "token": "s"}, {"result": {"name": "Ann"}, "token": "s"}),
    ],
)
def test_what_is_left_of_an_object_may_look_like_the_wrapper(fields, value, left, exact):
    """Ours: the receipt tells how the paths were read; more than that is still refused."""
    projection = louver.Projection(include=[*fields])
    plan = louver.compile_projection(projection, LIKE_A_WRAPPER).for_value(value)
    assert plan(value) == left
    hint = {"outputSchema": LIKE_A_WRAPPER} if exact else {}
    tool = KnownTool(listed(LIKE_A_WRAPPER if exact else relax(LIKE_A_WRAPPER), **hint), Plans(), declared=True)
    judged = judge(tool, projection, answer(plan, projection, left), prune=False)
    assert judged.checked_against(plan.schema).value == left
    with pytest.raises(louver.LouverError):
        judge(tool, projection, answer(plan, projection, {**left, "email": "ann@example.com"}), prune=False)


@pytest.mark.parametrize("told", [{"fields": ["a..b"]}, {"always": ["a..b"]}])
def test_paths_of_a_receipt_that_cannot_be_read_are_an_invalid_answer(told):
    """Ours: also where they tell how the request was read."""
    tool = KnownTool(listed(LIKE_A_WRAPPER), Plans(), declared=True).with_views(Views.read({"v": ["name"]}))
    said = {"applied": True, "mode": "view", "view": "v", "fields": ["name"], **told}
    result = {"content": [], "structuredContent": {"email": "s"}, "_meta": {"projection": said}}
    with pytest.raises(louver.errors.InvalidAnswer):
        judge(tool, louver.Projection(view="v"), result, prune=False)
