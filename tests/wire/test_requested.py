"""Where a request stands: under two keys of `_meta`."""

import pytest

from louver.core.projection.request import Projection
from louver.errors import InvalidProjection
from louver.wire.names import ARGUMENT, GRANT_ARGUMENT, HINT, PREFIX, PROJECTION, PROJECTION_LITERAL
from louver.wire.projection import requested

NAME = {"mode": "include", "fields": ["name"]}
ID = {"mode": "include", "fields": ["id"]}


def test_the_names_on_the_wire_are_these():
    """#1704 for the literal ones; the others are ours, under one vendor prefix."""
    assert (PROJECTION_LITERAL, PROJECTION, ARGUMENT) == ("projection", "dev.louver/projection", "output_fields")
    assert (HINT, GRANT_ARGUMENT) == ("dev.louver/projectionHint", "grant")
    assert PROJECTION == PREFIX + PROJECTION_LITERAL
    # The specification reserves prefixes whose second label is `mcp` or `modelcontextprotocol`.
    assert PREFIX.rstrip("/").split(".")[1:2] == ["louver"]


@pytest.mark.parametrize("meta", [None, {}, {"progressToken": 1}, {"projections": NAME}, [], "projection", 1])
def test_without_either_key_there_is_no_request(meta):
    """Ours."""
    assert requested(meta) is None


@pytest.mark.parametrize("key", [PROJECTION_LITERAL, PROJECTION])
def test_a_request_is_found_under_each_key(key):
    """#1704, section 3, and ours."""
    assert requested({"progressToken": 1, key: NAME}) == (Projection(include=["name"]), key)


@pytest.mark.parametrize(
    "other",
    [
        NAME,
        {"fields": ["name"], "mode": "include"},
        {**NAME, "strict": False},
        {"mode": "include", "fields": ["`name`"]},
    ],
)
def test_equal_requests_under_both_keys_are_one_under_the_literal_key(other):
    """Ours: equal as requests, however they are written."""
    for meta in ({PROJECTION_LITERAL: NAME, PROJECTION: other}, {PROJECTION: other, PROJECTION_LITERAL: NAME}):
        assert requested(meta) == (Projection(include=["name"]), PROJECTION_LITERAL)


@pytest.mark.parametrize("other", [ID, {**NAME, "strict": True}, {**NAME, "schema": "none"}])
def test_different_requests_under_both_keys_are_refused(other):
    """Ours: neither can be preferred."""
    with pytest.raises(InvalidProjection, match="two different projections"):
        requested({PROJECTION_LITERAL: NAME, PROJECTION: other})


@pytest.mark.parametrize("wrong", [None, [], "name", {"mode": "INCLUDE"}])
@pytest.mark.parametrize(("one", "other"), [(PROJECTION_LITERAL, PROJECTION), (PROJECTION, PROJECTION_LITERAL)])
def test_what_is_no_request_is_refused_beside_one_that_is(wrong, one, other):
    """Ours."""
    with pytest.raises(InvalidProjection):
        requested({one: wrong})
    with pytest.raises(InvalidProjection):
        requested({one: wrong, other: NAME})


HINTS = [{"supported": True}, {"supported": True, "recommendedViews": {"minimal": ["id"]}, "views": {}}]


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("key", [PROJECTION_LITERAL, PROJECTION, HINT])
def test_a_hint_that_is_sent_back_is_no_request(hint, key):
    """HOSTS.md: OpenAI Agents sends a tool's listed `_meta` with each call of it."""
    assert requested({key: hint, "com.example/other": 1}) is None


@pytest.mark.parametrize("hint", HINTS)
def test_a_hint_beside_a_request_changes_nothing(hint):
    """Ours."""
    assert requested({PROJECTION: hint, PROJECTION_LITERAL: NAME}) == (Projection(include=["name"]), PROJECTION_LITERAL)
    assert requested({HINT: hint, PROJECTION: NAME}) == (Projection(include=["name"]), PROJECTION)
