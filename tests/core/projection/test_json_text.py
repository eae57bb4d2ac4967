"""Text in, text out: what comes out, read again, is what the interpreter keeps of the value."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from louver import Projection, compile_projection
from louver.core.json import NotJson, compact
from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project
from louver.core.projection.json_text import SkippingBytes, read, written
from louver.core.projection.plan import Plan
from louver.core.projection.specialise import FIRST_CALLS
from louver.limits import MAX_ARRAY_LEVELS, MAX_JSON_DEPTH

NAMES = ["a", "b", "c", "d", "'+__import__('os').getcwd()+'", "{x}", "\\", "\n", '"', "é", "\x00"]
ISSUE = {"id": 1, "title": "t", "body": "x", "user": {"login": "l", "id": 2}, "labels": [{"name": "n", "color": "c"}]}
WRAPPED = {"type": "object", "properties": {"result": {"type": "array"}}, "required": ["result"]}

values = st.recursive(
    st.sampled_from([None, True, 1, 2.5, 10**30, "x", "a b", "\ud800", "é\\"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(NAMES), below, max_size=4),
    max_leaves=12,
)
steps = st.sampled_from([*NAMES, *NAMES, None])
paths = st.builds(FieldPath, st.lists(steps, min_size=1, max_size=4).map(tuple))
deep = st.builds(lambda name: FieldPath((name,), deep=True), st.sampled_from(NAMES))
spaces = st.sampled_from([None, 1])


def plan(mode: str, *fields: str, schema: Any = None) -> Plan:
    return compile_projection(Projection.from_wire({"mode": mode, "fields": list(fields)}), schema)


def text_of(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent).encode()


def same(kept: bytes, expected: Any) -> None:
    """The same members in the same order."""
    assert compact(json.loads(kept)) == compact(expected)


@given(st.lists(paths, min_size=1, max_size=4), st.lists(values, min_size=1, max_size=6), spaces)
@example([FieldPath(("a", "b")), FieldPath(("c",))], [{"a": 7}], None)
def test_an_include_of_text_is_what_the_interpreter_keeps(fields: list[FieldPath], seen: list[Any], indent: int | None):
    """The interpreter is the oracle."""
    plan = Plan(Projection("include", tuple(fields)), tuple(fields), (), (), None)
    for value in seen + seen:
        same(plan.project_json(text_of(value, indent)), project(value, include_mask(fields)))


@given(st.lists(paths | deep, min_size=1, max_size=4), st.lists(values, min_size=1, max_size=6), spaces)
def test_an_exclude_of_text_is_what_the_interpreter_keeps(fields: list[FieldPath], seen: list[Any], indent: int | None):
    """The interpreter is the oracle."""
    plan = Plan(Projection("exclude", tuple(fields)), (), tuple(fields), (), None)
    for value in seen + seen:
        same(plan.project_json(text_of(value, indent)), project(value, exclude_mask(fields)))


@given(st.lists(paths, min_size=1, max_size=3), st.lists(deep, min_size=1, max_size=2), st.lists(values, min_size=1))
def test_text_in_the_wrapper_is_kept_as_its_value_is(chosen: list[FieldPath], left: list[FieldPath], seen: list[Any]):
    """The wrapper stays; a view's fields and its exclusions come one after the other."""
    view = Plan(Projection.view("v"), tuple(chosen), tuple(left), (), WRAPPED)
    for value in seen:
        for output in ({"result": value}, {"result": value, "b": 1}, value):
            same(view.project_json(text_of(output)), view(output))


@given(values)
@example(["\ud800", 10**30])
def test_text_that_was_read_and_written_is_the_same_value(value: Any):
    """Lone surrogates, large numbers and all."""
    assert json.loads(written(read(text_of(value)))) == value


