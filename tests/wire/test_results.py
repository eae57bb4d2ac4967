"""The URI of a kept result: what is read by it, and what is refused."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

import pytest

from louver.core.projection.request import Projection
from louver.errors import InvalidArguments, InvalidProjection, InvalidUri, LouverError
from louver.limits import MAX_URI_BYTES
from louver.wire.results import ALL_ROWS, Read, RowQuery

BASE = "louver://results/Zk3x-_9"
ALL = Projection(include=["*"])

READ = {
    "all of it": ("", ALL, None),
    "an empty query": ("?", ALL, None),
    "fields": ("?fields=id,user.login", Projection(include=["id", "user.login"]), None),
    "fields one by one": ("?fields=id&fields=user.login", Projection(include=["id", "user.login"]), None),
    "fields as clients escape them": ("?fields=items%5B*%5D.id", Projection(include=["items[*].id"]), None),
    "a comma in a name": ("?fields=%60a%2Cb%60,c", Projection(include=["`a,b`", "c"]), None),
    "a view": ("?view=brief%20one", Projection(view="brief one"), None),
    "a page": ("?page=2", ALL, 2),
    "a page of fields": ("?page=12&fields=id", Projection(include=["id"]), 12),
}


@pytest.mark.parametrize(("query", "projection", "page"), READ.values(), ids=READ)
def test_a_uri_says_what_is_read(query, projection, page):
    """GATEWAY.md: `?fields=` and `?view=`; pages are ours."""
    assert Read.of(BASE + query) == Read("Zk3x-_9", projection, page, BASE + query)


ROWS = {
    "?sort_by=-user.login&limit=5": RowQuery(sort_by="-user.login", limit=5),
    "?sort_by=%60-a%26b%60&fields=id&page=2": RowQuery(sort_by="`-a&b`"),
    "?limit=1&view=50%25,%20brief": RowQuery(limit=1),
    "?count_by=state&limit=3": RowQuery(limit=3, count_by="state"),
}


@pytest.mark.whole
@pytest.mark.parametrize("query", ROWS)
def test_rows_are_asked_for_alike_by_a_uri_and_by_arguments(query):
    """ROWS.md: and an upstream gets what a model has asked for."""
    read = Read.of(BASE + query)
    arguments = {name: value for name, value in asdict(read.rows).items() if value is not None}
    given = {"handle": BASE, "view": read.projection.name, "fields": [str(path) for path in read.projection.fields]}
    by_arguments = Read.by_arguments({**given, "page": str(read.page or ""), **arguments})
    assert read.rows == by_arguments.rows == ROWS[query]
    assert replace(Read.of(by_arguments.to_uri()), uri=None) == replace(read, uri=None) == by_arguments


NO_ROWS = {
    "a list": ({"sort_by": ["id"]}, InvalidArguments, "'sort_by': expected one field path, such as 'id', or '-id' to"),
    "no path": ({"count_by": "a..b"}, InvalidProjection, "field path 'a..b'"),
    "a minus": ({"sort_by": "-"}, InvalidProjection, "expected a field path"),
    "no number": ({"limit": True}, InvalidArguments, "'limit': expected a whole number from 1"),
    "an order": ({"count_by": "a", "sort_by": "a"}, InvalidArguments, "leave out 'sort_by', fields and 'view'"),
    "a view": ({"count_by": "a", "view": "brief"}, InvalidArguments, "leave out 'sort_by', fields and 'view'"),
}


@pytest.mark.parametrize(("arguments", "error", "message"), NO_ROWS.values(), ids=NO_ROWS)
def test_what_cannot_be_asked_of_rows_is_refused(arguments, error, message):
    """Ours; what is empty is left out."""
    with pytest.raises(error, match=re.escape(message)):
        Read.by_arguments({"handle": "x", **arguments})
    assert Read.by_arguments({"handle": "x", **dict.fromkeys(arguments, "")}).rows == ALL_ROWS


PARAMETERS = "one of 'fields', 'view', 'page', 'sort_by', 'limit', 'count_by'"
WRONG = {
    "an unknown parameter": ("?field=id", 25, PARAMETERS),
    "a second view": ("?view=a&view=b", 32, f"{PARAMETERS} once"),
    "a second limit": ("?limit=1&limit=1", 33, f"{PARAMETERS} once"),
    "limit 0": ("?limit=0", 25, "a limit from 1"),
    "page 0": ("?page=0", 25, "a page from 1"),
    "no number": ("?page=two", 25, "a page from 1"),
    "another script": ("?page=%D9%A1", 25, "a page from 1"),
    "a huge page": ("?page=9999999999", 25, "a page from 1"),
    "half an escape": ("?fields=%2", 33, "two hexadecimal digits after '%'"),
    "a fragment": ("#fields=id", 24, "no fragment"),
}


@pytest.mark.parametrize(("query", "offset", "expected"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_refused_with_its_place(query, offset, expected):
    """Ours."""
    with pytest.raises(InvalidUri) as refused:
        Read.of(BASE + query)
    assert (refused.value.fields["offset"], refused.value.fields["expected"]) == (offset, expected)


def test_paths_are_those_of_requests():
    """PROJECTION.md: refused with the same words."""
    with pytest.raises(InvalidProjection, match=r"field path 'a\.\.b'"):
        Read.of(f"{BASE}?fields=a..b")
    with pytest.raises(InvalidProjection, match="either fields or a 'view'"):
        Read.of(f"{BASE}?fields=a&view=b")


def test_a_long_uri_is_refused():
    """Ours: `MAX_URI_BYTES`."""
    with pytest.raises(LouverError) as refused:
        Read.of(f"{BASE}?fields={MAX_URI_BYTES * 'a'}")
    assert refused.value.fields == {"limit": MAX_URI_BYTES}
