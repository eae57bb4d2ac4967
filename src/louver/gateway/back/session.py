"""A session: one connection to an upstream with an agreed protocol revision.

    call               send a client's request, with the identity that the revision needs and a timeout
    on_notification    pass it to clients; a list that has changed is dropped from the cache
    on_request         a request that names no call: pass it to the only client that can be meant

Subscriptions and log levels are in `subscriptions.py`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.budget import BudgetByKey, Tally
from louver.core.json import members
from louver.errors import ToolChanged, UpstreamUnavailable
from louver.gateway.back.fan_out.change_stream import ENDED, ChangeStream
from louver.gateway.back.fan_out.notifications import Notifications
from louver.gateway.back.fan_out.subscriptions import Subscriptions
from louver.gateway.back.fan_out.task_bindings import TaskBindings
from louver.gateway.back.in_flight import InFlight, InFlightCall
from louver.gateway.back.lists.list_cache import LIST_METHODS, ListCache
from louver.gateway.back.lists.tool_list import ToolList
from louver.gateway.back.negotiation import Negotiation, negotiate
from louver.gateway.back.result_checks import check_result
from louver.gateway.back.transports.transport import NO_HEADERS, Call, ignore_notification, refuse_request
from louver.gateway.clients.revisions import ClientIdentity, is_modern, with_envelope, without_envelope
from louver.limits import MAX_PEER_QUESTIONS, OPENING_TIMEOUT_S, PARKED_S
from louver.wire.jsonrpc.errors import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    UNSUPPORTED_PROTOCOL_VERSION,
    JsonRpcError,
)
from louver.wire.mcp import (
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    LIST_CHANGED_METHODS,
    LOG_LEVEL_META_KEY,
    SUBSCRIPTION_ACKNOWLEDGED,
    TOOLS_CHANGED,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from louver.gateway.back.fan_out.notifications import PassOn
    from louver.gateway.back.fan_out.subscribers import Subscribers
    from louver.gateway.back.lists.tool_pins import ToolPins
    from louver.gateway.back.policy_guard import Guard
    from louver.gateway.back.transports.transport import Listener, Transport
    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.wire.jsonrpc.codec import Params

STAYED_S = 10.0
"""Uptime after which the end of an unused upstream is no failure, in seconds. A misconfigured server ends sooner."""


logger = logging.getLogger(__name__)

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What the sessions of an upstream have in common."""

    name: str
    link: Callable[[Listener], Transport]  # makes a transport
    timeout_s: float
    tool_pins: ToolPins
    on_ended: Callable[[Session, str], None]  # the connection ended on its own, with the reason
    on_list_changed: Callable[[str], None]  # called for each `list_changed`: other sessions may get none
    guard: Guard | None = None
    peer_questions: BudgetByKey = field(default_factory=lambda: BudgetByKey(MAX_PEER_QUESTIONS))  # open, by client
    tasks: TaskBindings = field(default_factory=TaskBindings)


