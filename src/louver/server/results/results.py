"""Kept results: an answer that is too large to send waits under a handle for its caller.

    tools/call                                                      runs once
    -> its shape, and louver://results/Zk3x...                      `preview.py`
    resources/read  louver://results/Zk3x...?fields=items.id        as often as needed (`read_resource.py`)

Handles are random, and keys include the owner: a foreign, a guessed and an expired handle are all unknown.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from louver.concurrency.offload import in_thread
from louver.core.json import canonical, compact
from louver.errors import LouverError, UnknownResult
from louver.limits import HANDLE_BYTES, KEPT_MINUTES, KEPT_OVER_BYTES, MAX_KEPT_MINUTES, SWEEP_AFTER_S
from louver.protocol.names import RESULTS_URI
from louver.server.results.store import MEMORY, open_store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from louver.core.json import Json, Schema
    from louver.server.request import Request
    from louver.server.results.store import Store


_MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class KeptResults:
    """Which answers are kept instead of sent, for how long, and where.

    Args:
        over_bytes: Answers with a larger output are kept, in bytes of its JSON.
        minutes: How long they are kept.
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
        """How long they are kept, in seconds."""
        return self.minutes * _MINUTE_S


@dataclass(frozen=True, slots=True)
class ResultInfo:
    tool: str  # the tool that answered
    schema: Schema | None = None  # of the value, if any was declared
    wrapper: str | None = None  # property that held it as JSON text, if any; paths may begin with it
    partial: bool = False  # parts of the tool's output were left out before
    upstream: str | None = None  # the upstream that keeps the value; then only the handle is here


class Results:
    """Keeps results and finds them again. Expired ones are removed soon after, or when the file is next opened."""

    def __init__(self, options: KeptResults) -> None:
        self.options = options
        self._store = open_store(options.store, options.clock)
        self._expiry = ExpiryTimer(self._store, options.clock)
        self._scope: Callable[[Request], str] = _everybody

    def scoped_to(self, scope: Callable[[Request], str]) -> Results:
        """The same store, limited to callers with an equal scope; `scope` gives that of the current request."""
        scoped = copy(self)
        scoped._scope = scope
        return scoped

    async def keep(self, text: str, info: ResultInfo, request: Request) -> str | None:
        """Keep a value, given as JSON, for the caller; return its URI, or `None` if it is too large."""
        handle = secrets.token_urlsafe(HANDLE_BYTES)
        is_kept = await self._put(self._key(handle, request), self.options.seconds, info, text)
        return f"{RESULTS_URI}{handle}" if is_kept else None

    async def keep_handle(self, uri: str, seconds: float, server: str, request: Request) -> None:
        """Remember, for the caller, a result of an upstream, which `server` names, also after a restart."""
        key = self._key(uri.removeprefix(RESULTS_URI), request)
        await self._put(key, seconds, ResultInfo("", upstream=server), "null")

    async def find(self, handle: str, request: Request) -> tuple[ResultInfo, Json]:
        """The kept value; UnknownResult if there is none, or if it is not the caller's."""
        key = self._key(handle, request)
        # Other processes may have left results in the file.
        self._expiry.schedule(self.options.seconds)

        def load() -> tuple[ResultInfo, Json]:
            stored = self._store.get(key)
            if stored is None:
                raise UnknownResult
            info, value = (json.loads(part.decode("utf-8", "surrogatepass")) for part in stored)
            return ResultInfo(**info), value

        return await in_thread(load)

    def _key(self, handle: str, request: Request) -> str:
        return hashlib.sha256(canonical([handle, request.holder, self._scope(request)])).hexdigest()

    async def _put(self, key: str, seconds: float, info: ResultInfo, text: str) -> bool:
        expires = self.options.clock() + seconds

        def put() -> bool:
            return self._store.put(key, expires, (_bytes(compact(asdict(info))), _bytes(text)))

        is_kept = await in_thread(put)
        self._expiry.schedule(seconds)
        return is_kept


def _everybody(_: Request) -> str:
    return ""


def is_kept_result(request: Request) -> bool:
    uri: object = request.params.get("uri")
    return request.method == "resources/read" and isinstance(uri, str) and uri.startswith(RESULTS_URI)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


class ExpiryTimer:
    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def schedule(self, seconds: float) -> None:
        """Remove expired results in so many seconds, unless an earlier sweep is due."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds + SWEEP_AFTER_S
        # A timer of another event loop may never fire: that loop may have ended.
        if self._timer is not None and self._loop is loop:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._loop, self._timer = loop, loop.call_at(due, self._sweep)

    def _sweep(self) -> None:
        # Results kept from here on set a new timer: the sweep below may miss them.
        self._timer = None
        asyncio.get_running_loop().run_in_executor(None, self._store.sweep).add_done_callback(self._on_swept)

    def _on_swept(self, swept: asyncio.Future[float | None]) -> None:
        if (due := swept.result()) is not None:
            self.schedule(max(0.0, due - self._clock()))
