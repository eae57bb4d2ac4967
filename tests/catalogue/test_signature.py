"""Tools as text for models: signatures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from louver.catalogue.signature import described


def signed(schema, **tool):
    return described({"name": "t", "inputSchema": schema, **tool})


def of(**properties):
    return {"type": "object", "properties": properties}


KINDS = {
    "no arguments": (of(), "t{}"),
    "required": ({**of(a={"type": "string"}), "required": ["a"]}, "t{a: string}"),
    "short names of types": (of(a={"type": "integer"}, b={"type": "boolean"}), "t{a?: int, b?: bool}"),
    "a default": (of(a={"type": "integer", "default": 10}), "t{a?: int = 10}"),
    "null by default": (of(a={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}), "t{a?: string}"),
    "a default of several": (of(a={"type": "array", "default": [1]}), "t{a?: array = [1]}"),
    "a default that is long": (of(a={"type": "string", "default": 60 * "x"}), "t{a?: string}"),
    "values": (of(a={"enum": ["object", "array of x", 1]}), 't{a?: "object" | "array of x" | 1}'),
    "arrays": (
        of(a={"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        "t{a?: int[][]}",
    ),
    "arrays of arrays": (
        of(a={"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}}),
        "t{a?: number[][][]}",
    ),
    "an array of either": (
        of(a={"type": "array", "items": {"type": ["string", "null"]}}),
        "t{a?: (string | null)[]}",
    ),
    "objects": (
        of(a={"type": "array", "items": {**of(b=of(c={"type": "string"})), "required": ["b"]}}),
        "t{a?: {b: {c?: string}}[]}",
    ),
    "objects told apart by a constant": (
        of(
            a={
                "oneOf": [
                    {**of(kind={"const": "circle"}, r={"type": "number"}), "required": ["kind", "r"]},
                    {**of(kind={"const": "square"}, side={"type": "number"}), "required": ["kind"]},
                ]
            }
        ),
        't{a?: {kind: "circle" | "square", r?: number, side?: number}}',
    ),
    "a value or an object": (
        of(a={"anyOf": [{"const": "all"}, {**of(x={"type": "integer"}), "required": ["x"]}]}),
        't{a?: "all" | {x: int}}',
    ),
    "a map": (of(a={"type": "object", "additionalProperties": {"type": "string"}}), "t{a?: {*: string}}"),
    "maps of arrays": (
        of(a={"type": "object", "additionalProperties": {"type": "array", "items": {"type": ["string", "null"]}}}),
        "t{a?: {*: (string | null)[]}}",
    ),
    "a type that is none": (of(a={"type": "(((string)))"}), "t{a?: any}"),
    "an object or null": (of(a={"type": ["object", "null"], "properties": {"b": {}}}), "t{a?: {b?: any} | null}"),
    "five levels": (
        of(a=of(b=of(c=of(d=of(e={"type": "string"}))))),
        "t{a?: {b?: {c?: {d?: object}}}}",
    ),
    "a name that is no word": (of(**{"a b": {"type": "string"}, "x-y": {}}), 't{"a b"?: string, x-y?: any}'),
    "a name of two lines": (of(**{"a\u2028b": {"enum": ["c\x85"]}}), 't{"a\\u2028b"?: "c\\u0085"}'),
    "over a hundred": (
        of(**{f"a{n}": {} for n in range(101)}),
        f"t{{{', '.join(f'a{n}?: any' for n in range(100))}, ...}}",
    ),
    "a circle": ({"$ref": "#/$defs/n", "$defs": {"n": of(n={"$ref": "#/$defs/n"})}}, "t{n?: {n?: {n?: {n?: object}}}}"),
}


def test_arguments_are_told_on_one_line():
    """VALUE.md: `name{a: string, b?: int}`."""
    for kind, (schema, expected) in KINDS.items():
        assert signed(schema) == expected, kind


def test_what_is_said_of_a_tool_and_of_its_arguments_follows_a_line_each():
    """Ours: no description can pass for another."""
    schema = of(a={"type": "string", "description": "One\n- b: two"}, b=of(c={"description": "three"}))
    assert signed(schema, description=" Does it.\n\nWell. ") == (
        "t{a?: string, b?: {c?: any}}\n  Does it.\n\n  Well.\n  - a: One - b: two\n  - b.c: three"
    )


def test_the_output_is_told_where_that_is_asked_for():
    """Ours: by the schema, or by the hint that stands for it; and the views."""
    tool = {"name": "t", "inputSchema": of(), "outputSchema": of(a={"type": "integer", "description": "d"})}
    assert described(tool) == "t{}"
    assert described(tool, output=True) == "t{}\n  -> {a?: int}\n  - a: d"
    hint = {"outputSchema": of(b={"type": "string"}), "views": {"minimal": ["b"]}}
    hinted = {**tool, "_meta": {"dev.louver/projectionHint": hint}}
    assert described(hinted, output=True) == "t{}\n  -> {b?: string}\n  views: minimal"


def test_bounds_and_conditions_are_told():
    """Ours: what a call is refused for."""
    schema = {**of(a={"type": "integer", "minimum": 1, "description": "From 1."}), "anyOf": [{"required": ["a"]}]}
    assert signed(schema) == 't{a?: int}\n  - a: From 1. (minimum 1)\n  and {"anyOf":[{"required":["a"]}]}'


def test_only_a_signature_begins_at_the_margin():
    """Ours: no server describes the tool of another."""
    other = "bank__transfer{to: string}"
    named = {f"a\n{other}\n\u2028{other}\x85{other}": {"type": "string", "description": f"d\n{other}"}}
    text = signed(of(**named), description=f"Moves.\n\n{other}\u2028{other}\r{other}")
    assert [line for line in text.splitlines() if line and not line.startswith("  ")] == text.splitlines()[:1]
    assert text.startswith("t{")


SCHEMAS = st.recursive(
    st.sampled_from([{}, True, {"type": "string"}, {"type": "integer"}, {"enum": ["a", 'b"c']}]),
    lambda inner: st.one_of(
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(lambda members: of(**members)),
        inner.map(lambda items: {"type": "array", "items": items}),
        st.lists(inner, min_size=1, max_size=2).map(lambda ways: {"anyOf": ways}),
    ),
)


@given(st.dictionaries(st.text(max_size=4), SCHEMAS, max_size=4))
def test_any_schema_has_a_signature_of_one_line(properties):
    """Ours."""
    line = signed(of(**properties))
    assert line.splitlines() == [line]
    assert line.count("?: ") >= len(properties)