class Session:
    def __init__(
        self,
        settings: SessionSettings,
        identity: ClientIdentity,
        subscribers: Subscribers,
        publish: Callable[[str, Params], Awaitable[None]],  # gets notifications for 2026-07-28 clients
        pass_on: PassOn | None = None,  # called for changed lists, as often as clients are notified
    ) -> None:
        self.lists = ListCache()
        self.number = next(_numbers)  # no other session of the process has it
        self.is_modern = False  # speaks 2026-07-28; valid once open
        self.last_used = monotonic()  # or about to be
        self.comparing: asyncio.Task[None] | None = None  # kept tools that clients were listed, with its own
        self._settings = settings
        self._identity = identity
        self._subscribers = subscribers
        self._transport = settings.link(self)
        self._in_flight = InFlight(settings.timeout_s)
        self._notifications = Notifications(
            settings.name,
            subscribers,
            self._in_flight,
            publish,
            self._handle_list_changed,
            self._default_level,
            settings.guard,
            settings.tasks,
            pass_on,
        )
        self._refused_requests = Tally(logger, f"requests of upstream {settings.name!r} that are refused")
        # Open requests to clients: the client, and the progress token.
        self._open_requests: list[tuple[GatewayClient, object]] = []
        self._negotiation: Negotiation | None = None
        self._opened_at = monotonic()
        self._has_answered = False
        self._closed_reason: str | None = None
        self._is_listening = False
        self._change_stream: ChangeStream | None = None
        self._subscriptions: Subscriptions | None = None
        self._tool_list = ToolList(settings.tool_pins, self.lists, self._tools_page)
        self._tasks = BackgroundTasks(logger)

    @property
    def negotiation(self) -> Negotiation:
        assert self._negotiation is not None, "a session is used once it is open"
        return self._negotiation

    @property
    def subscriptions(self) -> Subscriptions:
        assert self._subscriptions is not None, "a session is used once it is open"
        return self._subscriptions

    @property
    def is_stable(self) -> bool:
        """Whether the session was useful: it answered a client, or lasted `STAYED_S`."""
        return self._has_answered or monotonic() - self._opened_at >= STAYED_S

    @property
    def is_stateful(self) -> bool:
        """Whether the server may keep something of one request for the next."""
        return self._transport.is_stateful

    @property
    def idle_s(self) -> float:
        """Seconds since the session, or one of its clients, was used; 0 while it is, or a client watches something."""
        if self._open_requests or self._subscribers.watched:
            return 0.0
        own_s = min(self._in_flight.idle_s, monotonic() - self.last_used)
        return min((own_s, *(each.idle_s for each in self._subscribers.clients)))

    @property
    def declared_changes(self) -> frozenset[str]:
        """The notifications of lists that the upstream declares to change."""
        return frozenset(f"notifications/{name}/list_changed" for name in self._declared_list_changes())

    def on_client_joined(self) -> None:
        """A client without a log level has joined: adjust the upstream's."""
        self._tasks.start(self.subscriptions.adjust_level())

    async def open(self) -> None:
        try:
            self._negotiation = await self._negotiate(self._identity)
        except JsonRpcError as refused:
            if refused.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            # Some servers fix the revision of the whole connection by its first request.
            self._transport, self._closed_reason = self._settings.link(self), None
            other = LATEST_HANDSHAKE_VERSION if is_modern(self._identity.version) else LATEST_MODERN_VERSION
            self._negotiation = await self._negotiate(replace(self._identity, version=other))
        if self._closed_reason is not None:
            # The connection ended before the session was registered.
            await self._transport.close()
            raise UpstreamUnavailable(self._closed_reason)
        self._opened_at = self.last_used = monotonic()
        self.is_modern = is_modern(self.negotiation.version)
        if self.is_modern:
            declared = self._declared_list_changes()
            self._change_stream = ChangeStream(
                self._settings.name, self._transport, self._identity.envelope, declared, self._on_stream_message
            )
        else:
            self._update_announced()
        self._subscriptions = Subscriptions(
            self._settings.name,
            self._subscribers,
            self._change_stream,
            self.call,
            self._ask,
            self._notifications.reaches_clients,
            self._settings.timeout_s,
        )
        self._tasks.start(self._subscriptions.resume())

    async def _negotiate(self, identity: ClientIdentity) -> Negotiation:
        try:
            await self._transport.open()
            return await negotiate(self._transport, identity, max(self._settings.timeout_s, OPENING_TIMEOUT_S))
        except BaseException:  # cancellation must close the transport too
            await _run_to_completion(self._transport.close())
            raise

    async def close(self) -> None:
        if self._change_stream is not None:
            self._change_stream.stop()
        await self._notifications.close()
        await self._tasks.close()
        await self._transport.close()

    def call(self, caller: Caller, method: str, params: Params) -> Awaitable[dict[str, Any]]:
        """The upstream's result for a client's request, in the session's revision."""
        if method in LIST_METHODS:
            return self._list(caller, method, params)
        if method == "tools/call" and params is not None:
            if self._tool_list.blocks:
                return self._call_unless_blocked(caller, method, params)
            if self._may_have_headers(params):
                return self._call_with_headers(caller, method, params)
        return self._send(caller, method, params)

    async def _call_unless_blocked(self, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if await self._tool_list.is_blocked(params.get("name")):
            name = self._settings.name
            caller.record.has_run = False
            raise ToolChanged(f"upstream {name!r}: the tool is not what it was when it was first listed: blocked")
        send = self._call_with_headers if self._may_have_headers(params) else self._send
        return await send(caller, method, params)

    def _may_have_headers(self, params: dict[str, Any]) -> bool:
        if not params.get("arguments") or not self.is_modern or not self._transport.wants_headers:
            return False
        # A tool without such headers is known to have none.
        return self._tool_list.headers.names.get(params["name"]) != {}

    async def _list(self, caller: Caller, method: str, params: Params) -> dict[str, Any]:
        """The result of a request that lists, which may be cached."""
        if (cached := self.lists.find(method, params)) is not None:
            return cached
        generation = self.lists.generation
        return await self._cached(method, params, await self._send(caller, method, params), generation)

    async def _call_with_headers(self, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a call that repeats some of its arguments in headers."""
        headers = self._tool_list.headers
        name, arguments = params["name"], params["arguments"]
        try:
            return await self._send(caller, method, params, await headers.headers(name, arguments))
        except JsonRpcError as refused:
            if refused.code != HEADER_MISMATCH:
                raise
        # Refused before it ran: the tool has changed since it was listed.
        self.invalidate(TOOLS_CHANGED)
        return await self._send(caller, method, params, await headers.headers(name, arguments))

    async def _send(
        self, caller: Caller, method: str, params: Params, headers: Mapping[str, str] = NO_HEADERS
    ) -> dict[str, Any]:
        client = caller.client
        if self._settings.guard is not None:
            caller = self._settings.guard.filtered(caller)
        if not self.is_modern:
            params = without_envelope(params)
        elif not client.is_modern:
            params = with_envelope(params, self._envelope(client))
        on_notification = partial(self._notifications.deliver_to, caller)
        on_request = partial(self._ask_client, client, caller.ask)
        call = Call(method, params, on_notification, on_request, headers, caller.pause, peer=client.peer)
        with InFlightCall(self._in_flight, call, caller) as open_call:
            result = check_result(method, await self._transport.call(open_call.call))
        self._has_answered = True
        return result

    async def tools(self) -> list[dict[str, Any]]:
        """All tools of all pages, for the gateway itself; callers at the same time share one list."""
        return await self._tool_list.all()

    async def notify(self, method: str, params: Params) -> None:
        await self._transport.notify(method, params)

    def has_open_request(self, client: GatewayClient, token: object) -> bool:
        """Whether a request to this client with this progress token is open."""
        return token is not None and (client, token) in self._open_requests

    async def on_notification(self, method: str, params: Params) -> None:
        await self._notifications.deliver(method, params)

    async def on_request(self, method: str, params: Params) -> dict[str, Any]:
        """Answer an upstream's request that names no call: only one client can be meant, or it is refused."""
        clients = self._subscribers.clients
        if (caller := self._in_flight.only_caller) is not None:
            client, ask = caller.client, caller.ask
        elif (
            len(clients) == 1
            and self._in_flight.clients <= clients
            and self._notifications.reaches_clients(method, params)
        ):
            (client,) = clients
            ask, params = client.ask, self._notifications.visible_params(method, params)
        else:
            if method != "roots/list":  # servers request roots when they start, with any number of clients
                self._refused_requests.add(f"{method!r}, since several clients could be meant, or none")
            raise JsonRpcError(code=INVALID_REQUEST, message="the gateway cannot tell which client is asked")
        with ExitStack() as suspensions:
            # Any of the open calls may be waiting for this answer.
            for call in list(self._in_flight.open):
                suspensions.enter_context(call.suspended())
            return await self._ask_client(client, ask, method, params)

    def invalidate(self, change: str) -> None:
        self.lists.invalidate(change)
        if change == TOOLS_CHANGED:
            self._tool_list.headers.forget()

    def on_listening(self, is_open: bool) -> None:
        """The channel for notifications has opened or closed: without it, no list is cached."""
        self._is_listening = is_open
        for change in LIST_CHANGED_METHODS:
            self.invalidate(change)
        if self._negotiation is not None:
            self._update_announced()

    def on_closed(self, reason: str) -> None:
        self._closed_reason = reason
        if self._change_stream is not None:
            self._change_stream.stop()
        self._settings.on_ended(self, reason)

    def _handle_list_changed(self, change: str) -> None:
        self.invalidate(change)
        self._settings.on_list_changed(change)

    def _default_level(self) -> str | None:
        return None if self._subscriptions is None else self._subscriptions.default_level

    def _update_announced(self) -> None:
        """Set which lists can be cached, for a handshake session."""
        self.lists.announced = self._declared_list_changes() if self._is_listening else frozenset()

    def _envelope(self, client: GatewayClient) -> dict[str, Any]:
        level = {} if client.log_level is None else {LOG_LEVEL_META_KEY: client.log_level}
        return {**client.identity.envelope, **level}

    async def _ask_client(
        self,
        client: GatewayClient,
        ask: Callable[[str, Params], Awaitable[dict[str, Any]]],
        method: str,
        params: Params,
    ) -> dict[str, Any]:
        """The answer of a client; its request counts as open meanwhile."""
        request = client, members((params or {}).get("_meta")).get("progressToken")
        questions = self._settings.peer_questions
        with questions.using(client.peer) as is_within:
            if not is_within:
                message = f"the client has not answered {questions.limit} earlier requests of the upstream"
                raise JsonRpcError(code=INVALID_REQUEST, message=message)
            self._open_requests.append(request)
            try:
                # While one of several clients is asked, other requests of the upstream cannot be attributed.
                async with asyncio.timeout(PARKED_S if len(self._subscribers.clients) > 1 else None):
                    return await ask(method, params)
            except TimeoutError:
                message = f"the client has not answered in {PARKED_S:g} s"
                raise JsonRpcError(code=INVALID_REQUEST, message=message) from None
            finally:
                self._open_requests.remove(request)

    async def _ask(self, method: str, params: Params) -> dict[str, Any]:
        """The answer to a request of the session, which no client has sent."""
        with InFlightCall(
            self._in_flight, Call(method, params, ignore_notification, refuse_request), None
        ) as open_call:
            return check_result(method, await self._transport.call(open_call.call))

    async def _cached(self, method: str, params: Params, result: dict[str, Any], generation: int) -> dict[str, Any]:
        """A result that lists, cached if it can be."""
        if method == "tools/list":
            result = await self._tool_list.learn(result)
        self.lists.store(method, params, result, generation)
        return result

    async def _tools_page(self, page_params: dict[str, Any]) -> dict[str, Any]:
        if (page := self.lists.find("tools/list", page_params)) is not None:
            return page
        generation = self.lists.generation
        params = with_envelope(page_params, self._identity.envelope) if self.is_modern else page_params
        return await self._cached("tools/list", page_params, await self._ask("tools/list", params), generation)

    async def _on_stream_message(self, method: str, params: Params) -> None:
        """Handle a message of the `subscriptions/listen` stream."""
        if method == SUBSCRIPTION_ACKNOWLEDGED:
            acknowledged = members((params or {}).get("notifications"))
            self.lists.announced = frozenset(
                name for name in self._declared_list_changes() if acknowledged.get(f"{name}ListChanged")
            )
        elif method == ENDED:
            self.lists.announced = frozenset()
            for change in LIST_CHANGED_METHODS:
                self.invalidate(change)
        else:
            await self.on_notification(method, params)

    def _declared_list_changes(self) -> frozenset[str]:
        capabilities = members(self.negotiation.opening.get("capabilities"))
        return frozenset(
            name for name, capability in capabilities.items() if members(capability).get("listChanged") is True
        )


async def _run_to_completion(work: Coroutine[Any, Any, None]) -> None:
    """Finish the work even if the waiting task is cancelled, then raise the cancellation."""
    task, cancelled = asyncio.create_task(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
