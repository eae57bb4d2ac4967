"""What is too large is refused before it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.core.json import compact
from louver.errors import SandboxCallLimit, SandboxRuntime
from louver.limits import MAX_SCRIPT_REPLY
from louver.lua import bridge
from louver.lua.bridge import is_over_bytes
from lua.hosts import Tools, run, started

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
)


@given(JSON)
def test_nothing_is_over_that_is_not(value):
    """*Ours*, a law: it counts too few bytes, never too many."""
    assert not is_over_bytes(value, len(compact(value).encode("utf-8", "surrogatepass")))


@pytest.mark.parametrize("value", ["x" * 9, [1] * 9, [[]] * 5, {"a" * 9: 1}, 10**20, [{"a": "xxxx"}]])
def test_what_is_much_larger_is_over(value):
    """*Ours*: whatever it is that is large."""
    assert is_over_bytes(value, 5)


@pytest.mark.anyio
async def test_a_large_answer_is_never_written(monkeypatch):
    """*Ours*: neither the value of a tool, nor the texts of its error."""
    written = []

    def compact_once(value):
        written.append(compact(value))
        return written[-1]

    monkeypatch.setattr(bridge, "compact", compact_once)
    async with started() as sandbox:
        for value in ([{"a": 1}] * 800_000, "x" * 6_000_000, {"a": {"b": ["xxxx"] * 1_000_000}}):
            with pytest.raises(SandboxCallLimit) as caught:
                await run(sandbox, "result(srv.give():await())", Tools(value))
            assert caught.value.fields["limit"] == MAX_SCRIPT_REPLY
        monkeypatch.setattr("lua.hosts.SECRET", "x" * 6_000_000)
        with pytest.raises(SandboxRuntime):
            await run(sandbox, "srv.fail():await()")
    assert max(map(len, written)) < 1000
