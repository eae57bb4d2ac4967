"""Names of tools that scripts have found lately."""

from __future__ import annotations

from louver.limits import DEFINITIONS_S
from louver.lua.scripts import MAX_CALL_NAMES, ToolNameCache


def test_names_are_known_for_a_while():
    """Ours."""
    now = 100.0
    names = ToolNameCache(lambda: now)
    names.put(("me", "shop"), {"buy": "shop__buy"})
    assert names.find(("me", "shop")) == {"buy": "shop__buy"}
    assert names.find(("you", "shop")) == {}
    now += DEFINITIONS_S
    assert names.find(("me", "shop")) == {}


def test_the_oldest_are_forgotten():
    """Ours: so many names, whoever has found them."""
    names = ToolNameCache()
    half = {str(number): "x" for number in range(MAX_CALL_NAMES // 2)}
    for key in ("first", "second", "third"):
        names.put(key, half)
    assert names.find("first") == {}
    assert names.find("second") == names.find("third") == half
    names.put("second", {"a": "b"})
    names.put("fourth", {"a": "b"})
    assert names.find("third") == half
    names.clear()
    assert names.find("third") == {}
