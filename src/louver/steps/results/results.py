"""Kept results: an answer that is too large to send waits under a handle for its caller.

    tools/call                                                      runs once
    -> its shape, and louver://results/Zk3x...                      `preview.py`
    resources/read  louver://results/Zk3x...?fields=items.id        as often as needed (`read_resource.py`)

Handles are random, and keys include the owner: a foreign, a guessed and an expired handle are all unknown.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from copy import copy
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from louver.concurrency.offload import in_thread
from louver.core.json import canonical, compact
from louver.errors import LouverError, StateUnavailable, UnknownResult
from louver.limits import KEPT_MINUTES, KEPT_OVER_BYTES, MAX_KEPT_MINUTES
from louver.steps.results.store import MemoryStore, SharedStore
from louver.wire.mcp import TOOLS_CHANGED
from louver.wire.names import PREFIX, RESULTS_URI

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json, Schema
    from louver.steps.recipient import Recipient
    from louver.steps.request import Request
    from louver.steps.results.store import ResultStore
    from louver.steps.shared_state import SharedState

HANDLE_BYTES = 24
"""Randomness in the handle of a kept result, in bytes: 192 bits, more than can be guessed."""


_MINUTE_S: Final = 60.0
_ANNOUNCED: Final = f"{PREFIX}overflow"  # of a connection: it knows of the tool that reads kept answers


@dataclass(frozen=True, slots=True)
class KeptResults:
    """Which answers are kept instead of sent, and for how long.

    Args:
        over_bytes: Answers with a larger output are kept, in bytes of its JSON.
        minutes: How long they are kept.
        clock: Seconds, from any beginning.

    Raises:
        LouverError: The size is below 1, or the time is not over 0 and at most `MAX_KEPT_MINUTES`.
    """

    over_bytes: int = KEPT_OVER_BYTES
    minutes: float = KEPT_MINUTES
    # No time of day, which may be put back: results would be kept longer than they may.
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

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
    """Keeps results and finds them again."""

    # With `state` all replicas have them.
    def __init__(self, options: KeptResults, state: SharedState | None = None) -> None:
        self.options = options
        self._store: ResultStore = MemoryStore(options.clock) if state is None else SharedStore(state)
        self._scope: Callable[[Request], str] = _everybody

    def scoped_to(self, scope: Callable[[Request], str]) -> Results:
        """The same store, limited to callers with an equal scope; `scope` gives that of the current request."""
        scoped = copy(self)
        scoped._scope = scope
        return scoped

    async def keep(self, text: str, info: ResultInfo, request: Request) -> str | None:
        """Keep a value, given as JSON, for the caller; return its URI, or `None` if the store does not take it."""
        handle = secrets.token_urlsafe(HANDLE_BYTES)
        is_kept = await self._put(self._key(handle, request), self.options.seconds, info, text)
        return f"{RESULTS_URI}{handle}" if is_kept else None

    async def keep_handle(self, uri: str, seconds: float, server: str, request: Request) -> None:
        """Remember, for the caller, a result of an upstream, which `server` names, also after a restart."""
        key = self._key(uri.removeprefix(RESULTS_URI), request)
        await self._put(key, seconds, ResultInfo("", upstream=server), "null")

    async def find(self, handle: str, request: Request) -> tuple[ResultInfo, Json]:
        """The kept value; UnknownResult if there is none, or not the caller's; StateUnavailable."""
        stored = await self._store.get(self._key(handle, request))
        if stored is None:
            raise UnknownResult

        def load() -> tuple[ResultInfo, Json]:
            info, value = (json.loads(part.decode("utf-8", "surrogatepass")) for part in stored)
            try:
                return ResultInfo(**info), value
            except TypeError:  # a replica of a later version has kept it
                raise UnknownResult from None

        return await in_thread(load)

    def _key(self, handle: str, request: Request) -> str:
        return hashlib.sha256(canonical([handle, request.holder, self._scope(request)])).hexdigest()

    async def _put(self, key: str, seconds: float, info: ResultInfo, text: str) -> bool:
        stored = await in_thread(lambda: (_bytes(compact(asdict(info))), _bytes(text)))
        try:
            return await self._store.put(key, seconds, stored)
        except StateUnavailable:
            # It is logged there. The tool has run: its answer is sent.
            return False


class Overflow:
    """Keeps answers that a host would not show whole, though nothing is configured.

    Args:
        open_results: Opens the store.
        opened: The store, if it is open already; otherwise it opens with the first such answer.
        page_bytes: The largest page of such an answer.
        is_likely: Whether answers have been so large before: then what reads them is listed from the start.
    """

    def __init__(
        self,
        open_results: Callable[[], Results],
        opened: Results | None = None,
        *,
        page_bytes: int,
        is_likely: bool = False,
    ) -> None:
        self.opened = opened
        self.page_bytes = page_bytes
        self._open_results = open_results
        self._is_likely = is_likely
        self._is_used = False

    def open(self) -> Results:
        self._is_used = True
        if self.opened is None:
            self.opened = self._open_results()
        return self.opened

    def is_listed(self, recipient: Recipient) -> bool:
        """Whether the tool that reads kept answers is listed: where it costs a name alone, or was needed."""
        host = recipient.known_host
        if host is None or host.longest_answer is None:
            return False
        return host.defers or self._is_likely or self._is_used

    async def announce(self, request: Request, recipient: Recipient) -> None:
        """Let a client of a handshake list the tool, once, if it is not listed from the start."""
        is_known = self._is_likely or (recipient.known_host is not None and recipient.known_host.defers)
        if request.lasts and not is_known and not request.connection.state.get(_ANNOUNCED):
            request.connection.state[_ANNOUNCED] = True
            await request.connection.notify(TOOLS_CHANGED, None)


def _everybody(_: Request) -> str:
    return ""


def is_kept_result(request: Request) -> bool:
    uri: object = request.params.get("uri")
    return request.method == "resources/read" and isinstance(uri, str) and uri.startswith(RESULTS_URI)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
