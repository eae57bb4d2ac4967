"""The argument of models: how it is listed, and every form in which it is sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.core.paths.path import FieldPath
from louver.core.projection.request import Projection
from louver.errors import InvalidProjection
from louver.wire.projection import MAX_ARGUMENT_CHARACTERS, argument_schema, requested_by_argument

TWO = Projection(include=["id", "user.login"])

FORMS = {
    "a list": (["id", "user.login"], TWO),
    "JSON text of a list": ('["id", "user.login"]', TWO),
    "JSON text of a list, with space": (' [ "id" , "user.login" ] ', TWO),
    "names with commas": ("id, user.login", TWO),
    "names with commas in a list": (["id,user.login"], TWO),
    "one name": ("id", Projection(include=["id"])),
    "JSON text of a name": ('"id"', Projection(include=["id"])),
    "fields": ({"fields": ["id", "user.login"]}, TWO),
    "fields as one text": ({"fields": "id,user.login"}, TWO),
    "include": ({"include": ["id", "user.login"]}, TWO),
    "JSON text of an object": ('{"include": ["id", "user.login"]}', TWO),
    "exclude": ({"exclude": ["**.email"]}, Projection(exclude=["**.email"])),
    "a view": ({"view": "minimal"}, Projection(view="minimal")),
    "a view in the list": (["view:minimal"], Projection(view="minimal")),
    "a view as a name": ("view:minimal", Projection(view="minimal")),
    "the request of programs": ({"mode": "view", "view": "minimal"}, Projection(view="minimal")),
    "options": ({"fields": ["id"], "strict": True}, Projection(include=["id"], strict=True)),
    "empty members": ({"fields": ["id"], "exclude": [], "view": None}, Projection(include=["id"])),
    "nulls and empty names": (["id", None, "", "user.login"], TWO),
    "everything": (["*"], Projection(include=["*"])),
    "a quoted name with a comma": (["`a,b`", "c"], Projection(include=["`a,b`", "c"])),
    "a quoted name that begins like a view": (["`view:x`"], Projection(include=["`view:x`"])),
    "a JSONPath with a comma": (["$['a,b']"], Projection(include=["$['a,b']"])),
    "rows with commas": (
        "$.a[0,1], $.b[?@.c == 'x, y'],e",
        Projection(include=["$.a[0,1]", "$.b[?@.c == 'x, y']", "e"]),
    ),
}


def test_each_form_is_understood():
    """HOSTS.md: what models and hosts really send."""
    for form, (sent, means) in FORMS.items():
        assert requested_by_argument(sent) == means, form


def test_what_is_empty_is_no_request():
    """HOSTS.md: some hosts treat optional arguments as required, so it does no harm when given empty."""
    for sent in (None, "", "  ", [], {}, "[]", "{}", [None], [""], ",", {"fields": []}):
        assert requested_by_argument(sent) is None, sent


WRONG = {
    "a number": (7, "expected a list of field names"),
    "a number in the list": (["id", 7], "every field path is a string, element 1 is not"),
    "a path that is none": (["a..b"], "field path 'a..b'"),
    "a view and fields": (["view:minimal", "id"], r"a view is sent alone, as \['view:minimal'\]"),
    "two members": ({"fields": ["id"], "view": "minimal"}, "give one of 'fields', 'exclude' and 'view'"),
    "an unknown member": ({"only": ["id"]}, "unknown key 'only'"),
    "a mode that is none": ({"mode": "INCLUDE", "fields": ["id"]}, "'mode' is one of"),
    "a position": (["people[0].email"], r"read from the root: '\$.people\[0\].email'"),
    "half a list": ('["id"', "field path"),
}


def test_what_cannot_be_understood_is_refused():
    """Ours: nothing is guessed."""
    for sent, message in WRONG.values():
        with pytest.raises(InvalidProjection, match=message):
            requested_by_argument(sent)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(anything)
def test_whatever_is_sent_is_a_request_or_none_or_refused(sent):
    """Ours: a model can send anything."""
    for form in (sent, json.dumps(sent)):
        try:
            assert isinstance(requested_by_argument(form), Projection | None)
        except InvalidProjection as error:
            assert error.message  # noqa: PT017 - it may be refused or not


@given(st.lists(st.lists(st.text(min_size=1, max_size=5).filter(lambda name: name.isalnum()), min_size=1), min_size=1))
def test_a_list_and_its_text_are_the_same_request(steps):
    """Ours."""
    paths = [str(FieldPath(tuple(path[:5]))) for path in steps]
    assert requested_by_argument(paths) == requested_by_argument(json.dumps(paths))
    assert requested_by_argument(paths) == requested_by_argument(", ".join(paths))


def test_it_is_listed_as_a_list_of_texts():
    """HOSTS.md: anything else is lost or breaks in some host."""
    schema = argument_schema(["id", "name", "address.city"], ["minimal"])
    assert schema.keys() == {"type", "items", "description"}
    assert (schema["type"], schema["items"]) == ("array", {"type": "string"})
    assert schema["description"] == "Return only some fields: id, name; address: city; or view:minimal"
    assert argument_schema(["id"], [], learned=True)["description"] == "Return only fields seen: id"
    grouped = argument_schema(["total", "people.id", "people.name", "`a.b`", "c.d.e"], [])["description"]
    assert grouped == "Return only some fields: total; people: id, name; `a.b`; c.d: e"
    assert argument_schema([], [])["description"] == "Return only some fields, such as id, user.login"


def test_its_description_is_short_whatever_a_tool_has():
    """HOSTS.md: about 45 tokens; the first fields are named, and that there are more."""
    schema = argument_schema([f"field_{number}" for number in range(99)], [f"view_{number}" for number in range(99)])
    assert len(schema["description"]) < 2 * MAX_ARGUMENT_CHARACTERS + 80
    assert "field_0, field_1" in schema["description"]
    assert schema["description"].count(", ...") == 2


def test_a_default_view_is_told_and_how_to_get_everything():
    """Ours: a caller who gets less without having asked must be able to ask for all."""
    said = argument_schema(["id"], ["compact"], "compact")["description"]
    assert "view:compact" in said
    assert said.endswith("; * is everything")
