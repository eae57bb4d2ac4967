"""Scripts that want out, or want everything: each of them ends, and none of them gets anywhere.

What must happen to the sixty of `../shared/lua_attacks` stands there in `expected.json`; those of our own, in
`attacks/`, say it in their first line: `-- SANDBOX_TIMEOUT`, or `-- result` where it is harmless.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from fixtures.failsafe import FAILSAFE_S
from louver.errors import SandboxError
from lua.hosts import Tools, only_spares, run, started

pytestmark = pytest.mark.anyio

SHARED = Path(__file__).parents[2].parent / "shared" / "lua_attacks"
OURS = Path(__file__).parent / "attacks"
SIXTY = 60

CODES = {
    "limited:cpu": {"SANDBOX_TIMEOUT"},
    "limited:memory": {"SANDBOX_MEMORY"},
    "limited:cpu-or-memory": {"SANDBOX_TIMEOUT", "SANDBOX_MEMORY"},
    "limited:output": {"SANDBOX_OUTPUT_LIMIT"},
    "limited:calls": {"SANDBOX_CALL_LIMIT"},
    "limited:call-bytes": {"SANDBOX_CALL_LIMIT"},
}
"""What is expected -> the codes that it may end with. All else may end as it likes, in time and within."""

REFUSED = {"35_gc_finalizer_loop", "51_close_direct"}
"""Where the loop is in a finaliser, which is refused before it could run."""


def tiered(names, kind):
    """The names, of which the first of each kind is tried every day."""
    seen = set()
    for name in names:
        # `add` returns nothing.
        is_first = kind(name) not in seen and not seen.add(kind(name))
        yield pytest.param(name, marks=[] if is_first else pytest.mark.deep)


def shared():
    """The sixty, or one name that says that they are not there."""
    if not SHARED.exists():
        return ["absent"]
    expect = json.loads((SHARED / "expected.json").read_text("utf-8"))
    names = sorted(path.stem for path in SHARED.glob("*.lua"))
    return list(tiered(names, lambda name: expect[f"{name}.lua"]["expect"]))


def ours():
    """The names of our own."""
    return list(tiered(sorted(path.stem for path in OURS.glob("*.lua")), lambda name: first_line(OURS / f"{name}.lua")))


def first_line(path):
    return path.read_text("utf-8").partition("\n")[0]


@pytest.fixture(scope="module")
async def sandbox(anyio_backend):
    async with started() as sandbox:
        yield sandbox


def expected(name):
    """What must happen to one of the sixty."""
    path = SHARED / f"{name}.lua"
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("../shared/lua_attacks is not there")
    return path.read_text("utf-8"), json.loads((SHARED / "expected.json").read_text("utf-8"))[f"{name}.lua"]["expect"]


async def outcome(sandbox, script):
    """The code that a script ends with, and what it says; its process is gone then."""
    try:
        async with asyncio.timeout(FAILSAFE_S):
            code, said = "result", json.dumps(await run(sandbox, script))
    except SandboxError as error:
        code, said = error.code, json.dumps(error.to_json())
    await only_spares(sandbox)
    return code, said


def is_harmless(said):
    """Whether a text tells nothing of the machine, and nothing has got out."""
    return not any(word in said for word in ("ESCAPED", "Traceback", ".py", "/usr", "/home", "/etc", "POISON"))


@pytest.mark.parametrize("name", shared())
async def test_an_attack_is_contained(sandbox, name):
    """SANDBOX.md: 60 of 60, and none of their children is left."""
    script, expect = expected(name)
    code, said = await outcome(sandbox, script)
    assert is_harmless(said)
    if name in REFUSED:
        assert code == "SANDBOX_RUNTIME"
    elif expect in CODES:
        assert code in CODES[expect], said


def test_there_are_sixty_attacks():
    """*Ours*: none is lost on the way."""
    if SHARED.exists():
        assert len(list(SHARED.glob("*.lua"))) == SIXTY


@pytest.mark.parametrize("name", ours())
async def test_an_attack_on_this_sandbox_is_contained(sandbox, name):
    """*Ours*: against what is particular here."""
    path = OURS / f"{name}.lua"
    script = path.read_text("utf-8")
    wanted = first_line(path).removeprefix("-- ").split(" or ")
    code, said = await outcome(sandbox, script)
    assert is_harmless(said), said
    assert code in wanted, said


def test_there_are_attacks_of_our_own():
    """*Ours*: at least twenty."""
    assert len(list(OURS.glob("*.lua"))) >= 20


async def test_others_are_served_after_all_that(sandbox):
    """*Ours*: no script has left anything behind."""
    assert await run(sandbox, "result(string.format('%d', 7) .. tostring(1))") == "71"
    assert await run(sandbox, "result(srv.echo({a = 1}):await())", Tools()) == {"a": 1}
