"""Texts and queries as words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.catalogue.search.words import in_one, query_terms, words
from louver.limits import MAX_WORD_CHARACTERS

TEXTS = [
    ("createIssue", ["create", "issue", "createissue"]),
    ("create_issue", ["create", "issue", "createissue"]),
    ("create-issue", ["create", "issue", "createissue"]),
    ("files.read", ["files", "read", "filesread"]),
    ("HTTPServer", ["http", "server", "httpserver"]),
    ("list of IDs", ["list", "of", "ids"]),
    ("sha256 of v2.0", ["sha256", "of", "v2", "0", "v20"]),
    ("Read a file. Then, write!", ["read", "a", "file", "then", "write"]),
    ("Café Straße ﬁle", ["cafe", "strasse", "file"]),
    ("发送邮件 now", ["发送", "送邮", "邮件", "now"]),
    ("图", ["图"]),
    ("'; DROP TABLE tools; --", ["drop", "table", "tools"]),
    ("", []),
    ("+++ \x00 \ud800 🙂", []),
]


@pytest.mark.whole
@pytest.mark.parametrize(("text", "said"), TEXTS)
def test_a_text_is_taken_apart(text, said):
    """DISCLOSURE.md: split at camelCase, `_`, `-` and `.`; digits are kept. Ours: what stands in one is a word too."""
    assert words(text) == said


def test_what_stands_in_one_is_a_word_up_to_a_length():
    """Ours: `MAX_WORD_CHARACTERS`."""
    assert words("x" * 5_000) == ["x" * MAX_WORD_CHARACTERS]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("please find me a tool that can create an issue", ["create", "issue"]),
        ("I want to read configuration files", ["read", "configuration", "files"]),
        ("I'd like to see the weather", ["see", "weather"]),
        ("looking for a tool for data analysis", ["data", "analysis"]),
        ("tools for data analysis", ["data", "analysis"]),
        ("create_issue", ["create", "issue", "createissue"]),
        ("files, files, more files", ["files", "more"]),
    ],
)
def test_what_only_says_that_something_is_wanted_is_left_out(query, wanted):
    """DISCLOSURE.md: stopwords of requests are ignored."""
    assert query_terms(query) == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("find files", ["find", "files"]), ("search issues", ["search", "issues"]), ("get user", ["get", "user"])],
)
def test_a_verb_that_tools_are_named_by_counts(query, wanted):
    """Ours: `find me ...` is a request, `find files` is what a tool does."""
    assert query_terms(query) == wanted


@pytest.mark.parametrize("query", ["what can you do", "tools", "who are you"])
def test_a_query_of_such_words_alone_is_taken_as_it_is(query):
    """Ours."""
    assert query_terms(query) == query.split()


def test_a_query_is_one_word_too():
    """Ours: as a tool's name is written, which may have words that are left out else."""
    assert in_one("convert to PDF") == in_one("convert_to_pdf") == "converttopdf"


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_words_that_hold_nothing_but_letters_and_digits(text):
    """Ours: nothing in them can be code for the index."""
    for word in (*words(text), *query_terms(text), in_one(text)):
        assert not set(word) & set("\"'*=^:(){}+-_. \0")
        assert all(sign.isalnum() or sign.isidentifier() or not sign.isascii() for sign in word)
