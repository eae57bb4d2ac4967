"""Plans that take long to make are made off the event loop."""

import threading

import pytest

from louver.catalogue import entry
from louver.core.projection.plan import compile_projection
from steps.profiles import lowlevel, structured, tool
from steps.wire import attached

pytestmark = pytest.mark.anyio

# A name at each place of a row of wildcards: with rows of thirty, that makes thousands of combinations.
MANY = [".".join([*["*"] * at, "abc"[at % 3], *["*"] * (6 - at), "d"]) for at in range(6)]
NODE = {"type": "object", "properties": {name: {"$ref": "#"} for name in "abcdefghij"}}
VALUE = {"a": {"b": {}}, "d": {"e": {}}}


@pytest.fixture
def threads(monkeypatch):
    """Whether each plan was made on the event loop."""
    found = []

    def noted(*given, **options):
        found.append(threading.current_thread() is threading.main_thread())
        return compile_projection(*given, **options)

    monkeypatch.setattr(entry, "compile_projection", noted)
    return found


@pytest.mark.parametrize("schema", [None, NODE], ids=["no schema", "a recursive schema"])
@pytest.mark.parametrize("mode", ["include", "exclude"])
async def test_a_projection_with_many_wildcards_is_compiled_off_the_event_loop(era, threads, schema, mode):
    """TRUST.md, row 12: the event loop stood still for 0.7 s."""
    async with attached(lowlevel(it=tool(schema, structured(VALUE))).server, era) as wire:
        few = await wire.call("it", projection={"mode": mode, "fields": ["*.b", "d.*"]})
        assert few["structuredContent"] == (
            {"a": {"b": {}}, "d": {"e": {}}} if mode == "include" else {"a": {}, "d": {}}
        )
        assert set(threads) == {True}
        threads.clear()
        many = await wire.call("it", projection={"mode": mode, "fields": ["d", *MANY]})
        assert ("d" in many["structuredContent"]) is (mode == "include")
        assert threads
        assert set(threads) == {False}
