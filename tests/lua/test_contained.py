"""What is left to somebody who has broken Lua: nothing. And what they say is read as what it is."""

from __future__ import annotations

import json
import platform
import struct
import subprocess
import sys

import pytest

from fixtures.failsafe import wait_until
from louver.errors import SandboxCallLimit, SandboxCrashed, SandboxError, SandboxMemory, SandboxOutputLimit
from louver.lua import seccomp
from louver.lua.bridge import MAX_SCRIPT_CALLS, MAX_SCRIPT_PATH_LISTS, MAX_SCRIPT_RESULT, Bridge
from louver.lua.channel import MAX_SCRIPT_TRAFFIC, ChannelClosed, WorkerChannel
from louver.lua.process_pool import ProcessPool
from louver.lua.script_errors import error_of_exit
from louver.lua.time_limit import TimeLimit
from lua.hosts import Tools, children, is_there

pytestmark = pytest.mark.anyio


async def talk(body, script="", host=None, level="strict", wall_s=5.0):
    """What the gateway makes of a child that does `body`."""
    nursery = await ProcessPool.start(f"lua.bodies:{body}", level)
    try:
        child = await nursery.worker()
        wall = TimeLimit(wall_s, 10.0)
        bridge = Bridge(await WorkerChannel.open(child), ["srv"], host or Tools(), wall)
        try:
            async with wall.enforced():
                return await bridge.run(script)
        except ChannelClosed:
            raise error_of_exit(await child.ended) from None
        finally:
            bridge.stop()
            await bridge.wait_stopped()
    finally:
        await nursery.close()


async def test_python_in_a_child_can_do_nothing():
    """SANDBOX.md, `strict`: no file, socket, process, program, environment; nobody else is reached."""
    tried = await talk("escapes")
    worked = {name: said for name, said in tried.items() if not said.startswith("refused")}
    assert worked == {"environment": "set()"}
    assert len(tried) == 30


async def test_python_in_a_child_of_the_lower_level_can_open_nothing():
    """SANDBOX.md, `process`: what the kernel's bounds alone keep from it."""
    # Elsewhere somebody would have to break Lua first; here the body does it for them.
    tried = await talk("attempts_but_exec", level="process")
    assert not {"open", "socket", "pipe", "list", "bounds"} & {name for name, worked in tried.items() if worked}


def _frames(*frames):
    return json.dumps(list(frames))


CALL = {"call": 1, "server": "srv", "tool": "echo", "arguments": {}}


@pytest.mark.parametrize(
    "frames",
    [
        [{"call": 2, "server": "srv", "tool": "echo", "arguments": {}}],
        [CALL, CALL],
        [{**CALL, "call": True, "server": 1}],
        [{**CALL, "call": True}],
        [{**CALL, "call": 1.0}],
        [{**CALL, "arguments": []}],
        [{**CALL, "tool": None}],
        [{**CALL, "view": 1}],
        [{**CALL, "fields": []}],
        [{**CALL, "fields": "id"}],
        [{**CALL, "fields": [1]}],
        [{**CALL, "fields": ["a"], "view": "a"}],
        [{"paths": 2, "fields": ["a"]}],
        [{"paths": 1}],
        [{"paths": 1, "fields": []}],
        [{"wait": True}],
        [{**CALL, "tool": "never"}, {"wait": True}, {"wait": True}],
        [{**CALL, "tool": "never"}, {"wait": 1}],
        [{"wait": True, "more": 1}],
        [{"else": 1}],
        [[]],
        ["00000002" + b"{]".hex()],
        ["00000001" + b"\xff".hex()],
        ["00000012" + b'{"result":"\\ud800"}'[:18].hex()],
        ["00000013" + b'{"result":"\\ud800"}'.hex()],
        ["00000010" + b'{"result": NaN }'.hex()],
        ["00000014" + b'{"result":1,"result"'.hex()],
        ["000000c8" + (b"[" * 200).hex()],
        [{"error": 1}],
        [{"error": {}}],
        [{"error": {"code": "TOOL_ERROR", "message": "x"}}],
        [{"error": {"code": 1, "message": "x"}}],
        [{"error": {"code": "SANDBOX_RUNTIME", "message": 1}}],
    ],
    ids=str,
)
async def test_what_no_child_of_ours_says_ends_it(frames):
    """*Ours*: forged frames."""
    with pytest.raises(SandboxCrashed):
        await talk("says", _frames(*frames))


async def test_a_large_frame_is_not_waited_for():
    """*Ours*: its head is enough."""
    with pytest.raises(SandboxCrashed):
        await talk("says_large")


async def test_a_flood_of_small_frames_is_counted():
    """*Ours*: each of them is as it should be, and there are too many of them."""
    with pytest.raises(SandboxCallLimit) as caught:
        await talk("floods")
    assert caught.value.fields["limit"] == MAX_SCRIPT_PATH_LISTS


