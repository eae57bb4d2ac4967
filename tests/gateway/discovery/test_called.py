"""Names of tools that scripts have found lately."""

from __future__ import annotations

from louver.gateway.discovery.called import CallNames
from louver.limits import DEFINITIONS_S, MAX_CALL_NAMES


def test_a_name_is_known_for_a_while():
    """Ours."""
    now = 100.0
    names = CallNames(lambda: now)
    names.keep(("me", "shop", "buy"), "shop__buy")
    assert names.find(("me", "shop", "buy")) == "shop__buy"
    assert names.find(("you", "shop", "buy")) is None
    now += DEFINITIONS_S
    assert names.find(("me", "shop", "buy")) is None


def test_the_oldest_are_forgotten():
    """Ours."""
    names = CallNames()
    for number in range(MAX_CALL_NAMES + 1):
        names.keep(number, "x")
    assert names.find(0) is None
    assert names.find(1) == "x"
