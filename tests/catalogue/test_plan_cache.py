"""Plans are shared by what they depend on, and bounded by number and by size."""

from __future__ import annotations

from typing import Any

import pytest

from louver.catalogue import plan_cache as plans_module
from louver.catalogue.entry import Entry
from louver.catalogue.plan_cache import Plans, ReadyPlan
from louver.core.projection.request import Projection
from louver.core.projection.view import Views

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}


def entry(plans: Plans, name: str = "t", schema: Any = SCHEMA, views: dict[str, Any] | None = None) -> Entry:
    tool = {"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema}
    return Entry(tool, Views.read(views or {}), plans=plans)


def ready(entry: Entry, *fields: str) -> ReadyPlan:
    return entry.plan(Projection(include=[*fields]))


def test_tools_with_one_schema_share_their_plans():
    """Ours: also a tool that is listed anew."""
    plans = Plans()
    assert ready(entry(plans), "id") is ready(entry(plans, "other"), "id")


def test_what_a_plan_depends_on_sets_it_apart():
    """Schema, views, mode, fields and strictness; not how the schema is told."""
    plans = Plans()
    tool = entry(plans, views={"v": ["id"]})
    first = ready(tool, "id")
    assert tool.plan(Projection(include=["id"], schema="none", required=True)) is first
    others = [
        ready(entry(plans, schema={**SCHEMA, "required": ["id"]}, views={"v": ["id"]}), "id"),
        ready(entry(plans, views={"v": ["name"]}), "id"),
        tool.plan(Projection(exclude=["id"])),
        tool.plan(Projection(view="v")),
        tool.plan(Projection(include=["id"], strict=True)),
        tool.plan_inferred(Projection(include=["id"]), SCHEMA),
        tool.plan_without_schema(Projection(include=["id"])),
        ready(tool, "name"),
    ]
    assert len({id(plan) for plan in [first, *others]}) == 9


def test_what_an_inferred_plan_depends_on_sets_it_apart():
    """Ours: the inferred schema, where the value stands, and views."""
    plans = Plans()
    text = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    asked, tool = Projection(include=["id"]), entry(plans, schema=text)
    first = tool.plan_inferred(asked, SCHEMA, "result", with_wrapper=True)
    assert (
        entry(plans, "other").plan_inferred(asked, dict(reversed(SCHEMA.items())), "result", with_wrapper=True) is first
    )
    others = [
        tool.plan_inferred(asked, {**SCHEMA, "required": ["id"]}, "result", with_wrapper=True),
        tool.plan_inferred(asked, SCHEMA, "content", with_wrapper=True),
        tool.plan_inferred(asked, SCHEMA, "result"),
        entry(plans, views={"v": ["name"]}).plan_inferred(asked, SCHEMA, "result", with_wrapper=True),
    ]
    assert len({id(plan) for plan in [first, *others]}) == 5


def test_a_plan_that_two_make_at_once_is_counted_once(monkeypatch: pytest.MonkeyPatch):
    """Ours: large answers are planned in threads, and nobody waits for what another makes."""
    plans, tool = Plans(), entry(Plans())
    made, other = ready(tool, "id"), ready(tool, "name")
    monkeypatch.setattr(plans_module, "MAX_PLAN_NODES", made.nodes + other.nodes)
    plans.find("t", lambda: plans.find("t", lambda: made))
    plans.find("u", lambda: other)
    for key, plan in (("t", made), ("u", other)):
        assert plans.find(key, lambda: pytest.fail("it was pushed out")) is plan


def test_the_order_of_properties_sets_a_plan_apart():
    """Members are written in that order, so equal requests must not get another tool's."""
    plans = Plans()
    other = {"type": "object", "properties": dict(reversed(SCHEMA["properties"].items()))}
    for schema in (SCHEMA, other):
        plan = ready(entry(plans, schema=schema), "id", "name").plan
        assert list(plan({"id": 1, "name": "Ann"})) == list(schema["properties"])
        assert list(plan.fields) == list(schema["properties"])


def test_the_plans_that_were_not_used_for_longest_go_first(monkeypatch: pytest.MonkeyPatch):
    """Ours: a client cannot fill the memory with requests."""
    monkeypatch.setattr(plans_module, "MAX_PLANS", 3)
    tool = entry(Plans())
    first, second = ready(tool, "id"), ready(tool, "name")
    ready(tool, "f")
    assert ready(tool, "id") is first
    ready(tool, "one.more")
    assert ready(tool, "id") is first
    assert ready(tool, "name") is not second


def test_large_plans_push_others_out_sooner(monkeypatch: pytest.MonkeyPatch):
    """Ours: by the nodes of masks and the values of schemas; one plan always stays."""
    wide = {"type": "object", "properties": {f"p{n}": {"type": "integer", "minimum": n} for n in range(100)}}
    plans = Plans()
    narrow, broad = entry(plans), entry(plans, schema=wide)
    first = ready(narrow, "id")
    large = ready(broad, *(f"p{n}" for n in range(100)))
    assert first.nodes < 20
    assert large.nodes > 300
    monkeypatch.setattr(plans_module, "MAX_PLAN_NODES", large.nodes)
    assert ready(narrow, "id") is first
    ready(narrow, "name")
    assert ready(broad, *(f"p{n}" for n in range(100))) is not large
    assert ready(narrow, "id") is not first