async def test_all_traffic_is_counted():
    """SANDBOX.md: what is said and what is answered, also where each of it may be."""
    call = {**CALL, "tool": "large", "arguments": {"bytes": 1_000_000}}
    with pytest.raises(SandboxCallLimit) as caught:
        await talk("says", _frames(*({**call, "call": number} for number in range(1, 10))))
    assert caught.value.fields["limit"] == MAX_SCRIPT_TRAFFIC


async def test_bounds_are_held_whatever_the_child_holds():
    """*Ours*: calls, arguments, result; a server that the script has not."""
    host = Tools()
    with pytest.raises(SandboxCallLimit):
        await talk("says", _frames(*({**CALL, "call": 1 + number} for number in range(MAX_SCRIPT_CALLS + 1))), host)
    assert len(host.calls) <= MAX_SCRIPT_CALLS
    with pytest.raises(SandboxCallLimit):
        await talk("says", _frames({**CALL, "arguments": {"a": "x" * 300_000}}))
    with pytest.raises(SandboxOutputLimit):
        await talk("says", _frames({"result": "x" * MAX_SCRIPT_RESULT}))
    host = Tools()
    assert await talk("says", _frames({**CALL, "server": "hidden"}, {"result": 1}), host) == 1
    assert host.calls == []


async def test_a_child_that_ends_early_ends_its_calls():
    """*Ours*: nobody would hear of them."""
    host = Tools()
    # The first has begun when the second is answered.
    frames = _frames({**CALL, "tool": "never"}, {**CALL, "call": 2}, None, {"result": 1})
    assert await talk("says", frames, host) == 1
    assert [call[1] for call in host.calls] == ["never", "echo"]
    assert (host.cancelled, host.running) == (1, 0)


@pytest.mark.parametrize(
    ("body", "kind"),
    [("ends", SandboxCrashed), ("dies", SandboxCrashed), ("silent", SandboxCrashed), ("lacks_memory", SandboxMemory)],
)
async def test_the_end_of_a_child_is_told_by_how_it_came(body, kind):
    """SANDBOX.md: SANDBOX_CRASHED, SANDBOX_MEMORY."""
    with pytest.raises(kind):
        await talk(body)


async def test_a_child_that_does_nothing_meets_the_wall():
    """SANDBOX.md: the wall, also where no CPU time is used."""
    with pytest.raises(SandboxError, match=r"over 0\.05 s") as caught:
        await talk("waits", wall_s=0.05)
    assert caught.value.code == "SANDBOX_TIMEOUT"


# The filter


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_lets_through_what_it_names(machine):
    """*Ours*: the program, run by an interpreter of its few instructions, for both machines."""
    architecture, allowed, guarded = seccomp._MACHINES[machine]
    text = seccomp.program(machine)
    allow, refuse, kill = 0x7FFF0000, 0x00050001, 0x80000000
    for number in range(500):
        expected = allow if number in allowed.values() else refuse
        assert _filtered(text, number, architecture, 4) == expected, number
        assert _filtered(text, number, architecture, 3) == (allow if number in guarded else expected), number
        assert _filtered(text, number | 0x40000000, architecture, 0) == refuse
        assert _filtered(text, number, architecture ^ 1, 0) == kill


def _filtered(text, number, architecture, protection):
    """What a filter says of a call."""
    lines = list(struct.iter_unpack("=HBBI", text))
    data = struct.pack("=IIQ6Q", number, architecture, 0, 0, 0, protection, 0, 0, 0)
    at = held = 0
    while True:
        code, yes, no, value = lines[at]
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            held &= value
        elif code == 0x15:
            at += yes if held == value else no
        else:
            assert code == 0x06
            return value


def test_there_is_no_filter_elsewhere(monkeypatch):
    """SANDBOX.md: seccomp on Linux, x86-64 and aarch64."""
    assert seccomp.unavailable_reason() is None
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "riscv64" in seccomp.unavailable_reason()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "darwin" in seccomp.unavailable_reason()


# Nobody is left


def test_the_end_of_the_gateway_is_the_end_of_all():
    """*Ours*: by kill -9 too, in the middle of a script that never ends."""
    program = (
        "import asyncio\n"
        "from lua.hosts import Tools, run, started, zygote_of\n"
        "async def main():\n"
        "    async with started() as sandbox:\n"
        "        host = Tools()\n"
        "        running = asyncio.create_task(run(sandbox, 'srv.echo(); while true do end', host))\n"
        "        await host.begun.wait()\n"
        "        print(zygote_of(sandbox), flush=True)\n"
        "        await running\n"
        "asyncio.run(main())\n"
    )
    path = json.dumps([folder for folder in sys.path if folder])
    code = f"import sys; sys.path[:0] = {path}\n{program}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as gateway:
        zygote = int(gateway.stdout.readline())
        pids = [zygote, *children(zygote)]
        assert len(pids) >= 3
        gateway.kill()
    wait_until(lambda: not any(map(is_there, pids)))
