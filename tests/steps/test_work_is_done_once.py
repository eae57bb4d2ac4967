"""What an answer costs is counted, never timed: what depends only on the request is worked out once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from mcp import Client

import louver
from louver.catalogue import entry
from louver.core.projection import compile, plan
from louver.steps.calls import apply
from louver.wire.names import PROJECTION_LITERAL
from steps.profiles import LOWLEVEL, MCPSERVER, build, lowlevel, structured, text, tool

pytestmark = pytest.mark.anyio

WORK = [
    (plan, "derive", "derivations"),
    (plan, "include_mask", "masks"),
    (entry, "validator", "validators"),
    (compile, "generated", "generated functions"),
    (apply, "infer", "inferences"),
]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each piece of work is done."""
    counts: Counter[str] = Counter()
    for module, name, what in WORK:
        real = getattr(module, name)

        def counting(*args, real=real, what=what, **named):
            counts[what] += 1
            return real(*args, **named)

        monkeypatch.setattr(module, name, counting)
    return counts


@pytest.mark.parametrize("kind", [MCPSERVER, LOWLEVEL])
async def test_fifty_calls_with_one_request_derive_one_schema(kind: str, counted: Counter[str]):
    """Ours: and make one mask, one validator and one generated function."""
    made = build(kind)
    louver.attach(made.server)
    async with Client(made.server) as client:
        for number in range(50):
            form = "inline" if number % 2 else "none"
            request = {"mode": "include", "fields": ["name", "items.id"], "schema": form}
            result = await client.call_tool("get_profile", {}, meta={PROJECTION_LITERAL: request})
            assert result.structured_content == {"name": "Ann", "items": [{"id": 1}, {"id": 2}]}
    assert len(made.calls) == 50
    assert counted == {what: 1 for _, _, what in WORK if what != "inferences"}


@pytest.mark.parametrize("wrapper", [None, "content"])
async def test_fifty_answers_of_one_shape_derive_one_schema(wrapper: str | None, counted: Counter[str]):
    """Ours: where no schema is declared too; reading an answer's shape is what each answer costs."""

    def answer(number: int) -> dict[str, Any]:
        rows = [{"id": number, f"left out {number}": number}, *[{"id": 0, "name": None}] * (1 + number % 7)]
        value = dict(sorted({"rows": rows, "n": number}.items(), reverse=number % 2 == 0))
        return text(json.dumps(value)) if wrapper is None else structured({wrapper: json.dumps(value)})

    numbers = iter(range(50))
    made = lowlevel(t=tool(None, lambda _: answer(next(numbers))))
    louver.attach(made.server)
    async with Client(made.server) as client:
        for _ in range(50):
            request = {"mode": "include", "fields": ["rows.id"]}
            result = await client.call_tool("t", {}, meta={PROJECTION_LITERAL: request})
            assert result.meta[PROJECTION_LITERAL]["schemaSource"] == "inferred"
    assert counted == {"inferences": 50} | {what: 1 for _, _, what in WORK if what != "inferences"}


async def test_a_tool_with_many_shapes_is_still_kept_by_one_function(counted: Counter[str]):
    """Ours: a schema is derived for each shape; the masks, and what they learn of values, are shared."""
    several = [{"id": 1}, {"id": None}, {"id": "a"}, {"id": 2.5}, {"id": []}]
    numbers = iter(range(50))
    made = lowlevel(t=tool(None, lambda _: text(json.dumps(several[next(numbers) % 5]))))
    louver.attach(made.server)
    async with Client(made.server) as client:
        for _ in range(50):
            request = {"mode": "include", "fields": ["id"]}
            await client.call_tool("t", {}, meta={PROJECTION_LITERAL: request})
    assert counted["derivations"] == counted["validators"] == 5
    assert counted["masks"] == counted["generated functions"] == 1
