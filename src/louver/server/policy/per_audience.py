"""A middleware stack per audience: callers share caches only if they may see the same (PRIVACY.md, P16)."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from louver.limits import MAX_AUDIENCES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

    # middleware, the outermost first, and what closes it
    Stacked = tuple[Sequence[ServerMiddleware[Any]], Callable[[], None]]


class Audiences:
    """The middleware; `audience` is that of the current request, and `make` builds a new stack."""

    def __init__(self, audience: Callable[[], Hashable], make: Callable[[], Stacked]) -> None:
        self._audience = audience
        self._make = make
        self._stacks: OrderedDict[Hashable, Stacked] = OrderedDict()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        for middleware in reversed(self._of(self._audience())):
            call_next = partial(middleware, call_next=call_next)
        return await call_next(ctx)

    def close(self) -> None:
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
