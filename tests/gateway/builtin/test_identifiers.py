"""Names as a Lua script writes them."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.gateway.builtin.identifiers import GLOBALS, RESERVED, identifier, identifiers

likely = st.sampled_from(["a-b", "a.b", "a_b", "end", "_end"])
names = st.lists(st.text(max_size=4) | likely, unique=True)


@pytest.mark.parametrize(
    ("name", "lua"),
    [("data-server", "data_server"), ("my.api", "my_api"), ("123numbers", "_123numbers"), ("while", "_while")],
)
def test_names_become_identifiers(name, lua):
    """003 section "Name Sanitization": its four examples."""
    assert identifier(name) == lua


@pytest.mark.parametrize(("name", "lua"), [("", "_"), ("a b/c", "a_b_c"), ("größe", "gr__e"), ("While", "While")])
def test_whatever_lua_does_not_take_becomes_an_underscore(name, lua):
    """Ours."""
    assert identifier(name) == lua


@pytest.mark.parametrize("name", ["result", "json", "string", "await_all"])
def test_a_server_takes_no_name_that_a_script_has(name):
    """Ours."""
    assert list(identifiers([name], GLOBALS)) == [f"_{name}"]


def test_names_that_become_one_are_both_told_apart():
    """GATEWAY.md: both suffixed, stably."""
    both = identifiers(["my-api", "my.api", "other"])
    assert list(both.values()) == ["my-api", "my.api", "other"]
    dash, dot, other = both
    assert other == "other"
    assert re.fullmatch(r"my_api_[0-9a-f]{6}", dash)
    assert dash != dot
    assert list(identifiers(["my.api", "x", "my-api"])) == [dot, "x", dash]


def test_a_name_that_another_would_get_is_left_to_it():
    """Ours."""
    taken = next(iter(identifiers(["a-b", "a.b"])))
    found = identifiers(["a-b", "a.b", taken])
    assert found[taken] == taken
    assert len(found) == 3


def test_whoever_takes_every_digest_takes_no_identifier():
    """Ours: names are a stranger's choice."""
    digest = hashlib.sha256(b"a-b").hexdigest()
    taken = [f"a_b_{digest[:length]}" for length in range(6, 65)]
    found = identifiers(["a-b", "a.b", *taken])
    assert sorted(found.values()) == sorted(["a-b", "a.b", *taken])


@given(names)
def test_every_name_has_an_identifier_of_its_own(some):
    """Ours."""
    found = identifiers(some, GLOBALS)
    assert list(found.values()) == some
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", lua, re.ASCII) for lua in found)
    assert found.keys().isdisjoint(RESERVED | GLOBALS)


@given(names, st.randoms())
def test_the_order_of_names_does_not_matter(some, rng):
    """Ours: what a script has learnt stays so."""
    shuffled = rng.sample(some, len(some))
    assert identifiers(shuffled) == identifiers(some)
