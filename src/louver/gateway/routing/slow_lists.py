"""Lists that come late: of several upstreams none keeps a client waiting for what the others have.

    b takes ten seconds for a list    nothing of it, after `LEFT_OUT_S`; it goes on, and is asked nothing more meanwhile
    it has answered                   list_changed, if that is not what was listed of it
    the next list, b takes as long    what it said last, after `LEFT_OUT_S`

Of an upstream that answers in time nothing is kept here.
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
    """What an upstream lists.

    Args:
        entries: The entries of all pages, as far as it has answered.
        is_whole: Whether it has now, to the end.
    """

    entries: list[dict[str, Any]]
    is_whole: bool


class Late:
    """Lists of upstreams, by what they are and who asks."""

    def __init__(self) -> None:
        self._awaited: OrderedDict[Hashable, asyncio.Task[Listed]] = OrderedDict()
        self._said: OrderedDict[Hashable, Listed] = OrderedDict()

    async def listed(self, key: Hashable, ask: Callable[[], Awaitable[Listed]], changed: Callable[[], None]) -> Listed:
        """A list, if it comes in time; else what it was when it came last.

        Args:
            key: What is asked for, and by whom.
            ask: Asks for it.
            changed: Called if it comes later, and is another then.
        """
        if key in self._awaited:
            return self._last(key)
        scope = anyio.CancelScope()
        asking = asyncio.create_task(_within(scope, ask))
        try:
            await asyncio.wait({asking}, timeout=LEFT_OUT_S)
        except asyncio.CancelledError:
            scope.cancel()
            with anyio.CancelScope(shield=True):
                # A thread that works for it would go on for nobody, and the next request would begin beside it.
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
