"""A handler per audience: callers share caches only if they may see the same (PRIVACY.md, P16)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from louver.limits import MAX_AUDIENCES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from louver.catalogue.policy.principal import Principal
    from louver.server.request import Next, Request

T = TypeVar("T")


class PerAudience(Generic[T]):
    """The handlers; `audience` is that of a principal, and `make` builds a new handler, and what closes it."""

    def __init__(
        self, audience: Callable[[Principal], Hashable], make: Callable[[Principal], tuple[T, Callable[[], None]]]
    ) -> None:
        self._audience = audience
        self._make = make
        self._handlers: OrderedDict[Hashable, tuple[T, Callable[[], None]]] = OrderedDict()

    def __call__(self: PerAudience[Next], request: Request) -> Awaitable[dict[str, Any]]:
        return self.find(request.identity.principal)(request)

    def find(self, principal: Principal) -> T:
        audience = self._audience(principal)
        handler = self._handlers.get(audience)
        if handler is None:
            handler = self._handlers[audience] = self._make(principal)
            if len(self._handlers) > MAX_AUDIENCES:
                self._handlers.popitem(last=False)[1][1]()
        self._handlers.move_to_end(audience)
        return handler[0]

    def close(self) -> None:
        while self._handlers:
            self._handlers.popitem()[1][1]()
