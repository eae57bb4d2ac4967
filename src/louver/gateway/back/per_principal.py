"""The upstreams of principals, at a server that callers use with logins of their own: they have nothing in common.

    ann ── Upstream(ann's login) ── sessions, lists, tool pins, retries
    bob ── Upstream(bob's login) ── sessions, lists, tool pins, retries

The upstream that has them serves the gateway and clients over stdio, which have no principal.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from louver.errors import UpstreamUnavailable
from louver.limits import UNUSED_S

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.back.upstream import Upstream, UpstreamSettings

MAX_UPSTREAM_PRINCIPALS = 1_000
"""Principals that use one upstream with logins of their own at the same time: each has two MCP sessions at most, for
clients of either kind of revisions, of two or three connections each."""


class PrincipalUpstreams:
    def __init__(
        self,
        shared: Upstream,  # the upstream that has them
        settings_of: Callable[[PrincipalKey], UpstreamSettings],
        make: Callable[[PrincipalKey, UpstreamSettings], Upstream],
        on_unused: Callable[[PrincipalKey], None],  # the principal's upstream was given up
    ) -> None:
        self._shared = shared
        self._settings_of = settings_of
        self._make = make
        self._on_unused = on_unused
        self._by_principal: OrderedDict[PrincipalKey, Upstream] = OrderedDict()  # the longest unused first

    @property
    def all(self) -> Collection[Upstream]:
        return self._by_principal.values()

    def of(self, principal: PrincipalKey | None) -> Upstream:
        """The upstream of a principal, made if needed; `None`: the shared one."""
        if principal is None:
            return self._shared
        if (own := self._by_principal.get(principal)) is None:
            self._make_room()
            own = self._by_principal[principal] = self._make(principal, self._settings_of(principal))
        self._by_principal.move_to_end(principal)
        return own

    def known(self, principal: PrincipalKey | None) -> Upstream | None:
        """The upstream that a principal has used, if any."""
        return None if principal is None else self._by_principal.get(principal)

    def reconfigure(self, settings_of: Callable[[PrincipalKey], UpstreamSettings]) -> None:
        self._settings_of = settings_of
        for principal, each in self._by_principal.items():
            each.reconfigure(settings_of(principal))

    def give_up_all(self) -> None:
        for principal in list(self._by_principal):
            self._give_up(principal)

    def _make_room(self) -> None:
        if len(self._by_principal) < MAX_UPSTREAM_PRINCIPALS:
            return
        unused = (
            principal for principal, each in self._by_principal.items() if not each.clients and each.idle_s > UNUSED_S
        )
        if (principal := next(unused, None)) is None:
            name = self._shared.name
            raise UpstreamUnavailable(f"upstream {name!r} serves {MAX_UPSTREAM_PRINCIPALS} principals already")
        self._give_up(principal)

    def _give_up(self, principal: PrincipalKey) -> None:
        self._shared.close_other(self._by_principal.pop(principal))
        self._on_unused(principal)
