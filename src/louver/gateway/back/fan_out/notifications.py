"""Which clients get a notification of an upstream. In the stream of a call, its client gets it.

    progress, task status, log    the client, if only one can be meant; else logs go to all that want their level
    task status                   of these, to the client alone that made the task
    list_changed                  all clients, debounced
    resources/updated             all clients that watch the resource or a parent of it

Other notifications go to all clients. Under a policy, only those go that `steps/policy/message_filter.py` allows.
Each client's `outbox` keeps their order.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Protocol

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.budget import Tally
from louver.gateway.back.fan_out.task_bindings import TASK_STATUS
from louver.gateway.clients.client import resource_and_parents
from louver.wire.mcp import LIST_CHANGED_METHODS, RESOURCE_UPDATED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from logging import Logger

    from louver.gateway.back.fan_out.subscribers import Subscribers
    from louver.gateway.back.fan_out.task_bindings import TaskBindings
    from louver.gateway.back.in_flight import InFlight
    from louver.gateway.back.policy_guard import Guard
    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.wire.jsonrpc.codec import Params

CALM_S = 0.25
"""Shortest time between two notifications of changes of one list, in seconds: a list may change 20,000 times."""


logger = logging.getLogger(__name__)

_LOG: Final = "notifications/message"
# They belong to one client's request, but name it by a token that another client may use too.
_SINGLE_CLIENT_METHODS: Final = frozenset({"notifications/progress", TASK_STATUS})


class PassOn(Protocol):
    """Notifies other replicas of a changed list; `in_call`: it was reported in the stream of one call alone."""

    def __call__(self, method: str, *, in_call: bool) -> None: ...


class Notifications:
    def __init__(
        self,
        name: str,
        subscribers: Subscribers,
        in_flight: InFlight,
        publish: Callable[[str, Params], Awaitable[None]],  # gets them for 2026-07-28 clients
        on_list_changed: Callable[[str], None],  # called for each `list_changed`
        default_level: Callable[[], str | None],  # log level for clients that set none; `None`: every level
        guard: Guard | None,
        tasks: TaskBindings,
        pass_on: PassOn | None,
    ) -> None:
        self._dropped = Tally(logger, f"notifications of upstream {name!r} that are dropped", logging.INFO)
        self._subscribers = subscribers
        self._in_flight = in_flight
        self._publish = publish
        self._on_list_changed = on_list_changed
        self._pass_on = pass_on
        self._changed_in_calls: set[str] = set()
        self._default_level = default_level
        self._guard = guard
        self._tasks = tasks
        self._debouncer = Debouncer(self._broadcast, logger)

    async def close(self) -> None:
        await self._debouncer.close()

    def reaches_clients(self, method: str, params: Params) -> bool:
        """Whether the policy allows a message to reach clients."""
        return self._guard is None or self._guard.enforcer.reaches_clients(method, (params or {}).get("uri"))

    def visible_params(self, method: str, params: Params) -> Params:
        """The params that the policy allows."""
        return params if self._guard is None else self._guard.enforcer.visible_params(method, params)

    async def deliver(self, method: str, params: Params) -> None:
        if method in LIST_CHANGED_METHODS:
            self._on_list_changed(method)
            await self._debouncer.put(method, params)
        else:
            await self._broadcast(method, params)

    async def deliver_to(self, caller: Caller, method: str, params: Params) -> None:
        """Deliver a notification of a request, whose caller filters by the policy; logs below its level are dropped."""
        if method in LIST_CHANGED_METHODS:
            self._on_list_changed(method)
        if self._is_for(caller.client, method, params):
            await caller.notify(method, params)
        # Caused by one request, but other clients have the list or resource too.
        if method in LIST_CHANGED_METHODS:
            self._changed_in_calls.add(method)
            await self._debouncer.put(method, params, caller.client)
        elif method == RESOURCE_UPDATED:
            await self._broadcast(method, params, caller.client)

    async def _broadcast(self, method: str, params: Params, except_client: GatewayClient | None = None) -> None:
        """Deliver to all clients except the one that has it already."""
        if self._pass_on is not None and method in LIST_CHANGED_METHODS:
            self._pass_on(method, in_call=method in self._changed_in_calls)
        self._changed_in_calls.discard(method)
        if not self.reaches_clients(method, params):
            return
        params = self.visible_params(method, params)
        for variant in self._for_watched(params) if method == RESOURCE_UPDATED else (params,):
            await self._publish(method, variant)
        is_single_client = method in _SINGLE_CLIENT_METHODS
        caller = self._in_flight.only_caller
        if caller is not None and (
            method == _LOG or (is_single_client and self._is_for(caller.client, method, params))
        ):
            await self.deliver_to(caller, method, params)
            return
        others = [
            client
            for client in self._subscribers.clients
            if client is not except_client and self._is_for(client, method, params)
        ]
        if is_single_client and len(others) > 1:
            self._dropped.add(f"{method!r}, since several clients could be meant")
            return
        for client in others:
            if client.accepts(method, params, self._default_level()):
                client.notify(method, params)

    def _is_for(self, client: GatewayClient, method: str, params: Params) -> bool:
        """Whether a client may get it: a log message by its level, the status of a task if it made the task."""
        if method == TASK_STATUS:
            return self._tasks.is_of(client.peer, (params or {}).get("taskId"))
        return method != _LOG or client.accepts_level(params, self._default_level())

    def _for_watched(self, params: Params) -> list[Params]:
        """The params, and a copy for each watched parent: 2026-07-28 streams match exact URIs."""
        uri = (params or {}).get("uri")
        watched = [each for each in resource_and_parents(uri) if each != uri and each in self._subscribers.watched]
        return [params, *({**(params or {}), "uri": each} for each in watched)]


class Debouncer:
    """Debounces the `list_changed` notifications of one session."""

    def __init__(self, send: Callable[[str, Params, GatewayClient | None], Awaitable[None]], logger: Logger) -> None:
        self._send = send
        self._tasks = BackgroundTasks(logger)
        self._debouncing: set[str] = set()
        self._pending: dict[str, Params] = {}

    async def put(self, method: str, params: Params, except_client: GatewayClient | None = None) -> None:
        """Notify all clients but `except_client`; within `CALM_S` of another change, notify all clients later."""
        if method in self._debouncing:
            self._pending[method] = params
            return
        self._debouncing.add(method)
        self._tasks.start(self._send_pending(method))
        await self._send(method, params, except_client)

    async def close(self) -> None:
        await self._tasks.close()

    async def _send_pending(self, method: str) -> None:
        try:
            await asyncio.sleep(CALM_S)
            while method in self._pending:
                await self._send(method, self._pending.pop(method), None)
                await asyncio.sleep(CALM_S)
        finally:
            self._debouncing.discard(method)
