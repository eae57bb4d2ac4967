"""Whether an address is one of a template: what level 1 of RFC 6570 and `{+var}` make, and in which time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.gateway.routing.resource_owners import UriTemplate
from louver.limits import MAX_URI_BYTES


@pytest.mark.parametrize(
    ("template", "uri", "is_one"),
    [
        ("b://{x}", "b://1", True),
        ("b://{x}", "b://1/2", False),
        ("b://{x}", "a://1", False),
        ("b://{x}", "b://", True),
        ("file:///{+path}", "file:///a/b.txt", True),
        ("test://template/{id}/data", "test://template/5/data", True),
        ("test://template/{id}/data", "test://template/5/data/more", False),
        ("test://template/{id}/data", "test://template/5", False),
        ("a:{x}-{y}", "a:1-2-3", True),
        ("a:{+x}/x{y}", "a:/x/q/x9", True),
        ("a:{x}{+y}", "a:/", True),
        ("a:b", "a:b", True),
        ("a:b", "a:bc", False),
        # What these stand for is not known.
        ("a:{?q}", "a:?q=1", False),
        ("a:{x,y}", "a:1,2", False),
        ("a:{x", "a:{x", True),
        ("{+anything}", "b://1", False),
    ],
)
def test_an_address_is_of_a_template_or_not(template, uri, is_one):
    """RFC 6570, sections 3.2.2 and 3.2.3; that a template begins with what it is for is ours."""
    assert UriTemplate(template).matches(uri) is is_one


parts = st.lists(st.sampled_from(["{a}", "{+b}", "/", "x", "y", "x/y"]), max_size=8)


@given(parts, st.text("xy/", max_size=10))
def test_it_is_as_a_pattern_has_it(parts, rest):
    """Ours: a plain variable is any text without a `/`, the other any text."""
    pattern = "a:" + "".join({"{a}": "[^/]*", "{+b}": ".*"}.get(part, part) for part in parts)
    assert UriTemplate("a:" + "".join(parts)).matches(f"a:{rest}") is (re.fullmatch(pattern, f"a:{rest}") is not None)


@pytest.mark.parametrize("variable", ["{a}-", "{+a}-", "{a}/{+b}-"])
def test_it_takes_no_time_that_grows_with_the_template(variable):
    """Ours: a pattern would take years."""
    template = UriTemplate("a:" + variable * 100 + "!")
    assert not template.matches("a:" + "-" * 8000)


def test_an_address_that_is_too_long_is_of_no_template():
    """GATEWAY.md: the event loop is never kept busy over 250 ms; one of 4 MB took 420."""
    assert not UriTemplate("a:{+x}").matches("a:" + "b" * 4_000_000)


def test_one_that_is_longer_than_an_address_stands_for_none():
    """Ours: what is made of it takes memory by its length."""
    text = "a:" + "b" * MAX_URI_BYTES
    assert not UriTemplate(text + "{x}").matches(text)
