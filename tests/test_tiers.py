"""The everyday tier sees to everything that the deep one sees to; what it leaves alone stands here."""

from conftest import COLLECTED

ONLY_DEEP = {}
"""Functions without an everyday case: "file::function", or a folder or file before them -> why."""


def _where(item):
    return item.nodeid.partition("[")[0]


def test_what_is_tried_in_the_deep_tier_has_an_everyday_case(request):
    """Ours."""
    collected = request.config.stash[COLLECTED]
    deep = {_where(item) for item in collected if item.get_closest_marker("deep")}
    everyday = {_where(item) for item in collected if not item.get_closest_marker("deep")}
    alone = {name for name in deep - everyday if not name.startswith(tuple(ONLY_DEEP))}
    assert not alone, f"these have no everyday case, and no reason in {__name__}: {sorted(alone)}"
