"""A stack of middleware for each audience: callers that may see the same share all that is kept, and nobody else does.

::

    caller ── whose audience? ──┬── search ─ projection ─┬── what stands behind
                                └── search ─ projection ─┘

What a stack has learnt (lists, plans, schemas, the index of a search, who has read what) holds only what its audience
may see. Source: PRIVACY.md, P16.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from louver.limits import MAX_AUDIENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

    Stacked = tuple[Sequence[ServerMiddleware[Any]], Callable[[], None]]
    """Middleware, the outermost first, and what closes it."""


class Audiences:
    """The middleware.

    Args:
        audience: That of whoever makes the request that is served.
        make: Makes the middleware for it, the outermost first, and what closes it.
    """

    def __init__(self, audience: Callable[[], Hashable], make: Callable[[], Stacked]) -> None:
        self._audience = audience
        self._make = make
        self._stacks: OrderedDict[Hashable, Stacked] = OrderedDict()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """The answer of the caller's stack."""
        for middleware in reversed(self._of(self._audience())):
            call_next = partial(middleware, call_next=call_next)
        return await call_next(ctx)

    def close(self) -> None:
        """Others stand in its place."""
        while self._stacks:
            self._stacks.popitem()[1][1]()

    def _of(self, audience: Hashable) -> Sequence[ServerMiddleware[Any]]:
        stack = self._stacks.get(audience)
        if stack is None:
            stack = self._stacks[audience] = self._make()
            if len(self._stacks) > MAX_AUDIENCES:
                self._stacks.popitem(last=False)[1][1]()
        self._stacks.move_to_end(audience)
        return stack[0]
