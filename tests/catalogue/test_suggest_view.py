"""A view that is made from answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from core.preview.test_field_sizes import values
from louver.catalogue.files.views import COMPACT, ViewFile
from louver.catalogue.suggest_view import suggest
from louver.core.preview.field_sizes import size_of
from louver.core.preview.preview import HEAVY_CHARACTERS
from louver.core.schema.infer import infer
from louver.limits import MAX_PATH_CHARACTERS, MAX_PATHS
from louver.shipped import folder

LONG = (HEAVY_CHARACTERS + 1) * "x"
SCHEMA = json.loads((folder("schemas") / "view-file.schema.json").read_text("utf-8"))


def answer(*numbers, kind="bug"):
    return {"items": [{"id": number, "kind": kind, "body": LONG} for number in numbers]}


def include(suggestion):
    return suggestion.file()["views"][COMPACT]["include"]


def test_a_suggestion_says_what_weighs_and_what_its_view_saves():
    """Ours: bytes are those of the answers, without white space."""
    found = suggest("list", None, [answer(1, 2)])
    assert (found.tool, found.samples, found.full) == ("list", 1, size_of(answer(1, 2)))
    assert found.kept == size_of({"items": [{"id": 1}, {"id": 2}]})
    assert found.saved == 1 - found.kept / found.full
    assert {str(path): why for path, why in found.left_out.items()} == {
        "items.kind": "constant",
        "items.body": "long text",
    }
    assert [str(leaf.path) for leaf in found.leaves] == ["items.id", "items.kind", "items.body"]


def test_several_answers_are_weighed_together():
    """Ours: what is constant in one need not be so in all."""
    assert include(suggest("list", None, [answer(1, 2)])) == ["items.id"]
    assert include(suggest("list", None, [answer(1, 2), answer(3, 4, kind="wish")])) == ["items.id", "items.kind"]
    assert suggest("list", None, [answer(1, 2), {"items": []}]).samples == 2


def test_elements_of_a_root_array_are_weighed_alike():
    """Ours."""
    assert include(suggest("list", None, [[{"id": 1, "body": LONG}, {"id": 2, "body": LONG}]])) == ["id"]


def test_there_is_no_view_that_would_save_nothing():
    """Ours: nothing or all would be left out, or what takes its place is as large."""
    for value in ({"id": 1}, {"body": LONG}, [1, 2, 3, 4, {"a": 1, "b": None}]):
        found = suggest("t", None, [value])
        assert found.file() is None
        assert (found.include, found.kept) == ((), found.full)
        assert found.saved == 0


@pytest.mark.parametrize("value", [[], {}, [1, 2], [[]], "x", None])
def test_what_has_no_fields_has_no_suggestion(value):
    """Ours."""
    assert suggest("t", None, [value]) is None


def test_a_field_that_the_schema_cannot_have_is_not_suggested():
    """Ours: the file would be refused where it is used."""
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "body": {"type": "string"}}}
    found = suggest("t", schema, [{"id": 1, "body": LONG, "extra": 1}])
    assert include(found) == ["id"]
    assert {str(path): why for path, why in found.left_out.items()} == {
        "body": "long text",
        "extra": "not in the schema",
    }


def test_a_wrapper_and_json_text_are_looked_through():
    """WIRE.md: paths may begin with the wrapper, and nothing is known of JSON text."""
    items = {"type": "array", "items": {"type": "object", "properties": {"id": {}, "body": {}}}}
    wrapped = {"type": "object", "required": ["result"], "properties": {"result": items}}
    rows = [{"id": 1, "body": LONG}, {"id": 2, "body": LONG}]
    assert include(suggest("t", wrapped, [{"result": rows}])) == ["result.id"]
    text = {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}}}
    assert include(suggest("t", text, [rows])) == ["id"]


@pytest.mark.parametrize("name", ["a" * (MAX_PATH_CHARACTERS + 1), "nul\0"])
def test_a_name_that_no_path_can_have_is_not_suggested(name):
    """Ours: a server may call its members whatever it likes."""
    found = suggest("t", None, [{name: 1, "id": 1, "body": LONG}])
    assert include(found) == ["id"]
    assert "no path names it" in found.left_out.values()


def test_a_view_of_many_fields_can_be_used(tmp_path):
    """Ours: a file may name more than a request may."""
    wide = {f"n{number}": number for number in range(200)}
    found = suggest("t", None, [{"a": wide, "b": wide, "body": LONG}])
    assert len(include(found)) == 400 > MAX_PATHS
    assert found.kept == size_of({"a": wide, "b": wide})


@given(st.lists(values, min_size=1, max_size=4))
def test_a_suggested_file_fits_the_tool(tmp_path_factory, samples):
    """Ours, the law: it is a file of views, and the tool's schema knows what it names."""
    schema = infer(samples)
    found = suggest("t", schema, samples)
    if found is None or found.file() is None:
        return
    Draft202012Validator(SCHEMA).validate(found.file())
    file = tmp_path_factory.getbasetemp() / "t.views.json"
    file.write_text(json.dumps(found.file()), encoding="utf-8")
    ViewFile.read(file).check(schema)
    assert 0 <= found.kept < found.full
