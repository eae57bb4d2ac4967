"""What a query may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.errors import InvalidQuery
from louver.limits import MAX_QUERY_CHARACTERS
from louver.wire.requests import queried


@pytest.mark.parametrize(
    "params", [{}, {"query": None}, {"query": ""}, {"query": "   "}, {"query": "\t\n "}, {"query": "\u3000" * 300}]
)
def test_a_null_empty_or_white_query_is_none(params):
    """DISCLOSURE.md."""
    assert queried(params) is None


NO_STRING = "a query is a string of plain words, for example 'create issue'"

REFUSED = [
    *((value, {"message": NO_STRING}) for value in (7, 0, 1.5, True, [], ["issue"], {}, {"text": "issue"})),
    (
        "x" * 4097,
        {"message": "a query has at most 4096 characters, not 4097: say it in a few words", "limit": 4096},
    ),
    *(
        (text, {"message": f"a query is plain words: there is a control character at offset {at}", "offset": at})
        for text, at in (
            ("a\0", 1),
            ("\x1bc", 0),
            ("two\vlines", 3),
            ("a\bb", 1),
            ("a\x7f", 1),
            ("\x85b", 0),
            ("ab\ud800", 2),
        )
    ),
]


@pytest.mark.parametrize(("value", "said"), REFUSED, ids=lambda part: ascii(part)[:20])
def test_what_is_no_query_is_refused(value, said):
    """002, "Security Implications"; DISCLOSURE.md: not a string, over 4,096 characters, control characters."""
    with pytest.raises(InvalidQuery) as refused:
        queried({"query": value})
    assert refused.value.to_json() == {"code": "INVALID_QUERY", **said}


@pytest.mark.parametrize(
    "text", ["x" * MAX_QUERY_CHARACTERS, "🙂" * MAX_QUERY_CHARACTERS, "' OR 1=1 --", ".*", "e\u0301", " a ", "a\r\n\tb"]
)
def test_any_other_text_is_taken_as_it_is(text):
    """002: plain text; its length counts in code points."""
    assert queried({"query": text}) == text


@given(st.text(st.characters(exclude_categories=()), max_size=300) | st.none() | st.integers() | st.lists(st.text()))
def test_whatever_is_given_nothing_else_is_raised(value):
    """Ours."""
    try:
        query = queried({"query": value})
    except InvalidQuery:
        return
    assert query == value or (query is None and not value.strip())
