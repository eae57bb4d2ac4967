"""The URI of a kept result: what is read by it, and what is refused."""

from __future__ import annotations

import pytest

from louver.core.projection.request import Projection
from louver.errors import InvalidProjection, InvalidUri, LouverError
from louver.limits import MAX_URI_BYTES
from louver.wire.results import Read

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


WRONG = {
    "an unknown parameter": ("?field=id", 25, "one of 'fields', 'view', 'page'"),
    "a second view": ("?view=a&view=b", 32, "one of 'fields', 'view', 'page' once"),
    "a second page": ("?page=1&page=1", 32, "one of 'fields', 'view', 'page' once"),
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
