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


class Listed(NamedTuple):
    entries: list[dict[str, Any]]
    is_whole: bool  # all pages have come


class Late:
    """The pending and the last late lists, by what is listed and for which client."""

    def __init__(self) -> None:
        self._awaited: OrderedDict[Hashable, asyncio.Task[Listed]] = OrderedDict()
        self._said: OrderedDict[Hashable, Listed] = OrderedDict()

    async def listed(self, key: Hashable, ask: Callable[[], Awaitable[Listed]], changed: Callable[[], None]) -> Listed:
        """A list if it comes in time, else its last value; `changed` is called if it comes later and differs."""
        if key in self._awaited:
            return self._last(key)
        scope = anyio.CancelScope()
        asking = asyncio.create_task(_within(scope, ask))
        try:
            await asyncio.wait({asking}, timeout=LEFT_OUT_S)
        except asyncio.CancelledError:
            scope.cancel()
            with anyio.CancelScope(shield=True):
                # Its worker thread must not run on beside the client's next request.
                await asyncio.wait({asking})
            raise
        if asking.done():
            self._said.pop(key, None)
            return asking.result()
        self._awaited[key] = asking
        asking.add_done_callback(partial(self._came, key, changed))
        if len(self._awaited) > MAX_CALLERS:
            self._awaited.popitem(last=False)[1].cancel()
        return self._last(key)

    def _last(self, key: Hashable) -> Listed:
        known = self._said.get(key)
        return Listed([] if known is None else known.entries, is_whole=False)

    def _came(self, key: Hashable, changed: Callable[[], None], asked: asyncio.Task[Listed]) -> None:
        if self._awaited.get(key) is asked:
            del self._awaited[key]
        if asked.cancelled() or asked.exception() is not None or not asked.result().is_whole:
            return
        before = self._said.pop(key, None)
        self._said[key] = asked.result()
        if len(self._said) > MAX_CALLERS:
            self._said.popitem(last=False)
        if asked.result() != before:
            changed()


async def _within(scope: anyio.CancelScope, ask: Callable[[], Awaitable[Listed]]) -> Listed:
    with scope:
        return await ask()
    return Listed([], is_whole=False)
