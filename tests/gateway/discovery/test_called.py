"""Names of tools that scripts have found lately."""

from __future__ import annotations

from louver.gateway.discovery.scripts import CallNames
from louver.limits import DEFINITIONS_S, MAX_CALL_NAMES


def test_names_are_known_for_a_while():
    """Ours."""
    now = 100.0
    names = CallNames(lambda: now)
    names.keep(("me", "shop"), {"buy": "shop__buy"})
    assert names.find(("me", "shop")) == {"buy": "shop__buy"}
    assert names.find(("you", "shop")) == {}
    now += DEFINITIONS_S
    assert names.find(("me", "shop")) == {}


def test_the_oldest_are_forgotten():
    """Ours: so many names, whoever has found them."""
    names = CallNames()
    half = {str(number): "x" for number in range(MAX_CALL_NAMES // 2)}
    for key in ("first", "second", "third"):
        names.keep(key, half)
    assert names.find("first") == {}
    assert names.find("second") == names.find("third") == half
    names.keep("second", {"a": "b"})
    names.keep("fourth", {"a": "b"})
    assert names.find("third") == half
    names.clear()
    assert names.find("third") == {}
