"""A test of rows reads what its caller may see: a denied member is one that exists nowhere."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest

from fuzz.requests import random_request
from louver.core.paths.path import FieldPath
from louver.core.policy.visibility import Fields
from louver.policy.policy import Policy, Rule, ToolPolicy, Who
from tests.policy.canaries import Pipeline, _said
from tests.policy.cases import TOOL, Case
from tests.steps.wire import NEW, connect

pytestmark = pytest.mark.anyio

NAMES = ("id", "state", "note", "secret", "masked")
CONSTANTS: list[Any] = [0, 1, 2, "a", "b", None, True, "***"]
ROW = {name: {} for name in NAMES if name != "note"}
LISTED = {"type": "array", "items": {"type": "object", "properties": {**ROW, "note": {"type": "object"}}}}
SCHEMA = {"type": "object", "properties": {"items": LISTED, "secret": {}, "id": {}}}
DENIED = tuple(FieldPath.parse(text, deep=True) for text in ("**.secret",))
MASKED = tuple(FieldPath.parse(text) for text in ("items.masked", "items.note.masked"))


def policy(*, is_enforced: bool = True) -> Policy:
    fields = Fields(deny=DENIED, mask=MASKED, hash=()) if is_enforced else Fields()
    return Policy("1", {TOOL: ToolPolicy((Rule("all", Who(), fields),), is_for_others=True)}, key=b"k" * 32)


def answer(rng: Random, hidden: Random) -> Any:
    """An answer: what may be seen is of `rng`, everything else of `hidden`."""

    def row(depth: int) -> Any:
        seen = {name: rng.choice(CONSTANTS) for name in ("id", "state")}
        made: dict[str, Any] = {**seen, **{name: hidden.choice(CONSTANTS) for name in ("secret", "masked")}}
        if hidden.random() < 0.2:
            made.pop("secret")
        if depth and rng.random() < 0.5:
            made["note"] = row(depth - 1)
        return made

    return {"items": [row(1) for _ in range(rng.randint(0, 6))], "secret": hidden.choice(CONSTANTS), "id": 1}


def case(rng: Random, seed: int, hidden: int, *, is_enforced: bool = True) -> Case:
    value = answer(Random(seed), Random(hidden))
    asked = random_request(rng, [answer(Random(seed), Random(0))], NAMES, rows=True)
    meta = {"projection": {"mode": asked.mode, "fields": [*asked.fields]}}
    result = {"structuredContent": value, "content": [{"type": "text", "text": json.dumps(value)}]}
    declared = {"outputSchema": SCHEMA} if seed % 3 else {}
    tool = {"name": TOOL, "inputSchema": {"type": "object"}, **declared}
    return Case(policy(is_enforced=is_enforced), tool, result, meta, {}, {})


async def differing(pairs: int, seed: int, *, is_enforced: bool = True) -> list[Any]:
    """The requests whose answers tell apart what may not be seen."""
    pipeline, found, rng = Pipeline(), list[Any](), Random(seed)
    pipeline.begin(case(rng, 0, 0))
    async with connect(pipeline.server, NEW) as wire:
        for number in range(pairs):
            begun = rng.getstate()
            said: list[str] = []
            for hidden in (1, 2):
                rng.setstate(begun)
                it = case(rng, number, hidden, is_enforced=is_enforced)
                pipeline.begin(it)
                text = await _said(wire, "tools/call", name=TOOL, arguments={}, _meta=it.meta)
                said.append(re.sub(r"louver://results/[\w-]+", "louver://results/", text))
            if said[0] != said[1]:
                found.append(it.meta)
    return found


@pytest.mark.parametrize(
    ("pairs", "seed"), [(100, 1), *(pytest.param(500, seed, marks=pytest.mark.deep) for seed in (2, 3, 4, 5))]
)
async def test_denied_and_masked_values_change_no_answer(pairs: int, seed: int):
    """#1704, question 2; ROWS.md, "Privacy": same rows, same receipt, same text."""
    assert await differing(pairs, seed) == []


async def test_without_a_policy_they_do():
    assert len(await differing(50, 1, is_enforced=False)) > 10
