"""Masks: many paths as one tree, bounded."""

from __future__ import annotations

from random import Random

import pytest

from louver.core.paths.mask import ALL, NONE, Mask, exclude_mask, include_mask, mask_steps
from louver.core.paths.path import FieldPath
from louver.errors import ProjectionLimit
from louver.limits import MAX_MASK_STATES


def paths(*texts: str) -> list[FieldPath]:
    return [FieldPath.parse(text, deep=True) for text in texts]


def test_an_include_keeps_what_is_named_and_leaves_out_the_rest():
    mask = include_mask(paths("id", "user.login"))
    assert mask.child("id") is ALL
    assert mask.child("user").child("login") is ALL
    assert mask.child("user").child("email") is NONE
    assert mask.child("other") is mask.other is NONE
    assert list(mask.children) == ["id", "user"]


def test_an_exclude_leaves_out_what_is_named_and_keeps_the_rest():
    mask = exclude_mask(paths("user.email", "body"))
    assert mask.child("body") is NONE
    assert mask.child("user").child("email") is NONE
    assert mask.child("user").other is mask.other is ALL


def test_a_name_looks_through_arrays():
    """PROJECTION.md: arrays are transparent."""
    for mask in (include_mask(paths("a")), exclude_mask(paths("a")), exclude_mask(paths("**.a"))):
        assert mask.elem is mask


def test_a_wildcard_of_an_include_takes_exactly_one_array():
    mask = include_mask(paths("*.a"))
    assert mask.elem is mask.other
    assert mask.elem.child("a") is ALL
    assert mask.child("a").child("a") is ALL
    assert include_mask(paths("xs[*]")).child("xs").elem is ALL


def test_a_wildcard_of_an_exclude_is_not_used_up_by_an_array_and_also_takes_no_step():
    """PROJECTION.md, "What exclude keeps": it fails closed."""
    mask = exclude_mask(paths("users.*.password"))
    users = mask.child("users")
    assert users.child("password") is NONE
    assert users.elem.child("al").child("password") is NONE
    assert exclude_mask(paths("xs[*]")).child("xs").elem is NONE


def test_a_name_at_any_depth_is_left_out_wherever_it_stands():
    mask = exclude_mask(paths("**.email", "a.b"))
    assert mask.child("x").child("y").child("email") is NONE
    assert mask.child("a").child("b") is NONE
    assert mask.child("x").child("y") is mask.child("x")


def test_everything_and_nothing_are_the_two_leaves():
    assert include_mask(paths("*")) is ALL
    assert exclude_mask(paths("*")) is NONE
    assert include_mask([]) is NONE
    assert exclude_mask([]) is ALL
    assert not ALL.is_inner
    assert not NONE.is_inner
    assert include_mask(paths("a")).is_inner


def test_equal_states_are_one_node():
    """Nodes are interned, so a mask of many paths below one wildcard stays small."""
    looped = exclude_mask(paths("**.y"))
    assert looped.other is looped


def test_what_a_mask_leaves_out_is_left_out_wherever_it_leads():
    mask = exclude_mask(paths("a.b", "c"))
    assert mask.leaves_out(FieldPath(("c", "d")))
    assert mask.leaves_out(FieldPath(("a", "b")))
    assert not mask.leaves_out(FieldPath(("a",)))
    assert not mask.leaves_out(FieldPath((None,)))


def wild(count: int, length: int) -> list[FieldPath]:
    rng = Random(1)
    steps = [tuple(None if rng.random() < 0.5 else rng.choice("ab") for _ in range(length)) for _ in range(count)]
    return [FieldPath(path) for path in steps]


def nodes(root: Mask) -> int:
    seen: set[Mask] = set()
    todo = [root]
    while todo:
        mask = todo.pop()
        if mask not in seen:
            seen.add(mask)
            todo += [*mask.children.values(), mask.other, mask.elem]
    return len(seen)


def test_a_path_of_rows_is_left_out_with_what_its_tests_read():
    """ROWS.md, "Privacy": a view that names a denied member is not told to those who may not see it."""
    mask = exclude_mask(paths("items.secret", "other"))
    for text, is_left_out in {
        "$.items[?@.id == 1].title": False,
        "$.items[?@.secret == 1].title": True,
        "$.items[?@.id == $.other].title": True,
        "$.items[?@.id == $.items[0].secret].title": True,
        "$.items[?@.id == $.items[0].id].title": False,
        "$.items[?@.a[?@.b]].secret": True,
        "$.items['id','secret']": True,
        "$.items['id','title'].a": False,
        "$..secret": False,
        "$.other[0]": True,
    }.items():
        assert mask.leaves_out(FieldPath.parse(text, rows=True)) == is_left_out, text


@pytest.mark.parametrize("read", [include_mask, exclude_mask])
def test_paths_that_make_too_many_states_are_refused(read: object):
    """PROJECTION.md: 4096 determinised mask states, counted when the request is read; ours."""
    assert callable(read)
    with pytest.raises(ProjectionLimit) as refused:
        read(wild(24, 30))
    assert refused.value.fields["limit"] == MAX_MASK_STATES


def test_few_states_that_are_wide_are_refused_for_their_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("louver.core.paths.mask.MAX_MASK_STEPS", 100)
    with pytest.raises(ProjectionLimit):
        exclude_mask(wild(10, 8))


def test_the_steps_of_a_mask_are_counted_as_far_as_asked():
    """TRUST.md, row 17: the cost is known before it is paid; past `most` it is not paid."""
    for texts, exclude, steps in ((["*.a", "*.b"], False, 9), (["a.*.b", "**.c"], True, 18), ([], True, 1)):
        assert mask_steps(paths(*texts), steps, exclude=exclude) == steps
        assert mask_steps(paths(*texts), steps - 1, exclude=exclude) is None
    assert mask_steps(wild(24, 30), 2_000, exclude=False) is None


def test_the_greatest_request_without_wildcards_is_one_state_a_prefix():
    mask = include_mask([FieldPath((f"a{number}", *("b" * 31))) for number in range(100)])
    assert nodes(mask) <= 100 * 32 + 3
