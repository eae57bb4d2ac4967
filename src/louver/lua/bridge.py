"""The gateway's side of one running script. It has all the authority; the worker process is not trusted.

    {"call": 1, "server": ..., "tool": ..., "arguments": {...}, "fields": [...]}   calls a tool, at most 4 at once
    {"paths": 2, "fields": ["items.id"]}                                           parses field paths: [["items", "id"]]
    {"wait": true}, {"result": ...}, {"error": {...}}                              pauses the time limit; the two ends

A frame that our prelude never sends ends the script. The gateway counts calls and bytes itself.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import anyio

from louver.concurrency.offload import deferred_cancellation
from louver.core.json import Json, check_encodable, compact, compact_bytes, is_array, is_object, strings
from louver.core.nearest import instead, nearest
from louver.core.projection.request import Projection
from louver.core.size import is_larger
from louver.errors import (
    InvalidProjection,
    LouverError,
    SandboxCallLimit,
    SandboxOutputLimit,
    ToolFailed,
    UnknownName,
)
from louver.limits import (
    MAX_INTEGER_DIGITS,
    MAX_ON_LOOP,
    MAX_SCRIPT_ARGUMENTS,
    MAX_SCRIPT_HEAP,
    MAX_SCRIPT_REPLY,
    SCRIPT_CPU_S,
)
from louver.lua.channel import ChannelClosed, WorkerChannel, invalid_frame
from louver.lua.host_api import HostApi, Options
from louver.lua.script_errors import error_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.json import Json
    from louver.lua.time_limit import TimeLimit

MAX_SCRIPT_CALLS = 20
MAX_SCRIPT_CALLS_AT_ONCE = 4
"""Tool calls of one script, and those at the same time; further ones wait."""

MAX_SCRIPT_PATH_LISTS = 20
"""Lists of field paths that one script projects by. Parsing one takes the gateway up to 7 ms."""

MAX_SCRIPT_RESULT = 256 * 1024
MAX_SCRIPT_RESULT_DEPTH = 32
"""JSON of a script's result, in bytes: more than a model reads; and levels of a result or of arguments."""


class Bridge:
    """Answers the frames of one worker: calls tools on `host`, and pauses `wall` while the script waits."""

    def __init__(self, channel: WorkerChannel, servers: Sequence[str], host: HostApi, time_limit: TimeLimit) -> None:
        self._channel = channel
        self._servers = servers
        self._host = host
        self._time_limit = time_limit
        self._call_slots = asyncio.Semaphore(MAX_SCRIPT_CALLS_AT_ONCE)
        self._open_calls: set[asyncio.Task[None]] = set()
        self._failures: dict[int, LouverError] = {}
        self._fault: BaseException | None = None
        self._numbers = self._call_count = self._path_list_count = 0
        self._waits = self._replies = 0

    async def run(self, script: str) -> Json:
        """Return the script's result; raise `SandboxError` if it has none, `Gone` if the worker ends silently."""
        limits = {
            "cpu": SCRIPT_CPU_S,
            "heap": MAX_SCRIPT_HEAP,
            "calls": MAX_SCRIPT_CALLS,
            "arguments": MAX_SCRIPT_ARGUMENTS,
            "reply": MAX_SCRIPT_REPLY,
            "result": MAX_SCRIPT_RESULT,
            "depth": MAX_SCRIPT_RESULT_DEPTH,
            "lists": MAX_SCRIPT_PATH_LISTS,
            "digits": sys.get_int_max_str_digits() or MAX_INTEGER_DIGITS,
        }
        self._channel.send({"script": script, "servers": list(self._servers), "limits": limits})
        try:
            while True:
                frame = await self._channel.receive()
                if self._fault is not None:
                    # A call raised an unexpected exception and closed the channel; this frame arrived before.
                    raise self._fault
                if "result" in frame:
                    return _checked(frame["result"])
                if "error" in frame:
                    raise error_of(frame["error"], self._failures, self._servers)
                await self._handle(frame)
        except ChannelClosed:
            if self._fault is not None:
                raise self._fault from None
            raise

    def stop(self) -> None:
        """Close the channel and cancel the calls."""
        self._channel.close()
        for task in self._open_calls:
            task.cancel()

    async def wait_stopped(self) -> None:
        # Shielded: a cancellation during this wait would cancel the calls again, under anyio in every loop iteration.
        with anyio.CancelScope(shield=True), deferred_cancellation():
            await asyncio.gather(*self._open_calls, return_exceptions=True)

    async def _handle(self, frame: dict[str, Any]) -> None:
        if "call" in frame:
            self._start_call(frame)
        elif "paths" in frame:
            self._read_paths(frame)
        elif frame.get("wait") is True and len(frame) == 1:
            self._handle_wait()
        else:
            raise invalid_frame()

    def _handle_wait(self) -> None:
        """Handle a wait for the next reply: the worker waits for one reply at a time, and only while one is due."""
        self._waits += 1
        if self._waits > self._replies:
            if self._waits > self._replies + 1 or not self._open_calls:
                raise invalid_frame()
            self._time_limit.pause()

    def _start_call(self, frame: dict[str, Any]) -> None:
        number = self._check_number(frame["call"])
        self._call_count += 1
        if self._call_count > MAX_SCRIPT_CALLS:
            raise SandboxCallLimit(f"a script calls at most {MAX_SCRIPT_CALLS} tools", limit=MAX_SCRIPT_CALLS)
        server, tool, arguments = frame.get("server"), frame.get("tool"), frame.get("arguments")
        if not isinstance(server, str) or not isinstance(tool, str) or not is_object(arguments):
            raise invalid_frame()
        if len(compact_bytes(arguments)) > MAX_SCRIPT_ARGUMENTS:
            message = f"the arguments of a call are over {MAX_SCRIPT_ARGUMENTS} bytes of JSON"
            raise SandboxCallLimit(message, limit=MAX_SCRIPT_ARGUMENTS)
        call = self._call(number, server, tool, arguments, _options(frame))
        task = asyncio.create_task(call)
        self._open_calls.add(task)
        task.add_done_callback(self._on_call_done)

    def _on_call_done(self, task: asyncio.Task[None]) -> None:
        self._open_calls.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fault = error
            self._channel.close()

    async def _call(self, number: int, server: str, tool: str, arguments: dict[str, Json], options: Options) -> None:
        try:
            async with self._call_slots:
                if server not in self._servers:
                    hint = instead(server, self._servers)
                    raise UnknownName(
                        f"there is no server '{server[:80]}': {hint}", nearest=nearest(server, self._servers)
                    )
                value = await self._host.call(server, tool, arguments, options)
                if is_larger(value, MAX_ON_LOOP):
                    text = await asyncio.to_thread(_reply, number, value, f"{server}.{tool}")
                else:
                    text = _reply(number, value, f"{server}.{tool}")
        except LouverError as error:
            self._fail(number, error, server, tool)
        else:
            self._send(text)

    def _read_paths(self, frame: dict[str, Any]) -> None:
        number = self._check_number(frame["paths"])
        self._path_list_count += 1
        if self._path_list_count > MAX_SCRIPT_PATH_LISTS:
            message = f"a script projects by at most {MAX_SCRIPT_PATH_LISTS} lists of field paths"
            raise SandboxCallLimit(message, limit=MAX_SCRIPT_PATH_LISTS)
        fields = _fields(frame)
        if fields is None:
            raise invalid_frame()
        try:
            paths = Projection(include=[*fields]).fields
            if any(path.has_rows for path in paths):
                raise InvalidProjection("'project' takes names: the 'fields' of a call select rows")
        except LouverError as error:
            self._fail(number, error, None, None)
        else:
            steps = [list(path.names) for path in paths]
            self._send(compact_bytes({"reply": number, "value": steps}))

    def _check_number(self, number: object) -> int:
        self._numbers += 1
        if type(number) is not int or number != self._numbers:
            raise invalid_frame()
        return self._numbers

    def _fail(self, number: int, error: LouverError, server: str | None, tool: str | None) -> None:
        self._failures[number] = error
        payload: dict[str, Json] = {"code": error.code, "message": error.message}
        if server is not None:
            payload |= {"server": server, "tool": tool, "detail": _detail(error)}
        text = compact({"reply": number, "error": payload})
        if len(text) > MAX_SCRIPT_REPLY // 2:
            text = compact({"reply": number, "error": {**payload, "detail": []}})
        self._send(text.encode("utf-8", "replace"))

    def _send(self, text: bytes) -> None:
        self._channel.send_text(text)
        self._replies += 1
        self._time_limit.resume()


