"""What a caller sees, as pages of lists pass."""

from louver.limits import MAX_CALLERS
from louver.steps.tools.registry import CallerTools, ListedTools


def pages(listed, *each):
    """Learn pages: their names, and whether a list begins or ends with them."""
    for names, first, last in each:
        listed.learn(dict.fromkeys(names), {}, first=first, last=last)
    return set(listed.tools)


def test_a_whole_list_is_what_is_seen():
    """Ours: what it does not name has gone; before its end nobody knows."""
    listed = ListedTools()
    assert pages(listed, ("ab", True, False), ("c", False, True)) == set("abc")
    assert pages(listed, ("a", True, False)) == set("abc")
    assert pages(listed, ("d", False, True)) == set("ad")
    assert pages(listed, ("", True, True)) == set()


def test_what_was_searched_for_takes_nothing_away():
    """Ours: matches are no list, neither its beginning nor its end."""
    listed = ListedTools()
    assert pages(listed, ("ab", True, True), ("c", False, False)) == set("abc")


def test_a_list_whose_beginning_was_not_seen_takes_nothing_away():
    """Ours: two clients of one caller may list at once, and a cursor may be old."""
    listed = ListedTools()
    assert pages(listed, ("a", True, False), ("b", False, False), ("c", False, True)) == set("abc")
    assert pages(listed, ("b", False, False), ("c", False, True)) == set("abc")


def test_callers_are_kept_apart_and_the_longest_unseen_is_forgotten():
    """Ours: `MAX_CALLERS`."""
    sights = CallerTools(ListedTools)
    for caller in range(MAX_CALLERS):
        pages(sights.get_or_create(caller), ("a", True, True))
    sights.get_or_create(0)
    assert not sights.get_or_create("another").tools
    assert sights.find(1) is None
    assert set(sights.find(0).tools) == {"a"}
