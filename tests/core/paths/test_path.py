"""Field paths: how they are read, what is refused and where, and how they are written."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonpath_ng.exceptions import JSONPathError
from jsonpath_ng.jsonpath import Child, Fields, Root, Wildcard
from jsonpath_ng.parser import parse

from louver.core.paths.path import FieldPath, fold
from louver.errors import InvalidPath, ProjectionLimit
from louver.limits import MAX_PATH_CHARACTERS, MAX_SEGMENTS

NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=0, max_size=4
) | st.sampled_from(["$", "/", "**", "a.b", "[0]", "`", "*", "", "$.", "a`"])


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("id", ("id",)),
        ("address.city", ("address", "city")),
        ("orders[*].total", ("orders", None, "total")),
        ("orders[].total", ("orders", None, "total")),
        ("orders.*.total", ("orders", None, "total")),
        ("meta.`a.b`", ("meta", "a.b")),
        ("meta['a.b']", ("meta", "a.b")),
        ('meta["a.b"]', ("meta", "a.b")),
        ("['a.b']", ("a.b",)),
        ("`we``ird`", ("we`ird",)),
        ("``", ("",)),
        ("/meta/a.b", ("meta", "a.b")),
        ("/a~1b/c~0d", ("a/b", "c~d")),
        ("/*", ("*",)),
        ("/", ("",)),
        ("$x", ("$x",)),
        ("$", ()),
        ("*", ()),
        ("[*]", ()),
        ("*.id", (None, "id")),
        ("$.items[*].id", ("items", None, "id")),
        ("$['a.b'].*", ("a.b", None)),
        ("$[*]", ()),
        ("John Smith", ("John Smith",)),
        ("héllo", ("héllo",)),
        ("items.0", ("items", "0")),
        ("'x'", ("'x'",)),
    ],
)
def test_a_path_is_read_in_each_of_its_forms(text: str, steps: tuple[str | None, ...]):
    """PROJECTION.md, "Paths"; #1704, "Field path syntax"."""
    path = FieldPath.parse(text)
    assert (path.steps, path.absolute) == (steps, text.startswith(("/", "$.", "$[")) and steps != ())


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("a..b", 2),
        ("a.", 2),
        (".a", 0),
        ("[", 1),
        ("`x", 2),
        ("a[", 2),
        ("a]", 1),
        ("a['x", 4),
        ("a['x'", 5),
        ("a[x]", 2),
        ("a.['x']", 2),
        ("/a~2", 2),
        ("/a~", 2),
        ("na*", 2),
        ("a`b", 1),
        ("`a`b", 3),
        ("items[0]", 6),
        ("items[-1]", 6),
        ("items[0:2]", 6),
        ("items[?(@.id==1)]", 6),
        ("a\0b", 1),
        ("a\ud800", 1),
        ("**.id", 0),
        ("**", 0),
        ("a.**", 2),
        ("a.**.b", 2),
        ("$.a[0]", 3),
        ("$.a[?(@.b)]", 3),
        ("$..a", 1),
        ("$.a,b", 4),
        ("$.a\\b", 3),
        ("$.`parent`", 2),
        ("$.$.a", 2),
        ("$.a.$", 4),
    ],
)
def test_what_is_no_path_is_refused_with_its_position(text: str, offset: int):
    """PROJECTION.md, "Cases": refused, with position."""
    with pytest.raises(InvalidPath) as refused:
        FieldPath.parse(text)
    assert refused.value.offset == offset
    assert refused.value.to_json()["code"] == "INVALID_PROJECTION"
    assert f"at offset {offset}" in refused.value.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("items[0]", "behind '$.'"),
        ("items[?(@.id==1)]", "behind '$.'"),
        ("na*", "no partial wildcards"),
        ("a.['x']", "without a dot"),
        ("**.a", "to get fields, name them from the root"),
        ("$.a[0]", "names alone"),
        ("", "write '*'"),
        ("`x", "written twice"),
    ],
)
def test_a_refusal_says_what_to_write_instead(text: str, hint: str):
    """PROJECTION.md: a clear error that says what to write instead."""
    with pytest.raises(InvalidPath, match=r".") as refused:
        FieldPath.parse(text)
    assert hint in refused.value.message


def test_a_name_at_any_depth_is_read_only_where_fields_are_left_out():
    """PROJECTION.md: `"**." name` only in exclude; nothing may follow it."""
    assert FieldPath.parse("**.email", deep=True) == FieldPath(("email",), deep=True)
    assert FieldPath.parse("**.`a.b`", deep=True) == FieldPath(("a.b",), deep=True)
    for text, offset in (("**.a.b", 4), ("**.*", 3), ("**a", 2), ("**", 2), ("**.", 3), ("**.a[*]", 4)):
        with pytest.raises(InvalidPath) as refused:
            FieldPath.parse(text, deep=True)
        assert refused.value.offset == offset


