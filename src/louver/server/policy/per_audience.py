"""A middleware stack per audience: callers share caches only if they may see the same (PRIVACY.md, P16)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from louver.limits import MAX_AUDIENCES
from louver.server.request import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from louver.catalogue.policy.principal import Principal
    from louver.server.request import Next, Request, Step

    # middleware, the outermost first, and what closes it
    MiddlewareStack = tuple[Sequence[Step], Callable[[], None]]


class PerAudience:
    """The middleware; `audience` is that of a principal, and `make` builds a new stack."""

    def __init__(self, audience: Callable[[Principal], Hashable], make: Callable[[Principal], MiddlewareStack]) -> None:
        self._audience = audience
        self._make = make
        self._stacks: OrderedDict[Hashable, MiddlewareStack] = OrderedDict()

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        return await in_order(self._middleware_for(request.identity.principal), call_next)(request)

    def close(self) -> None:
        while self._stacks:
            self._stacks.popitem()[1][1]()

    def _middleware_for(self, principal: Principal) -> Sequence[Step]:
        audience = self._audience(principal)
        stack = self._stacks.get(audience)
        if stack is None:
            stack = self._stacks[audience] = self._make(principal)
            if len(self._stacks) > MAX_AUDIENCES:
                self._stacks.popitem(last=False)[1][1]()
        self._stacks.move_to_end(audience)
        return stack[0]
