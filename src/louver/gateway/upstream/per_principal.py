"""An upstream that callers use with logins of their own: each principal has another one, with nothing in common.

    ann ── Upstream(ann's login) ── sessions, lists, tool pins, retries
    bob ── Upstream(bob's login) ── sessions, lists, tool pins, retries

The object itself serves the gateway and clients over stdio, which have no principal, and everybody where one login is
for all.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from louver.errors import UpstreamUnavailable
from louver.gateway.upstream.upstream import Upstream
from louver.limits import MAX_UPSTREAM_PRINCIPALS, UNUSED_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.clients.client import GatewayClient
    from louver.gateway.upstream.kept_catalogue import KeptAnswers
    from louver.gateway.upstream.session import Session
    from louver.gateway.upstream.upstream import UpstreamSettings
    from louver.jsonrpc.codec import Params


class UpstreamPerPrincipal(Upstream):
    def __init__(
        self,
        name: str,
        settings: UpstreamSettings,
        *,
        make: Callable[[PrincipalKey, UpstreamSettings], Upstream],
        on_unused: Callable[[PrincipalKey], None],  # the principal's upstream was given up
        **options: Any,  # of `Upstream`
    ) -> None:
        super().__init__(name, settings, **options)
        self._make = make
        self._on_unused = on_unused
        self._by_principal: OrderedDict[PrincipalKey, Upstream] = OrderedDict()

    @property
    def is_up(self) -> bool:
        return super().is_up or any(each.is_up for each in self._by_principal.values())

    @property
    def clients(self) -> set[GatewayClient]:
        return super().clients.union(*(each.clients for each in self._by_principal.values()))

    async def session(self, client: GatewayClient | None = None, within_s: float | None = None) -> Session:
        if client is None or (own := self._own(client)) is None:
            return await super().session(client, within_s)
        session = await own.session(client, within_s)
        self.server_name = own.server_name
        return session

    def kept_for(self, client: GatewayClient) -> KeptAnswers | None:
        return super().kept_for(client) if self._own(client) is None else None

    async def resume(self) -> None:
        await asyncio.gather(super().resume(), *(each.resume() for each in self._by_principal.values()))

    async def notify(self, client: GatewayClient, method: str, params: Params) -> None:
        own = self._own(client)
        await (super().notify(client, method, params) if own is None else own.notify(client, method, params))

    def is_watched(self, client: GatewayClient, uri: str) -> bool:
        own = self._own(client)
        return super().is_watched(client, uri) if own is None else own.is_watched(client, uri)

    def has_session_for(self, client: GatewayClient) -> bool:
        own = self._own(client)
        return super().has_session_for(client) if own is None else own.has_session_for(client)

    def notify_when_available(self, client: GatewayClient) -> None:
        own = self._own(client)
        (super() if own is None else own).notify_when_available(client)

    def store_level(self, client: GatewayClient, level: str) -> None:
        own = self._own(client)
        (super() if own is None else own).store_level(client, level)

    def is_retryable(self, client: GatewayClient, method: str, params: Params) -> bool:
        own = self._own(client)
        return (super() if own is None else own).is_retryable(client, method, params)

    async def remove_client(self, client: GatewayClient) -> None:
        # Without making one: the client may never have used it.
        own = None if client.principal is None else self._by_principal.get(client.principal)
        await (super().remove_client(client) if own is None else own.remove_client(client))

    def reconfigure(self, settings: UpstreamSettings) -> None:
        super().reconfigure(settings)
        for principal, each in list(self._by_principal.items()):
            if settings.of_principal is None:
                self._give_up(principal)
            else:
                each.reconfigure(settings.of_principal(principal))

    def close(self) -> None:
        super().close()
        for each in self._by_principal.values():
            each.close()

    async def wait_closed(self) -> None:
        await asyncio.gather(super().wait_closed(), *(each.wait_closed() for each in self._by_principal.values()))

    async def on_change_elsewhere(self, change: str, *, in_call: bool) -> None:
        others = [each.on_change_elsewhere(change, in_call=in_call) for each in self._by_principal.values()]
        await asyncio.gather(super().on_change_elsewhere(change, in_call=in_call), *others)

    def _own(self, client: GatewayClient) -> Upstream | None:
        """The upstream of a client's principal; `None`: this one."""
        principal, make_settings = client.principal, self._settings.of_principal
        if principal is None or make_settings is None:
            return None
        if (own := self._by_principal.get(principal)) is None:
            self._make_room()
            own = self._by_principal[principal] = self._make(principal, make_settings(principal))
            # It binds tasks to principals already.
            own.tasks = self.tasks
        self._by_principal.move_to_end(principal)
        return own

    def _make_room(self) -> None:
        if len(self._by_principal) < MAX_UPSTREAM_PRINCIPALS:
            return
        unused = (
            principal for principal, each in self._by_principal.items() if not each.clients and each.idle_s > UNUSED_S
        )
        if (principal := next(unused, None)) is None:
            raise UpstreamUnavailable(f"upstream {self.name!r} serves {MAX_UPSTREAM_PRINCIPALS} principals already")
        self._give_up(principal)

    def _give_up(self, principal: PrincipalKey) -> None:
        unused = self._by_principal.pop(principal)
        unused.close()
        self._closing_tasks.start(unused.wait_closed())
        self._on_unused(principal)