def test_a_path_of_the_greatest_length_is_read_and_a_longer_one_is_not():
    """PRIVACY.md, "Hostile inputs": a 513-character path, 33 segments."""
    assert FieldPath.parse("a" * MAX_PATH_CHARACTERS).steps == ("a" * MAX_PATH_CHARACTERS,)
    assert len(FieldPath.parse(".".join("a" * MAX_SEGMENTS)).steps) == MAX_SEGMENTS
    for text, limit in (
        ("a" * (MAX_PATH_CHARACTERS + 1), MAX_PATH_CHARACTERS),
        ("a" + ".a" * MAX_SEGMENTS, MAX_SEGMENTS),
    ):
        with pytest.raises(ProjectionLimit) as refused:
            FieldPath.parse(text)
        assert refused.value.to_json()["limit"] == limit


@given(st.lists(st.none() | NAMES, min_size=1, max_size=5))
@example(["$"])
@example(["/", None])
def test_the_text_of_a_path_reads_back_as_the_path(steps: list[str | None]):
    """The law of the module: `FieldPath.parse(str(path)) == path`."""
    path = FieldPath(() if steps == [None] else tuple(steps))
    assert FieldPath.parse(str(path)) == path
    if None not in steps:
        absolute = FieldPath(tuple(steps), absolute=True)
        assert FieldPath.parse(str(absolute)) == absolute
    if isinstance(steps[0], str):
        deep = FieldPath((steps[0],), deep=True)
        assert FieldPath.parse(str(deep), deep=True) == deep


@pytest.mark.parametrize("name", ["", "a.b", "it's", "`", "*", "$", "é", "where", "wherenot", "where_", "parent"])
def test_the_text_of_a_path_from_the_root_with_a_wildcard_reads_back_as_the_path(name: str):
    """The law of the module; the parser of JSONPath takes some names for operators."""
    path = FieldPath.parse(f'$["{name}"][*]["{name}"]')
    assert path == FieldPath((name, None, name), absolute=True)
    assert FieldPath.parse(str(path)) == path


JSONPATH_PARTS = (
    *"a1-_é文()~😀",
    ".where",
    ".not",
    ".a",
    "['a']",
    '["b.c"]',
    "[*]",
    ".*",
    ".-2",
    ".0x",
    "[0]",
    "[?a]",
    ".文",
)


@given(st.lists(st.sampled_from(JSONPATH_PARTS), max_size=4).map("".join))
def test_a_path_from_the_root_is_read_as_the_library_reads_it(rest: str):
    try:
        read = FieldPath.parse(f"$.a{rest}").steps
    except InvalidPath:
        read = None
    by_library = _read_by_the_library(f"$.a{rest}")
    # Of the RFC alone are names of other alphabets, and those that the library takes for operators.
    assert by_library in (None, read)


def _read_by_the_library(text: str) -> tuple[str | None, ...] | None:
    try:
        node = parse(text)
    except JSONPathError:
        return None
    steps: list[str | None] = []
    while isinstance(node, Child) and isinstance(node.right, Fields | Wildcard):
        steps.insert(0, None if isinstance(node.right, Wildcard) else node.right.fields[0])
        node = node.left
    return tuple(steps) if isinstance(node, Root) else None


@given(st.text(max_size=12) | st.text("ab.[]*`'\"$/~ 0?@", max_size=12))
def test_any_text_is_read_or_refused_with_an_offset_within_it(text: str):
    """STYLE.md: an error says where."""
    refused: InvalidPath | None = None
    try:
        path = FieldPath.parse(text)
    except InvalidPath as error:
        refused = error
    else:
        assert FieldPath.parse(str(path)) == path
    assert refused is None or 0 <= refused.offset <= len(text)


def test_folding_keeps_each_path_once_and_a_parent_instead_of_its_children():
    """PROJECTION.md: a parent path beats its children, duplicates fold."""
    paths = [FieldPath.parse(text, deep=True) for text in ("b", "a.c", "a", "a.b.c", "`b`", "a-b", "*.x", "**.a")]
    assert [str(path) for path in fold(tuple(paths))] == ["*.x", "a", "a-b", "b", "**.a"]
    assert fold((FieldPath(()), FieldPath(("a",)))) == (FieldPath(()),)


def test_names_are_compared_by_code_point():
    """PROJECTION.md: no normalisation."""
    assert FieldPath.parse("e\u0301") != FieldPath.parse("\u00e9")
