"""Arguments of a tool, read by its input schema."""

import json

import pytest

from louver.cli.tool_arguments import from_json, split, typed
from louver.errors import InvalidInput

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "maximum": 100},
        "score": {"type": "number"},
        "flag": {"type": "boolean"},
        "note": {"type": "string"},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
        "state": {"enum": ["open", "closed"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filter": {"$ref": "#/$defs/filter"},
        "either": {"type": ["integer", "string"]},
        "page": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "anything": {},
    },
    "$defs": {"filter": {"type": "object", "properties": {"days": {"type": "integer"}}}},
}


def read(*pairs, schema=SCHEMA, json_args=None):
    return typed(split(pairs), from_json(json_args), schema)


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("id=42", 42),
        ("id=-1", -1),
        ("score=1.5", 1.5),
        ("flag=true", True),
        ("note=42", "42"),
        ("note=true", "true"),
        ("note=", ""),
        ("note=a=b", "a=b"),
        ('note="quoted"', '"quoted"'),
        ("state=open", "open"),
        ('tags=["a","b"]', ["a", "b"]),
        ('filter={"days": 3}', {"days": 3}),
        ("either=42", 42),
        ("either=x", "x"),
        ("page=null", None),
        ("anything=[1]", [1]),
        ("anything=[1", "[1"),
        ('output_fields=["id"]', ["id"]),
    ],
)
def test_a_value_is_json_where_the_schema_admits_its_type_and_otherwise_text(pair, value):
    """Ours."""
    assert read(pair) == {pair.partition("=")[0]: value}


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["id=x"], "argument 'id': expected integer"),
        (["id=1.5"], "argument 'id': expected integer"),
        (["id=101"], "argument 'id': the value is greater than the maximum of 100"),
        (["flag=yes"], "argument 'flag': expected boolean"),
        (["state=opne"], 'argument \'state\': expected "open" | "closed"'),
        (["tags=a"], "argument 'tags': expected array of string"),
        (["tags=[1]"], "argument 'tags': expected array of string"),
        (['filter={"days": "T1"}'], "argument 'filter.days': expected integer"),
        (["page=x"], "argument 'page': expected integer | null"),
        (["code=T1"], "argument 'code': the value does not match \"^[a-z]+$\""),
        (["idd=1"], "the tool takes no argument 'idd': did you mean 'id'?"),
        (["id"], "an argument of the tool is NAME=VALUE, for example user_id=42; a command goes after '--'"),
        (['{"id": 1}'], "a JSON object goes to --json-args"),
        (["=1"], "an argument of the tool is NAME=VALUE"),
        (["id=1", "id=2"], "argument 'id' is there twice"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_expected(pairs, told):
    """Ours: no value is repeated."""
    with pytest.raises(InvalidInput) as refused:
        read(*pairs)
    assert told in refused.value.message
    assert "T1" not in refused.value.message


def test_missing_arguments_are_told():
    """Ours."""
    schema = {**SCHEMA, "required": ["id", "gone"]}
    with pytest.raises(InvalidInput, match="argument 'id' is missing: expected integer"):
        read("note=a", schema=schema)
    with pytest.raises(InvalidInput, match="argument 'gone' is missing: expected another value"):
        read("id=1", schema=schema)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},  # as a tool is listed whose description is on demand
        {**SCHEMA, "additionalProperties": {}},
        {**SCHEMA, "patternProperties": {}},
    ],
)
def test_other_names_are_taken_where_the_schema_says_so_or_says_nothing(schema):
    """Ours: the server decides."""
    assert read("other=1", "more=x", schema=schema) == {"other": 1, "more": "x"}


def test_a_schema_that_cannot_be_read_refuses_nothing():
    """Ours: the server decides."""
    assert read("a=1", schema={"properties": {"a": {"type": 7}}}) == {"a": 1}
    strange = {"$schema": "https://example.com/mine", "properties": {"a": {"type": "string"}}}
    assert read("a=b", schema=strange) == {"a": "b"}


def test_an_object_in_json_joins_them(tmp_path):
    """Ours: its names and types are checked alike."""
    assert read("id=1", json_args='{"tags": ["a"]}') == {"tags": ["a"], "id": 1}
    file = tmp_path / "arguments.json"
    file.write_text(json.dumps({"note": "a"}))
    assert read(json_args=f"@{file}") == {"note": "a"}
    with pytest.raises(InvalidInput, match="argument 'id' is there twice: as NAME=VALUE, and in --json-args"):
        read("id=1", json_args='{"id": 1}')
    with pytest.raises(InvalidInput, match="argument 'id': expected integer"):
        read(json_args='{"id": "1"}')
    with pytest.raises(InvalidInput, match="takes no argument 'idd'"):
        read(json_args='{"idd": 1}')
    file.write_text("[]")
    with pytest.raises(InvalidInput, match="--json-args takes one JSON object"):
        read(json_args=f"@{file}")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(json_args="@nowhere.json")
