"""JSONPath with rows: what is read, how it is written, and what is refused with the form that is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from fuzz.jsonpath_suite import is_met
from fuzz.requests import random_request
from louver.core.paths.jsonpath import MAX_NESTED_BRACKETS
from louver.core.paths.path import FieldPath
from louver.errors import InvalidPath
from strategies import randoms

if TYPE_CHECKING:
    from random import Random


def read(text: str) -> FieldPath:
    return FieldPath.parse(text, rows=True)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("$.a[0]", "$.a[0]"),
        ("$.a[-1, 2].b", "$.a[-1,2].b"),
        ("$[ 1 : 2 : ]", "$[1:2]"),
        ("$[::-1]", "$[::-1]"),
        ("$['a','b']", "$['a','b']"),
        ("$..a", "$..a"),
        ("$..[ 0 ].*", "$..[0][*]"),
        ("$.a[?@.b]", "$.a[?@.b]"),
        ("$.a[?(@['b'] == \"x\")].c", "$.a[?@.b == 'x'].c"),
        ("$.a[?(@.b == 1 || @.c == 2) && !@.d]", "$.a[?(@.b == 1 || @.c == 2) && !@.d]"),
        ("$.a[?@.b == 1 || (@.c == 2 && @.d)]", "$.a[?@.b == 1 || @.c == 2 && @.d]"),
        ("$.a[?1.5e1 < @.b]", "$.a[?15.0 < @.b]"),
        ("$.a[?@.b != null]", "$.a[?@.b != null]"),
        ("$.a[?@ == true]", "$.a[?@ == true]"),
        ("$.a[?@.b[0] >= $.c[-1].d]", "$.a[?@.b[0] >= $.c[-1].d]"),
        ("$.a[?@.b[?@.c == 'it\\'s']]", '$.a[?@.b[?@.c == "it\'s"]]'),
        ("$.a[?@.b == 'both \\' \"']", "$.a[?@.b == 'both \\' \"']"),
        ("$.a[?@.where == '\\u00e9']", "$.a[?@['where'] == 'é']"),
        ("$.é[0]", "$['é'][0]"),
    ],
)
def test_a_path_of_rows_is_read_and_written_in_one_form(text: str, written: str):
    """ROWS.md: positions, slices, several, descendants, tests."""
    path = read(text)
    assert (path.has_rows, path.absolute, str(path)) == (True, True, written)
    assert read(written) == path


@given(randoms())
def test_the_text_of_a_path_of_rows_reads_back_as_the_path(rng: Random):
    """The law of `louver.core.paths.path`; so `&&` and `||` are grouped as they were written."""
    for text in random_request(rng, [{"a": [{"b": 1.5, "c": None}, "x'\"", True]}], rows=True).fields:
        assert str(FieldPath.parse(text, deep=True, rows=True)) == text


def test_constants_of_unlike_types_make_unlike_paths():
    """To Python `1 == True`: a plan that is kept for one is no plan for the other."""
    paths = [read(f"$.a[?@.b == {constant}]") for constant in ("1", "true", "0", "false", "1.0", "'1'", "null")]
    assert len(set(paths)) == len(paths)


REFUSED = {
    "a function": ("$.a[?length(@.b) > 3]", "Functions are not read"),
    "another function": ("$.a[?match(@.b, 'x')]", "Functions are not read"),
    "a single equals sign": ("$.a[?@.b = 1]", "'==' compares"),
    "a pattern": ("$.a[?@.b =~ 'x']", "no patterns"),
    "a script of Goessner's": ("$.a[(@.length-1)]", "negative: [-1]"),
    "words that join": ("$.a[?@.b and @.c]", "'&&', '||' and '!'"),
    "one sign that joins": ("$.a[?@.b & @.c]", "'&&', '||' and '!'"),
    "arithmetic": ("$.a[?@.b + 1 == 2]", "without arithmetic"),
    "an order": ("$.a[\\b]", "keep their order"),
    "a named operator": ("$.a.`len`", "stand in quotes"),
    "things that are unlike": ("$.a[0,'b']", "names alone, or positions alone"),
    "a negated comparison": ("$.a[?!(@.b == 1)]", "before one member"),
    "a bare word": ("$.a[?@.b == open]", "== 'open'"),
    "a word that negates": ("$.a[?not @.b]", "'&&', '||' and '!'"),
    "a word alone": ("$.a[?open]", "a JSONPath of"),
    "constants alone": ("$.a[?'x']", "a JSONPath of"),
    "a name without a query": ("$.a[?@.b == 'x' && 'y']", "a JSONPath of"),
    "a number with a leading zero": ("$.a[01]", "a JSONPath of"),
    "a constant with a leading zero": ("$.a[?@.b == 01]", "a JSONPath of"),
    "a number that is no number": ("$.a[?@.b == 1e999]", "a JSONPath of"),
    "a position beyond what is exact": ("$.a[9007199254740992]", "a JSONPath of"),
    "a space behind a dot": ("$. a[0]", "a JSONPath of"),
    "an end too early": ("$.a[?@.b", "a JSONPath of"),
    "a string that is not one": ("$.a[?@.b == '\\x']", "a string of JSON"),
    "half a character": ("$.a[?@.b == '\\ud800']", "a string of JSON"),
    "a comparison of many places": ("$.a[?@.b[*] == 1]", "Compare one place"),
    "every depth in a test": ("$.a[?@..b]", "has no '..'"),
    "many places of the root": ("$.a[?$.b[*]]", "has no '..'"),
    "no comma": ("$.a[0 2]", "a JSONPath of"),
    "a product": ("$['a']*$.b", "a JSONPath of"),
    "no query in a test": ("$.a[?[0]]", "a JSONPath of"),
    "a sum of paths": ("$.a[0] | $.b[0]", "'&&', '||' and '!'"),
    "too many brackets": ("$" + "[?@" * MAX_NESTED_BRACKETS + "[0]" + "]" * MAX_NESTED_BRACKETS, "at most 24 brackets"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_such_path_is_refused_with_what_is_right(text: str, words: str):
    """Step 23, "Bad input"; ROWS.md: refused with the nearest right form."""
    with pytest.raises(InvalidPath) as refused:
        read(text)
    assert words in refused.value.message
    assert 0 <= refused.value.offset <= len(text)


def test_a_case_of_the_compliance_suite_is_met_or_not():
    """The measure of `fuzz.jsonpath_suite` itself; the suite is run by hand."""
    document = {"a": [{"b": 1}, {"b": 2}], "c": "x"}
    case = {"selector": "$.a[?@.b > 1].b", "document": document, "result_paths": ["$['a'][1]['b']"]}
    assert is_met(case)
    assert not is_met({**case, "result_paths": ["$['a'][0]['b']"]})
    assert is_met({**case, "results_paths": [["$['c']"], ["$['a'][1]['b']"]]})
    assert not is_met({**case, "invalid_selector": True})
    assert is_met({"selector": "$[?length(@) > 1]", "invalid_selector": True})
