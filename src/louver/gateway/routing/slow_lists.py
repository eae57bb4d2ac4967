"""Slow lists: of several upstreams, no slow one delays the lists of the others.

    b takes ten seconds            after `LEFT_OUT_S` it is left out; until it answers, it gets no second request
    b answers                      list_changed, if the answer differs from what was listed
    the next list, b slow again    after `LEFT_OUT_S` its last answer is listed

Lists that come in time are not stored here.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from louver.limits import LEFT_OUT_S, MAX_CALLERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable


class UpstreamList(NamedTuple):
    entries: list[dict[str, Any]]
    is_complete: bool  # all pages have come


class SlowLists:
    """The pending and the last late lists, by what is listed and for which client."""

    def __init__(self) -> None:
        self._pending: OrderedDict[Hashable, asyncio.Task[UpstreamList]] = OrderedDict()
        self._late_lists: OrderedDict[Hashable, UpstreamList] = OrderedDict()

    async def fetch(
        self, key: Hashable, ask: Callable[[], Awaitable[UpstreamList]], on_changed: Callable[[], None]
    ) -> UpstreamList:
        """A list if it comes in time, else its last value; `on_changed` is called if it comes later and differs."""
        if (pending := self._pending.get(key)) is not None:
            if key not in self._late_lists:
                await asyncio.wait({pending}, timeout=LEFT_OUT_S)
            return self._last(key)
        scope = anyio.CancelScope()
        task = asyncio.create_task(_run_in_scope(scope, ask))
        try:
            await asyncio.wait({task}, timeout=LEFT_OUT_S)
        except asyncio.CancelledError:
            scope.cancel()
            with anyio.CancelScope(shield=True):
                # Its worker thread must not run on beside the client's next request.
                await asyncio.wait({task})
            raise
        if task.done():
            self._late_lists.pop(key, None)
            return task.result()
        self._pending[key] = task
        task.add_done_callback(partial(self._on_finished, key, on_changed))
        if len(self._pending) > MAX_CALLERS:
            self._pending.popitem(last=False)[1].cancel()
        return self._last(key)

    def _last(self, key: Hashable) -> UpstreamList:
        known = self._late_lists.get(key)
        return UpstreamList([] if known is None else known.entries, is_complete=False)

    def _on_finished(self, key: Hashable, on_changed: Callable[[], None], task: asyncio.Task[UpstreamList]) -> None:
        if self._pending.get(key) is task:
            del self._pending[key]
        if task.cancelled() or task.exception() is not None or not task.result().is_complete:
            return
        before = self._late_lists.pop(key, None)
        self._late_lists[key] = task.result()
        if len(self._late_lists) > MAX_CALLERS:
            self._late_lists.popitem(last=False)
        if task.result() != before:
            on_changed()


async def _run_in_scope(scope: anyio.CancelScope, ask: Callable[[], Awaitable[UpstreamList]]) -> UpstreamList:
    with scope:
        return await ask()
    return UpstreamList([], is_complete=False)
