"""Plans: a request made ready for one tool's output."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given

from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.core.schema.infer import infer
from louver.core.schema.relax import relax
from louver.core.wrapper import is_wrapped, schema_of_text, text_wrapper, text_wrapper_in
from louver.errors import ProjectionLimit, UnknownField, UnknownView
from strategies import JUDGE, Triple, triples

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "user": {"type": "object", "properties": {"login": {"type": "string"}, "email": {"type": "string"}}},
        "body": {"type": "string"},
        "nextCursor": {"type": "string"},
    },
}
VALUE: dict[str, Any] = {"id": 7, "user": {"login": "al", "email": "a@b.c"}, "body": "…", "nextCursor": "n"}


def test_a_plan_trims_values_and_says_what_they_are():
    plan = compile_projection(Projection(include=["user.login", "id"]), SCHEMA)
    assert plan(VALUE) == {"id": 7, "user": {"login": "al"}}
    assert plan.fields == ("id", "user.login")
    assert plan.unmatched == plan.excluded == plan.always == ()
    assert plan.precision == "exact"
    assert isinstance(plan.schema, dict)
    assert plan.schema["properties"].keys() == {"id", "user"}


def test_an_exclude_names_what_it_leaves_out():
    plan = compile_projection(Projection(exclude=["user.email", "**.body", "nope"]), SCHEMA)
    assert plan(VALUE) == {"id": 7, "user": {"login": "al"}, "nextCursor": "n"}
    assert plan.fields == ("nope", "user.email", "**.body")
    assert plan.excluded == ()
    assert plan.unmatched == ("nope",)


def test_without_a_schema_every_field_is_possible():
    """PROJECTION.md: without a schema `unmatched` is empty."""
    plan = compile_projection(Projection(include=["b", "a"], strict=True))
    assert plan({"b": 1, "c": 2}) == {"b": 1}
    assert plan.fields == ("a", "b")
    assert plan.unmatched == ()
    assert plan.precision == "shape"


def test_an_unknown_field_is_told_and_refused_where_the_request_is_strict():
    """PROJECTION.md: lenient default, named in the receipt; with `strict` the call is refused."""
    plan = compile_projection(Projection(include=["user.lgoin", "id"]), SCHEMA)
    assert plan.unmatched == ("user.lgoin",)
    assert plan.suggestions == {"user.lgoin": "user.login"}
    with pytest.raises(UnknownField, match=r"did you mean 'user\.login'") as refused:
        compile_projection(Projection(include=["user.lgoin"], strict=True), SCHEMA)
    assert refused.value.to_json()["unmatched"] == ["user.lgoin"]
    with pytest.raises(UnknownField, match=r"not a field of this tool's output$"):
        compile_projection(Projection(include=["zzz"], strict=True), SCHEMA)


def test_a_view_includes_then_excludes():
    """PROJECTION.md, "Views": exclude wins."""
    views = {"v": {"include": ["user", "id"], "exclude": ["user.email", "id"]}, "open": {"exclude": ["body"]}}
    plan = compile_projection(Projection(view="v"), SCHEMA, views=views)
    assert plan(VALUE) == {"user": {"login": "al"}}
    assert plan.fields == ("id", "user")
    assert plan.excluded == ("id", "user.email")
    assert compile_projection(Projection(view="open"), SCHEMA, views=views).fields == ("*",)
    with pytest.raises(UnknownView):
        compile_projection(Projection(view="w"), SCHEMA, views=views)


def test_what_the_author_always_keeps_is_added_unless_it_is_left_out():
    """PROJECTION.md: `always`, and "Order of power"."""
    views = Views.read({"v": {"include": ["id"], "exclude": ["nextCursor"]}}, always=["nextCursor"])
    plan = compile_projection(Projection(include=["id"]), SCHEMA, views=views)
    assert plan(VALUE) == {"id": 7, "nextCursor": "n"}
    assert plan.always == ("nextCursor",)
    assert compile_projection(Projection(include=["*"]), SCHEMA, views=views).always == ()
    assert compile_projection(Projection(exclude=["id"]), SCHEMA, views=views).always == ()
    left_out = compile_projection(Projection(view="v"), SCHEMA, views=views)
    assert left_out(VALUE) == {"id": 7}
    assert left_out.always == ()


def test_paths_that_are_too_many_together_are_refused_when_the_plan_is_made():
    texts = [".".join("*" if (bits >> at) & 1 else "a" for at in range(20)) for bits in range(1, 4000, 97)]
    with pytest.raises(ProjectionLimit):
        compile_projection(Projection(include=[*texts]))


def test_members_are_written_in_the_order_of_the_schema():
    plan = compile_projection(Projection(include=["user.login", "id", "body", "user.email", "*.x"]), SCHEMA)
    assert plan.fields == ("*.x", "id", "user.login", "user.email", "body")
    plan = compile_projection(Projection(include=["body", "id"]), SCHEMA)
    assert list(plan({"body": 1, "x": 2, "id": 3})) == ["id", "body"]


LABELS = {
    "type": "object",
    "properties": {
        "result": {"type": "array", "items": {"type": "object", "properties": {"name": True, "result": True}}}
    },
    "required": ["result"],
}


def test_the_wrapper_of_an_output_is_looked_through():
    """PROJECTION.md: `name` and `result.name` both work, the wrapper stays on the wire."""
    value = {"result": [{"name": "a", "x": 1}]}
    for path in ("name", "result.name"):
        plan = compile_projection(Projection(include=[path]), LABELS)
        assert plan(value) == {"result": [{"name": "a"}]}
        assert plan.fields == ("result.name",)
        assert plan.unmatched == ()
    for request, left in ((Projection(exclude=["*"]), []), (Projection(exclude=["name"]), [{"x": 1}])):
        plan = compile_projection(request, LABELS)
        assert plan(value) == {"result": left}
        accepts = JUDGE(plan.schema, "2020-12")
        assert accepts is not None
        assert accepts(plan(value))
    assert compile_projection(Projection(exclude=["**.x"]), LABELS)(value) == {"result": [{"name": "a"}]}
    assert compile_projection(Projection(include=["name"]), LABELS)({}) == {}
    assert compile_projection(Projection(include=["name"]), LABELS)([]) == []


def test_which_schema_only_wraps():
    """PROJECTION.md: the sole property `result`, required, in a root object; or the mark of FastMCP."""
    marked = {"type": "object", "properties": {"result": {}}, "x-fastmcp-wrap-result": True}
    assert is_wrapped(LABELS)
    assert is_wrapped(marked)
    for other in (
        None,
        True,
        {**LABELS, "type": ["object", "null"]},
        {**LABELS, "required": []},
        {**LABELS, "required": "result"},
        {**LABELS, "properties": {"result": True}},
        {**LABELS, "properties": {"result": {}, "x": {}}},
        {**LABELS, "properties": []},
    ):
        assert not is_wrapped(other)
    assert not is_wrapped({**LABELS, "properties": {"content": {}}, "required": ["content"]})


def test_which_schema_and_which_output_is_one_string_in_a_wrapper():
    """GATEWAY.md: JSON inside a string of `{"result"|"content": "..."}`."""

    def lone(name: str, type: str = "string") -> dict[str, Any]:
        return {"type": "object", "properties": {name: {"type": type}}, "required": [name]}

    assert text_wrapper(lone("result")) == "result"
    assert text_wrapper(lone("content")) == "content"
    for other in (LABELS, None, lone("text"), lone("content", "object"), {**lone("content"), "required": []}):
        assert text_wrapper(other) is None
    assert text_wrapper_in({"content": "x"}) == "content"
    assert text_wrapper_in({"result": "x"}) == "result"
    for other in ({"text": "x"}, {"content": ["x"]}, {"content": "x", "n": 1}, {}, ["x"], "x"):
        assert text_wrapper_in(other) is None
    assert schema_of_text(True, "content")["properties"]["content"]["contentSchema"] is True


@given(triples(), triples())
def test_what_a_plan_leaves_of_a_wrapped_output_satisfies_its_schema(triple: Triple, other: Triple):
    """Soundness with the wrapper: for a request, and for a view that includes and excludes."""
    assume(isinstance(triple.schema, dict) and "$ref" not in str(triple.schema) and "$id" not in triple.schema)
    assume("$dynamic" not in str(triple.schema))
    own = {"$schema": triple.schema["$schema"]} if "$schema" in triple.schema else {}
    schema = {**own, "type": "object", "properties": {"result": triple.schema}, "required": ["result"]}
    value = {"result": triple.value}
    includes = [pair.request.fields for pair in (triple, other) if pair.request.mode == "include"]
    excludes = [pair.request.fields for pair in (triple, other) if pair.request.mode == "exclude"]
    view = {"include": [*includes[0]]} if includes else {}
    view |= {"exclude": [*excludes[0]]} if excludes else {}
    for nothing in ({}, {"exclude": ["*"]}):
        plan = compile_projection(Projection(view="v"), schema, views={"v": {**view, **nothing}})
        for document in (plan.schema, relax(schema)):
            accepts = JUDGE(document, "2020-12")
            assert accepts is not None
            assert accepts(plan(value)), (document, plan(value))


def test_a_schema_that_breaks_a_bound_is_answered_with_the_shape_through_a_view_too():
    deep: Any = True
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    plan = compile_projection(Projection(view="v"), deep, views={"v": {"include": ["a"], "exclude": ["a.b"]}})
    assert plan.precision == "shape"


MESSAGES: dict[str, Any] = {
    "type": "object",
    "required": ["messages"],
    "properties": {
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "created", "content"],
                "properties": {
                    "id": {"type": "string"},
                    "created": {"type": "string", "format": "date-time"},
                    "content": {"type": ["string", "null"]},
                    "secret": {"type": "string"},
                },
            },
        },
        "nextCursor": {"type": "string"},
        "note": {"type": "string"},
    },
}
COMPACT: dict[str, Any] = {
    "include": ["messages"],
    "exclude": ["messages.secret"],
    "select": {"on": {"path": "created", "format": "date"}, "text": "content", "secret": "secret"},
    "at": "messages",
    "maxItems": 2,
    "maxString": 4,
    "dropNulls": True,
}


def test_a_view_shapes_what_its_paths_leave():
    """001 pattern 4: leave out, select, cut; what is left out cannot be selected."""
    plan = compile_projection(Projection(view="v"), MESSAGES, views=Views.read({"v": COMPACT}, ["nextCursor"]))
    message = {"id": "a", "created": "2025-01-05T14:32:05Z", "content": "Hello", "secret": "s"}
    value = {"messages": [message, {**message, "content": None}, message], "nextCursor": "n", "note": "x"}
    assert plan(value) == {"messages": [{"on": "202…", "text": "Hel…"}, {"on": "202…"}], "nextCursor": "n"}
    assert plan.schema == {
        "type": "object",
        "required": ["messages"],
        "properties": {
            "messages": {
                "type": "array",
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "required": ["on"],
                    "properties": {
                        "on": {"type": "string", "maxLength": 4},
                        "text": {"type": "string", "maxLength": 4},
                    },
                    "additionalProperties": False,
                },
            },
            "nextCursor": {"type": "string", "maxLength": 4},
        },
        "additionalProperties": False,
    }
    assert plan.precision == "exact"
    assert (plan.fields, plan.excluded, plan.always) == (("messages",), ("messages.secret",), ("nextCursor",))
    assert plan.shaped == {key: COMPACT[key] for key in ("select", "at", "maxItems", "maxString", "dropNulls")}
    assert compile_projection(Projection(include=["messages"]), MESSAGES).shaped is None


def test_a_view_that_only_shapes_keeps_everything():
    plan = compile_projection(Projection(view="v"), MESSAGES, views={"v": {"maxItems": 1}})
    assert plan({"messages": [{"id": "a"}, {"id": "b"}], "x": [1, 2]}) == {"messages": [{"id": "a"}], "x": [1]}
    assert (plan.fields, plan.nodes, plan.is_generated) == (("*",), 1, False)
    assert isinstance(plan.schema, dict)
    assert plan.schema["properties"]["messages"]["maxItems"] == 1


def test_a_shaped_plan_gets_fast_too():
    plan = compile_projection(Projection(view="v"), MESSAGES, views={"v": COMPACT})
    value = {"messages": [{"created": "2025-01-05T14:32:05Z", "content": "Hi", "n": 1}]}
    assert [plan(value) for _ in range(5)] == [{"messages": [{"on": "202…", "text": "Hi"}]}] * 5


def test_always_is_told_as_far_as_the_selecting_leaves_it():
    """PROJECTION.md, item 10; where members are selected, these are all that there is."""
    views = Views.read(
        {"root": {"include": ["messages"], "select": {"m": "messages"}}, "below": {**COMPACT, "exclude": ["note"]}},
        ["nextCursor", "messages.id"],
    )
    told = {name: compile_projection(Projection(view=name), MESSAGES, views=views).always for name in views.named}
    assert told == {"root": (), "below": ("nextCursor",)}


def test_in_a_wrapper_the_place_may_be_written_with_it_or_without():
    """PROJECTION.md, "Where projection does not apply"."""
    schema = {"type": "object", "properties": {"result": MESSAGES}, "required": ["result"]}
    value = {"result": {"messages": [{"id": "a", "content": "Hello"}], "note": "x"}}
    for at in ("messages", "result.messages"):
        views = Views.read({"v": {"select": {"is": "id"}, "at": at, "maxItems": 5}}, ["result.messages.content"])
        plan = compile_projection(Projection(view="v"), schema, views=views)
        assert plan(value) == {"result": {"messages": [{"is": "a"}], "note": "x"}}
        assert plan({"result": None}) == {"result": None}
        assert plan({}) == {}
        assert plan([1]) == [1]
    views = Views.read({"v": {"include": ["messages"], "select": {"m": "messages.id"}}}, ["messages.id"])
    plan = compile_projection(Projection(view="v"), schema, views=views)
    assert plan(value) == {"result": {"m": ["a"]}}
    assert plan.always == ()


def test_a_shaped_schema_that_is_too_much_is_one_of_the_names():
    """DERIVATION.md: sound, and the receipt says so."""
    deep: Any = {"type": "string"}
    for _ in range(300):
        deep = {"anyOf": [deep]}
    schema = {"type": "object", "properties": {"a": deep}}
    plan = compile_projection(Projection(view="v"), schema, views={"v": {"select": {"b": "a"}, "maxString": 3}})
    assert plan.precision == "shape"
    assert isinstance(plan.schema, dict)
    accepts = JUDGE(plan.schema, "2020-12")
    assert accepts is not None
    assert accepts({"b": "ab…"})
    assert not accepts({"a": "ab"})
    assert not accepts({"b": "abcd"})


def test_what_is_seen_of_a_shaped_value_closes_it():
    """Ours: where nothing is declared, the schema is that of this answer."""
    plan = compile_projection(Projection(view="v"), views={"v": COMPACT})
    kept = plan({"messages": [{"created": "2025-01-05", "content": "Hello", "n": 1}], "note": "x"})
    knows = plan.knowing(infer([kept]))
    assert knows({"messages": [{"content": "Hi"}]}) == {"messages": [{"text": "Hi"}]}
    assert knows.is_inferred
    assert knows.schema == {
        "type": "object",
        "required": ["messages"],
        "properties": {
            "messages": {
                "type": "array",
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "required": ["on", "text"],
                    "properties": {
                        "on": {"type": "string", "maxLength": 4},
                        "text": {"type": "string", "maxLength": 4},
                    },
                    "additionalProperties": False,
                },
            }
        },
        "additionalProperties": False,
    }
