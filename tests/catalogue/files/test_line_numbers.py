"""Lines of a JSON text: where keys and strings stand."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fixtures.growth import superlinear
from louver.catalogue.files.line_numbers import line_of, line_of_second, spots
from louver.limits import MAX_JSON_DEPTH

TEXT = """{"a": {"b": ["x",
  "y", [1, "z"],
  {"c": "w"}]},
"b": "x"}"""


def test_a_place_is_found_by_its_keys_and_positions():
    """Ours: the same string elsewhere is another place."""
    assert line_of(TEXT, ("a", "b")) == 1
    assert line_of(TEXT, ("a", "b", 1)) == 2
    assert line_of(TEXT, ("a", "b", 2, 1)) == 2
    assert line_of(TEXT, ("a", "b", 3, "c")) == 3
    assert line_of(TEXT, ("b",)) == 4
    assert line_of(TEXT, ("c",)) is None


def test_a_key_is_told_from_a_string():
    """Ours."""
    assert [(spot.text, spot.is_key) for spot in spots('{"k": "k", "l": ["k"]}')] == [
        ("k", True),
        ("k", False),
        ("l", True),
        ("k", False),
    ]


def test_the_second_of_a_key_is_one_in_the_same_object():
    """Ours."""
    assert line_of_second('{"a": {"x": 1},\n "b": {"x": 2},\n "c": "x"}') is None
    assert line_of_second('[{"x": 1},\n {"x": 2}]') is None
    assert line_of_second('{"a": "b",\n "b": {"x": 1,\n "x": 2}}') == 3
    assert line_of_second('{"a": 1,\n "\\u0061": 2}') == 2


def test_a_text_is_read_as_far_as_it_is_json():
    """Ours: lines are looked for in what could not be read, too."""
    assert list(spots('"a"')) == []
    assert [spot.line for spot in spots('{"a": 1}\n]{"b": 1}')] == [1]
    assert [spot.text for spot in spots('["\\x", "b')] == ['"\\x"']


_VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def strings(value, place=()):
    """The strings of a value with their places, keys before what they hold."""
    if isinstance(value, str):
        yield value, place, False
    elif isinstance(value, list):
        for position, element in enumerate(value):
            yield from strings(element, (*place, position))
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key, (*place, key), True
            yield from strings(member, (*place, key))


@given(st.lists(_VALUES) | st.dictionaries(st.text(max_size=3), _VALUES))
def test_every_string_is_found_on_its_line(value):
    """Ours, as a law: the text of a value holds its strings in order, and each on the line it is on."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    found = list(spots(text))
    assert [(spot.text, spot.place, spot.is_key) for spot in found] == list(strings(value))
    lines = text.split("\n")
    assert all(json.dumps(spot.text, ensure_ascii=False) in lines[spot.line - 1] for spot in found)
    assert line_of_second(text) is None


def test_what_is_deeper_than_is_read_has_no_line():
    """Ours: each string holds its place, so that a deep text would take quadratic time."""
    text = '{"a":' * MAX_JSON_DEPTH + '"b"' + "}" * MAX_JSON_DEPTH
    assert line_of(text, ("a",) * MAX_JSON_DEPTH) == 1
    assert superlinear(lambda deep: list(spots(deep)), ['{"']) == {}
    assert line_of(f'{{"a":{text}}}', ("a",) * (MAX_JSON_DEPTH + 1)) is None
