"""Frames of a script's process, which is not trusted: a result that it has sent, or an error of the sandbox.

The first byte says whether each line is a frame (even), or the rest is the bytes of the stream (odd).
"""

from __future__ import annotations

import asyncio
import json

from louver.errors import SandboxError, ToolFailed, UnknownName
from louver.lua.bridge import MAX_SCRIPT_CALLS, MAX_SCRIPT_CALLS_AT_ONCE, MAX_SCRIPT_PATH_LISTS, Bridge
from louver.lua.channel import ChannelClosed, WorkerChannel
from louver.lua.time_limit import TimeLimit

from . import second_reader
from .transports import Transport, loop, run

SERVERS = ("srv", "other")


def check(data: bytes) -> None:
    frames = data[1:].split(b"\n")
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    run(_check(data[1:] if data and data[0] & 1 else stream))


class _Tools:
    def __init__(self) -> None:
        self.count = self.running = 0

    async def call(self, server, tool, arguments, options):
        assert server in SERVERS
        assert isinstance(tool, str)
        assert isinstance(arguments, dict)
        assert options.fields is None or options.view is None
        assert options.fields is None or all(isinstance(path, str) for path in options.fields)
        self.count += 1
        self.running += 1
        assert self.running <= MAX_SCRIPT_CALLS_AT_ONCE
        try:
            await asyncio.sleep(0)
        finally:
            self.running -= 1
        if tool == "fail":
            raise ToolFailed("it has failed", [{"type": "text", "text": "why"}])
        if tool == "none":
            raise UnknownName("there is no such tool", nearest=["fail"])
        return arguments


async def _check(stream: bytes) -> None:
    reader, transport, tools = asyncio.StreamReader(), Transport(), _Tools()
    reader.feed_data(stream)
    reader.feed_eof()
    writer = asyncio.StreamWriter(transport, asyncio.StreamReaderProtocol(reader), reader, loop())
    time_limit = TimeLimit(5, 5)
    bridge = Bridge(WorkerChannel(reader, writer), SERVERS, tools, time_limit)
    try:
        async with time_limit.enforced():
            result = await bridge.run("")
    except ChannelClosed:
        pass
    except SandboxError as error:
        json.dumps(error.to_json(), ensure_ascii=False).encode()
    else:
        assert second_reader.same(result, _result(stream)), "a result is that of the first frame with one"
        json.dumps(result, ensure_ascii=False).encode()
    finally:
        bridge.stop()
        await bridge.wait_stopped()
    assert asyncio.all_tasks() == {asyncio.current_task()}, "no call is left"
    assert tools.count <= MAX_SCRIPT_CALLS
    _check_replies(bytes(transport.written))


def _result(stream: bytes):
    return next(frame["result"] for frame in _frames(stream) if "result" in frame)


def _check_replies(written: bytes) -> None:
    _, *replies = _frames(written)
    numbers = [reply["reply"] for reply in replies]
    assert len(set(numbers)) == len(numbers) <= MAX_SCRIPT_CALLS + MAX_SCRIPT_PATH_LISTS, "each call has one answer"


def _frames(stream: bytes):
    while stream:
        size = int.from_bytes(stream[:4], "big")
        yield json.loads(stream[4 : 4 + size])
        stream = stream[4 + size :]