@given(
    st.lists(values, min_size=3, max_size=3), st.integers(0), st.integers(0, 255), st.sampled_from(["a", "*.a", "*"])
)
def test_a_broken_text_is_refused_when_and_only_when_it_is_no_json(seen: list[Any], place: int, byte: int, field: str):
    """With any byte put in any place, also where it is left out, before and after the plan has learnt.

    Of what an include leaves out the bytes within strings are not looked at.
    """
    chosen = [plan("include", field), plan("exclude", field)]
    data = json.dumps(seen[0], ensure_ascii=False).encode("utf-8", "replace")
    broken = bytearray(data)
    broken[place % len(data)] = byte
    for text in [data, *map(text_of, seen), bytes(broken)]:
        for each in chosen:
            if (value := _strictly(text)) is not _NO_JSON:
                same(each.project_json(text), each(value))
            elif each.request.mode == "include" and (value := _strictly(_as_utf_8(text))) is not _NO_JSON:
                with suppress(NotJson):
                    same(each.project_json(text), each(value))
            else:
                with pytest.raises(NotJson):
                    each.project_json(text)


_NO_JSON = object()


def _as_utf_8(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _strictly(data: bytes) -> Any:
    def constant(name: str) -> Any:
        raise ValueError(name)

    try:
        return json.loads(data.decode(), parse_constant=constant)
    except ValueError:
        return _NO_JSON


@pytest.mark.parametrize(
    "output",
    [
        {"result": [{"a": 1, "b": 2}]},
        {"result": [{"a": "é", "b": 2}]},
        {"result": []},
        {"result": 7},
        {"result": [{"a": 1}], "b": 1},
        {"b": 1},
        [{"a": 1, "b": 2}],
        None,
    ],
)
def test_names_within_the_wrapper_are_kept_whatever_comes(output: Any):
    """Wrapped as it should be, or not."""
    chosen = plan("include", "a", schema=WRAPPED)
    for _ in range(FIRST_CALLS + 1):
        same(chosen.project_json(text_of(output)), chosen(output))
        same(chosen.project_json(json.dumps(output, ensure_ascii=False, indent=1).encode()), chosen(output))


@pytest.mark.parametrize("data", [b"", b'{"result": [', b'{"result": nul}', b'{"result": [{"a": "\xff"}]}', b"\xff"])
def test_what_is_no_json_is_refused_in_the_wrapper_too(data: bytes):
    """Before the plan has learnt and after."""
    chosen = plan("include", "a", schema=WRAPPED)
    for _ in range(2 * FIRST_CALLS):
        with pytest.raises(NotJson):
            chosen.project_json(data)
        chosen.project_json(b'{"result": [{"a": 1}]}')


def test_bytes_of_a_string_that_is_left_out_are_not_looked_at():
    """Ours: before the plan has learnt and after; what is kept is UTF-8."""
    chosen = plan("include", "a")
    for _ in range(FIRST_CALLS + 1):
        assert chosen.project_json(b'{"b": "\xff", "a": 1}') == b'{"a":1}'
        with pytest.raises(NotJson):
            chosen.project_json(b'{"b": 1, "a": "\xff"}')
    for _ in range(FIRST_CALLS + 1):
        assert chosen.project_json(b'{"b": 1, "a": 1}') == b'{"a":1}'
    assert chosen.project_json(b'{"b": "\xff", "a": 1}') == b'{"a":1}'


def test_alike_texts_are_kept_by_a_generated_type():
    """Ours: after three calls, or one large value."""
    mask = include_mask([FieldPath.parse(path) for path in ("issues.id", "issues.user.login", "issues.labels.name")])
    compiled = SkippingBytes(mask, {})
    were_special: list[bool] = []
    for _ in range(FIRST_CALLS + 1):
        were_special.append(compiled.is_special)
        kept = compiled.keep(text_of({"issues": [ISSUE, {**ISSUE, "user": None}]}))
    assert were_special == [False] * FIRST_CALLS + [True]
    assert kept == (
        b'{"issues":[{"id":1,"labels":[{"name":"n"}],"user":{"login":"l"}},'
        b'{"id":1,"labels":[{"name":"n"}],"user":null}]}'
    )
    large = SkippingBytes(mask, {})
    large.keep(text_of({"issues": [ISSUE] * 300}))
    assert large.is_special
    unwritable = SkippingBytes(include_mask([FieldPath(("\\",))]), {})
    for _ in range(FIRST_CALLS + 1):
        assert unwritable.keep(text_of({"\\": 1, "a": 2})) == b'{"\\\\":1}'
    assert not unwritable.is_special


@pytest.mark.parametrize(
    "number", ["1.10", "1e3", "-0", "-0.0", "1e999", "0.1000000000000000055511151231257827", "9" * 60]
)
def test_a_number_keeps_its_spelling(number: str):
    """In every form."""
    chosen = [plan("include", "issues.id"), plan("exclude", "issues.title")]
    kept = '{"issues":[{"id":' + number + "}]}"
    data = kept.replace("}]", ',"title":"t"}]').encode()
    for _ in range(FIRST_CALLS + 1):
        assert [each.project_json(data).decode() for each in chosen] == [kept, kept]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"  ",
        b"{",
        b'{"a": 1} x',
        b'{"a": 1, "b": nul}',
        b'{"a": NaN}',
        b'{"a": 01}',
        b'{"b": "\\q"}',
        b'{"a": "\xff"}',
        b'\x0b{"a": 1}',
        b'{"a": 1}\x0c',
        b"\xef\xbb\xbf{}",
        b'{"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"b": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_json_is_refused_in_every_form(data: bytes):
    """Even where what is wrong is left out; no message tells a value."""
    chosen = plan("include", "a")
    for _ in range(FIRST_CALLS):
        with pytest.raises(NotJson):
            chosen.project_json(data)
    assert chosen.project_json(b'{"a": 1, "b": 2}') == b'{"a":1}'
    with pytest.raises(NotJson):
        chosen.project_json(data)


def test_text_is_read_down_to_the_bound():
    """Ours."""
    below = MAX_JSON_DEPTH - 1
    data = b'{"b":' + b"[" * below + b"]" * below + b',"a":1}'
    assert plan("include", "a").project_json(data) == b'{"a":1}'
    assert plan("exclude", "a").project_json(data) == data.replace(b',"a":1', b"")


def test_a_member_that_stands_twice_counts_as_its_last():
    """Also where the first one would be kept, or is spelled with an escape."""
    data = b'{"user": {"email": "1"}, "\\u0075ser": {"email": "2", "id": 3}}'
    for _ in range(FIRST_CALLS + 1):
        assert plan("exclude", "user.email").project_json(data) == b'{"user":{"id":3}}'
        assert plan("include", "user.id").project_json(data) == b'{"user":{"id":3}}'


@pytest.mark.parametrize("nested", [MAX_ARRAY_LEVELS, MAX_ARRAY_LEVELS + 1, MAX_ARRAY_LEVELS + 5])
def test_arrays_in_arrays_are_looked_through_to_the_same_depth(nested: int):
    """An array that is nested deeper is missing."""
    value: Any = {"a": 1, "b": 2}
    for _ in range(nested):
        value = [value]
    for _ in range(FIRST_CALLS):
        same(plan("include", "a").project_json(text_of(value)), project(value, include_mask([FieldPath(("a",))])))


def test_a_text_too_deep_for_what_is_left_of_the_stack_is_refused():
    """Never a `RecursionError`."""
    chosen = plan("exclude", "b")
    data = b'{"a":' + b"[" * 150 + b"]" * 150 + b"}"

    def down(levels: int) -> bytes:
        return chosen.project_json(data) if levels == 0 else down(levels - 1)

    outcomes: set[str] = set()
    for levels in range(0, 960, 10):
        try:
            assert down(levels) == data
            outcomes.add("kept")
        except NotJson:
            outcomes.add("refused")
        except RecursionError:
            # The test's own calls have used up the stack.
            break
    assert "kept" in outcomes


def test_what_is_left_out_takes_no_memory():
    """Counted, not timed: four megabytes of text, of which one number a row is kept."""
    data = text_of({"rows": [{"id": number, "text": "x" * 4000} for number in range(1000)]})
    ids = plan("include", "rows.id")
    ids.project_json(data)
    tracemalloc.start()
    try:
        ids.project_json(data)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < len(data) / 20
