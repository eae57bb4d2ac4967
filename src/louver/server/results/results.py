"""Kept results: an answer that is too large to send waits under a handle, for who has called.

::

    tools/call                                                      runs once
    -> its shape, and louver://results/Zk3x...                      `previews.py`
    resources/read  louver://results/Zk3x...?fields=items.id        as often as is needed (`rereads.py`)

A handle is random and stands in no list. Whose a result is, is part of what it is found by (`bindings.holder`), so a
handle that somebody else has, one that is guessed and one that has expired are the same: there is nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.offload import in_thread
from louver.core.json import canonical, compact
from louver.errors import LouverError, UnknownResult
from louver.limits import HANDLE_BYTES, KEPT_MINUTES, KEPT_OVER_BYTES, MAX_KEPT_MINUTES, SWEEP_AFTER_S
from louver.protocol.names import RESULTS_URI
from louver.server.identity import holder
from louver.server.results.store import MEMORY, store_at

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from louver.core.json import Json, Schema
    from louver.server.results.store import Store


_MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class KeptResults:
    """Which answers are kept instead of sent, for how long, and where.

    Args:
        over_bytes: Those whose structured value is larger, in bytes of its JSON.
        minutes: How long.
        store: `memory`, or the path of a SQLite file, which survives the process.
        clock: Seconds since the epoch.

    Raises:
        LouverError: The size is below 1, or the time is not over 0 and at most `MAX_KEPT_MINUTES`.
    """

    over_bytes: int = KEPT_OVER_BYTES
    minutes: float = KEPT_MINUTES
    store: str | os.PathLike[str] = MEMORY
    clock: Callable[[], float] = field(default=time.time, repr=False)

    def __post_init__(self) -> None:
        if self.over_bytes < 1:
            raise LouverError("kept results: expected 1 or more for 'over_bytes'")
        if not 0 < self.minutes <= MAX_KEPT_MINUTES:
            raise LouverError(f"kept results: expected a time over 0 and at most {MAX_KEPT_MINUTES:.0f} 'minutes'")

    @property
    def seconds(self) -> float:
        """Likewise, in seconds."""
        return self.minutes * _MINUTE_S


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a kept value.

    Args:
        tool: The tool that has answered it.
        schema: What it satisfies, if anything was declared.
        wrapper: The property that held it as JSON text, if one did; paths may begin with it.
        partial: Whether something of the tool's output was left out of it.
        elsewhere: Names the server behind this one that keeps the value; then just the handle is here.
    """

    tool: str
    schema: Schema | None = None
    wrapper: str | None = None
    partial: bool = False
    elsewhere: str | None = None


class Results:
    """Keeps results and finds them again.

    What has expired is removed soon after (`sweeping.py`); what a process has left in a file when it ended, when the
    file is next opened.

    Args:
        options: Which, how long and where.

    Raises:
        LouverError: The file cannot be used.
    """

    def __init__(self, options: KeptResults) -> None:
        self.options = options
        self._store = store_at(options.store, options.clock)
        self._sweeping = Sweeping(self._store, options.clock)
        self._scope: Callable[[], str] = str

    def within(self, scope: Callable[[], str]) -> Results:
        """The same store, and in it the results of those alone who share a scope.

        Args:
            scope: That of whoever makes the request that is served.
        """
        scoped = copy(self)
        scoped._scope = scope
        return scoped

    async def keep(self, text: str, about: About, ctx: ServerRequestContext[Any, Any]) -> str | None:
        """Keep a value for who makes the request.

        Args:
            text: The value's JSON.
            about: What is known of it.
            ctx: The request.

        Returns:
            The URI that it is read by; `None` if it is too large to be kept.
        """
        handle = secrets.token_urlsafe(HANDLE_BYTES)
        is_kept = await self._put(self._key(handle, ctx), self.options.seconds, about, text)
        return f"{RESULTS_URI}{handle}" if is_kept else None

    async def keep_handle(self, uri: str, seconds: float, server: str, ctx: ServerRequestContext[Any, Any]) -> None:
        """Remember what is kept by a server behind this one, for who makes the request and was told of it.

        Args:
            uri: Where it is read.
            seconds: How long it is kept.
            server: Names that server, also after a restart.
            ctx: The request.
        """
        key = self._key(uri.removeprefix(RESULTS_URI), ctx)
        await self._put(key, seconds, About("", elsewhere=server), "null")

    async def find(self, handle: str, ctx: ServerRequestContext[Any, Any]) -> tuple[About, Json]:
        """A kept value, for who makes the request.

        Raises:
            UnknownResult: There is none under this handle, or it is not theirs.
        """
        key = self._key(handle, ctx)
        # Others may have left something in the file.
        self._sweeping.sweep_in(self.options.seconds)

        def found() -> tuple[About, Json]:
            stored = self._store.get(key)
            if stored is None:
                raise UnknownResult
            about, value = (json.loads(part.decode("utf-8", "surrogatepass")) for part in stored)
            return About(**about), value

        return await in_thread(found)

    def _key(self, handle: str, ctx: ServerRequestContext[Any, Any]) -> str:
        """What a result is found by."""
        return hashlib.sha256(canonical([handle, holder(ctx), self._scope()])).hexdigest()

    async def _put(self, key: str, seconds: float, about: About, text: str) -> bool:
        expires = self.options.clock() + seconds

        def put() -> bool:
            return self._store.put(key, expires, (_bytes(compact(asdict(about))), _bytes(text)))

        is_kept = await in_thread(put)
        self._sweeping.sweep_in(seconds)
        return is_kept


def is_kept_result(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether a request reads a kept result."""
    uri: object = (ctx.params or {}).get("uri")
    return ctx.method == "resources/read" and isinstance(uri, str) and uri.startswith(RESULTS_URI)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class Sweeping:
    """Removes what has expired.

    Args:
        store: Whence.
        clock: Seconds since the epoch.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def sweep_in(self, seconds: float) -> None:
        """Have what has expired by then removed, if that is not to be done before."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds + SWEEP_AFTER_S
        # The loop of a timer that is another's may have ended.
        if self._timer is not None and self._loop is loop:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._loop, self._timer = loop, loop.call_at(due, self._sweep)

    def _sweep(self) -> None:
        # What is kept from here on has a timer of its own: it may come too late for the store to tell of it.
        self._timer = None
        asyncio.get_running_loop().run_in_executor(None, self._store.sweep).add_done_callback(self._swept)

    def _swept(self, swept: asyncio.Future[float | None]) -> None:
        if (due := swept.result()) is not None:
            self.sweep_in(max(0.0, due - self._clock()))
