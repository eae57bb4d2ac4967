"""The law of masks as functions: they do what the interpreters do."""

from __future__ import annotations

import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.test_visible_laws import paths
from louver.core.json import compact, is_array
from louver.core.paths.mask import ALL, NONE, exclude_mask
from louver.core.paths.path import FieldPath
from louver.core.policy.embedded_json import begins_like_json, may_have_json_texts
from louver.core.policy.hiding import MAX_KEPT_FATES, hiding
from louver.core.policy.masking import HIDDEN, hide
from louver.core.policy.name_variants import keyed, twinned
from louver.core.project import project
from strategies import randoms, triples


def put(value: Any) -> str:
    return f"<{compact(value)}>"


def masks(*names: str) -> tuple[Any, Any]:
    """The masks of denied paths: of what goes, and of what something else stands for."""
    found = exclude_mask(keyed(FieldPath.parse(name, deep=True) for name in names))
    return twinned(found), twinned(found, HIDDEN)


@given(triples(), randoms())
def test_a_mask_as_a_function_hides_what_it_hides(triple: Any, rng: Any):
    """Twice: what becomes of a name is kept."""
    value = triple.value
    found = exclude_mask(keyed(paths(rng, value, "exclude")))
    gone, hidden = twinned(found), twinned(found, HIDDEN)
    keep, replace = hiding(gone, None), hiding(hidden, put)
    for _ in range(2):
        assert keep(value) == project(value, gone)
        assert replace(value) == hide(value, hidden, put)


def test_variants_of_a_name_are_hidden_however_many_names_there_are():
    gone, _ = masks("**.ssn", "b.*.c")
    keep = hiding(gone, None)
    many = {f"name {number}": {"SSN": number, "x": [number]} for number in range(MAX_KEPT_FATES + 10)}
    for _ in range(2):
        assert keep({**many, "s\u200bsn": 1}) == {name: {"x": each["x"]} for name, each in many.items()}
    assert keep({"b": {"x" * 300: {"c": 1, "d": [{"ssn": 1}, 2]}}}) == {"b": {"x" * 300: {"d": [{}, 2]}}}


def test_a_value_of_any_depth_is_hidden():
    gone, hidden = masks("**.ssn")
    deep: Any = {"ssn": 1}
    for _ in range(sys.getrecursionlimit()):
        deep = [{"a": deep}]
    for mask, by in ((gone, None), (hidden, put)):
        found: Any = hiding(mask, by)(deep)
        while is_array(found):
            found = found[0]["a"]
        assert found == ({} if by is None else {"ssn": "<1>"})


def test_what_is_hidden_or_seen_as_a_whole():
    assert (hiding(ALL, None)([1]), hiding(NONE, None)([1]), hiding(HIDDEN, put)(1)) == ([1], [], "<1>")


TEXTS = st.text(st.sampled_from('ab_1 "\\{[:,/#\n\u200b\ud800é]}'), max_size=6)


@given(TEXTS, TEXTS)
def test_no_text_that_begins_like_json_is_passed_over(text: str, other: str):
    """In each place where it may stand, beside any other."""
    for value in (text, [text], {"a": text}, {other: text}, [other, text], {"a": [{"b": 1, other: text}]}):
        assert may_have_json_texts(value) or not begins_like_json(text)


def test_texts_that_begin_with_a_word_are_not_looked_at():
    """And a value that is too deep to be written is."""
    assert not may_have_json_texts({"a": ["x", "It: {", {"_b": "1 [x", "": ""}], "c": None})
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert may_have_json_texts(deep)
