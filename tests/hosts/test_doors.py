"""A model sees in each host what the servers of `docs/how-to/in-your-own-server.md` answer."""

from __future__ import annotations

import os

import pytest

from stock.doors import doors
from stock.run import StockError

from .known import KNOWN
from .scenes import PERSON, fields
from .stacks import STACKS, Run, run_all

pytestmark = pytest.mark.deep

STEPS = {
    "fastmcp": [PERSON, fields("name")],
    "projection": [PERSON, fields("name")],
    "search": [PERSON],
    "disclosure": [PERSON],
    "policy": [PERSON],
    "site": [PERSON, fields("name")],
}


# It may send `initialize` after `server/discover`. Over stdio a server of the SDK refuses that, with Louver or without;
# the gateway accepts it.
REFUSED_OVER_STDIO = ("ai-sdk",)


def wrong(door, seen):
    """What a model saw instead of what it should; nothing if all is well."""
    whole, *projected = seen.results or [seen.failed or "the model saw no result"]
    hides = door != "policy" or "ada@example.com" not in whole
    if "London" not in whole or not hides:
        return whole
    return next((text for text in projected if "Ada" not in text or "London" in text), "")


@pytest.mark.parametrize("stack", STACKS)
def test_a_model_sees_what_each_door_serves(stack, tmp_path):
    """Issue 41."""
    (tmp_path / "doors").mkdir()
    with doors(tmp_path / "doors") as targets:
        runs = {door: Run(targets[door], steps) for door, steps in STEPS.items()}
        if (stack, "on-error") in KNOWN:
            del runs["disclosure"]
        try:
            seen = run_all(stack, list(runs.values()), tmp_path)
        except StockError as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))
    found = {door: wrong(door, each)[:400] for door, each in zip(runs, seen, strict=True)}
    if stack in REFUSED_OVER_STDIO:
        refused = [found.pop(door) for door, target in targets.items() if "command" in target]
        assert all(not text or "the initialize handshake is not accepted" in text for text in refused), refused
    assert found == dict.fromkeys(found, "")