def _reply(number: int, value: Json, tool: str) -> bytes:
    """Write the reply frame of a tool's value."""
    message = f"the reply is over {MAX_SCRIPT_REPLY} bytes of JSON; ask for fewer fields"
    if is_over_bytes(value, MAX_SCRIPT_REPLY):
        raise SandboxCallLimit(message, limit=MAX_SCRIPT_REPLY)
    try:
        text = compact_bytes({"reply": number, "value": value})
        if b"\\ud" in text:
            check_encodable(value)
    except ValueError:
        # The value holds half a surrogate pair, or an integer with more digits than Python converts.
        raise ToolFailed("the tool's answer cannot be written as JSON", tool=tool) from None
    if len(text) > MAX_SCRIPT_REPLY:
        raise SandboxCallLimit(message, limit=MAX_SCRIPT_REPLY)
    return text


def _checked(result: Json) -> Json:
    """Check the size of a result again: the worker's own check is not trusted."""
    if len(compact_bytes(result)) > MAX_SCRIPT_RESULT:
        raise SandboxOutputLimit(f"result is over {MAX_SCRIPT_RESULT} bytes of JSON", limit=MAX_SCRIPT_RESULT)
    return result


def _detail(error: LouverError) -> list[str]:
    """Return the texts of the upstream's error, which only the script may read."""
    if not isinstance(error, ToolFailed):
        return []
    texts = strings([block.get("text") for block in error.content if is_object(block)])
    return [] if is_over_bytes(texts, MAX_SCRIPT_REPLY // 2) else texts


def _options(frame: dict[str, Any]) -> Options:
    view = frame.get("view")
    if view is not None and not isinstance(view, str):
        raise invalid_frame()
    fields = _fields(frame)
    if view is not None and fields is not None:
        raise invalid_frame()
    return Options(fields, view)


def _fields(frame: dict[str, Any]) -> tuple[str, ...] | None:
    fields = frame.get("fields")
    if fields is None:
        return None
    if not is_array(fields) or not fields or len(strings(fields)) < len(fields):
        raise invalid_frame()
    return tuple(strings(fields))


def is_over_bytes(value: Json, limit: int) -> bool:
    """Whether the JSON of a value certainly has more than `most` bytes; a cheap lower bound."""
    size = 0
    pending: list[Json] = [value]
    while pending and size <= limit:
        part = pending.pop()
        if isinstance(part, str):
            size += len(part) + 2
        elif is_object(part):
            size += 1 + 4 * len(part) + sum(map(len, part))
            pending += part.values()
        elif is_array(part):
            size += 1 + len(part)
            pending += part
        elif isinstance(part, int):
            # A decimal digit takes 3.3 bits.
            size += 1 + part.bit_length() // 4
        else:
            size += 1
    return size > limit
