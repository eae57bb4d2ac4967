"""What a tool says of its projection, and what a server says."""

import pytest

from louver.core.projection.view import MAX_SHAPING_VIEWS, MAX_VIEWS, Views
from louver.errors import InvalidView, LouverError
from louver.wire.capability import advertised
from louver.wire.hint import extension_hint, hint, literal_hint, read_hint
from louver.wire.names import HINT, PROJECTION

VIEWS = {
    "minimal": ["name", "id"],
    "contact": {"extends": "minimal", "include": ["email"]},
    "public": {"exclude": ["**.email"]},
    "mixed": {"include": ["name", "address"], "exclude": ["address.zip"]},
}


@pytest.mark.parametrize("content", ["project", "keep"])
def test_what_an_author_hints_is_what_is_read(content):
    """Ours: the hint in a tool's `_meta` carries all views, with what they extend put in."""
    views, said = read_hint(hint(VIEWS, ["id"], content=content))
    assert views == Views.read(VIEWS, ["id"])
    assert said == content


def test_a_hint_that_was_listed_is_read_again_as_it_was():
    """Ours: a second server behind the first sees the same views."""
    meta = hint(VIEWS, ["id"])
    views, content = read_hint(meta)
    assert {HINT: extension_hint(views, content=content).to_wire()} == meta


def test_the_literal_form_holds_what_a_list_says_whole():
    """#1704, section 2: `recommendedViews` is name -> list of fields."""
    assert literal_hint(Views.read(VIEWS)).to_wire() == {
        "supported": True,
        "recommendedViews": {"minimal": ["id", "name"], "contact": ["email", "id", "name"]},
    }
    assert literal_hint(Views()).to_wire() == {"supported": True}


def test_the_exact_schema_stands_in_the_extension_form_alone():
    """Ours."""
    assert extension_hint(Views(), output_schema={"type": "object"}).to_wire() == {
        "supported": True,
        "outputSchema": {"type": "object"},
    }


@pytest.mark.parametrize("meta", [None, {}, {"com.example/x": 1}, {HINT: None}, {HINT: "yes"}, []])
def test_what_is_not_a_hint_of_ours_says_nothing(meta):
    """Ours."""
    assert read_hint(meta) == (Views(), "project")


@pytest.mark.whole
@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"recommendedViews": ["id"]}, "objects of views"),
        ({"recommendedViews": None}, "objects of views"),
        ({"views": "all"}, "objects of views"),
        ({"always": "id"}, "list of field paths"),
        ({"views": {f"view_{number}": ["id"] for number in range(MAX_VIEWS + 1)}}, "at most 256 views; these are 257"),
        (
            {"views": {f"view_{number}": {"dropNulls": True} for number in range(MAX_SHAPING_VIEWS + 1)}},
            "at most 16 views that shape; these are 17",
        ),
        ({"views": {"x": {"only": ["id"]}}}, "view 'x'"),
        ({"recommendedViews": {"x": ["a.."]}}, "view 'x'"),
    ],
)
def test_a_hint_of_another_form_is_an_error(written, message):
    """Ours: a hint is written by hand too, and comes from other servers."""
    with pytest.raises(InvalidView, match=message):
        read_hint({HINT: written})


@pytest.mark.parametrize("views", [{"x": ["a.."]}, {"x": {"extends": "y"}}, {"x": {"extends": "x"}}, {"x": 1}])
def test_an_author_who_writes_a_wrong_view_is_told_at_once(views):
    """Ours."""
    with pytest.raises(InvalidView, match="view 'x'"):
        hint(views)


def test_a_capability_is_added_to_those_that_are_there():
    """#1704, section 1; the extension form is ours."""
    before = {"tools": {"listChanged": True}, "extensions": {"com.example/x": {}}, "prompts": {}}
    after = advertised(before, None, readable=True)
    assert before == {"tools": {"listChanged": True}, "extensions": {"com.example/x": {}}, "prompts": {}}
    assert after["tools"].pop("projection")["supported"] is True
    assert after["extensions"].pop(PROJECTION)["supported"] is True
    assert after.pop("resources") == {}
    assert after == before


def test_resources_are_announced_where_something_can_be_read():
    """HOSTS.md: OpenCode gives its model three more tools for them."""
    assert "resources" not in advertised({"tools": {}}, None, readable=False)
    assert advertised({"tools": {}, "resources": {"subscribe": True}}, None, readable=False)["resources"]


def test_the_argument_is_told_where_it_is_taken():
    """Ours."""
    said = [
        advertised({"tools": {}}, argument, readable=False)["extensions"][PROJECTION]
        for argument in (None, "output_fields")
    ]
    assert "argument" not in said[0]
    assert said[1]["argument"] == "output_fields"


@pytest.mark.parametrize("capabilities", [{}, {"prompts": {}}])
def test_a_server_without_tools_says_nothing_of_projection(capabilities):
    """Ours: a `tools` capability would say that there are tools."""
    assert advertised(capabilities, None, readable=True) == capabilities


def test_an_author_who_writes_a_wrong_word_is_told_at_once():
    """Ours."""
    with pytest.raises(LouverError, match="'content' is one of 'project', 'keep', not 'drop'"):
        hint(content="drop")
