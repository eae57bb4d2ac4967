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
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.budget import BudgetByKey
from louver.core.json import members
from louver.errors import ToolChanged, UpstreamUnavailable
from louver.gateway.clients.revisions import is_modern, with_envelope, without_envelope
from louver.gateway.tally import Tally
from louver.gateway.transports.transport import Call, ignore_notification, refuse_request
from louver.gateway.upstream.change_stream import ENDED, ChangeStream
from louver.gateway.upstream.header_params import HeaderParams, header_names_of
from louver.gateway.upstream.in_flight import InFlight
from louver.gateway.upstream.list_cache import LIST_CHANGED_METHODS, ListCache, without_bad_tools
from louver.gateway.upstream.negotiation import ClientIdentity, Negotiation, negotiate
from louver.gateway.upstream.notifications import Notifications
from louver.gateway.upstream.result_checks import check_result
from louver.gateway.upstream.subscriptions import Subscriptions
from louver.gateway.upstream.task_bindings import TaskBindings
from louver.gateway.upstream.timeouts import CallTimeout, deadlines_of
from louver.jsonrpc.errors import HEADER_MISMATCH, INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION, JsonRpcError
from louver.limits import MAX_PEER_QUESTIONS, OPENING_TIMEOUT_S, PARKED_S, STAYED_S
from louver.protocol.mcp import (
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    LOG_LEVEL_META_KEY,
    SUBSCRIPTION_ACKNOWLEDGED,
    TOOLS_CHANGED,
)
from louver.server.wire import pages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.gateway.transports.transport import Listener, Transport
    from louver.gateway.upstream.notifications import PassOn
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.subscribers import Subscribers
    from louver.gateway.upstream.tool_pins import ToolPins
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


class Session:
    def __init__(
        self,
        name: str,
        make_transport: Callable[[Listener], Transport],  # makes the transport
        identity: ClientIdentity,
        timeout_s: float,
        subscribers: Subscribers,
        publish: Callable[[str, Params], Awaitable[None]],  # gets notifications for 2026-07-28 clients
        on_ended: Callable[[Session, str], None],  # the connection ended on its own, with the reason
        on_list_changed: Callable[[str], None],  # called for each `list_changed`: other sessions may get none
        tool_pins: ToolPins,
        guard: Guard | None = None,
        # For all sessions of the upstream: open requests by client, and whose the tasks are.
        peer_questions: BudgetByKey | None = None,
        tasks: TaskBindings | None = None,
        pass_on: PassOn | None = None,  # called for changed lists, as often as clients are notified
    ) -> None:
        self.lists = ListCache()
        self._in_flight = InFlight()
        self._guard = guard
        self._peer_questions = BudgetByKey(MAX_PEER_QUESTIONS) if peer_questions is None else peer_questions
        self._name = name
        self._subscribers = subscribers
        self._make_transport = make_transport
        self._transport = make_transport(self)
        self._identity = identity
        self._timeout_s = timeout_s
        self._on_ended = on_ended
        self._on_list_changed = on_list_changed
        self._notifications = Notifications(
            name,
            subscribers,
            self._in_flight,
            publish,
            self._handle_list_changed,
            self._default_level,
            guard,
            tasks or TaskBindings(),
            pass_on,
        )
        self._tool_pins = tool_pins
        self._blocked: set[str] = set()
        self._deadlines = deadlines_of(timeout_s)
        self._call_timeouts: set[CallTimeout] = set()
        self._refused_requests = Tally(logger, f"requests of upstream {name!r} that are refused")
        # Open requests to clients: the client, and the progress token.
        self._open_requests: list[tuple[GatewayClient, object]] = []
        self._negotiation: Negotiation | None = None
        self.is_modern = False  # speaks 2026-07-28; valid once open
        self._opened_at = monotonic()
        self._has_answered = False
        self._closed_reason: str | None = None
        self._is_listening = False
        self._change_stream: ChangeStream | None = None
        self._subscriptions: Subscriptions | None = None
        self._header_params = HeaderParams(self.tools)
        # Checking a list yields to other tasks; the lock keeps lists in order.
        self._list_lock = asyncio.Lock()
        self._listing: asyncio.Task[list[dict[str, Any]]] | None = None
        self._listed_generation = 0
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
    def idle_s(self) -> float:
        """Seconds since the session, or one of its clients, was used; 0 while it is, or a client watches something."""
        if self._open_requests or self._subscribers.watched:
            return 0.0
        return min(
            clock.idle_s for clock in (self._in_flight.clock, *(each.clock for each in self._subscribers.clients))
        )

    @property
    def declared_changes(self) -> frozenset[str]:
        """The notifications of lists that the upstream declares to change."""
        return frozenset(f"notifications/{name}/list_changed" for name in self._declared_list_changes())

    def is_about_to_be_used(self) -> None:
        """It does not count as idle until the request is sent."""
        self._in_flight.clock.restart()

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
            self._transport, self._closed_reason = self._make_transport(self), None
            other = LATEST_HANDSHAKE_VERSION if is_modern(self._identity.version) else LATEST_MODERN_VERSION
            self._negotiation = await self._negotiate(replace(self._identity, version=other))
        if self._closed_reason is not None:
            # The connection ended before the session was registered.
            await self._transport.close()
            raise UpstreamUnavailable(self._closed_reason)
        self._opened_at = monotonic()
        self.is_about_to_be_used()
        self.is_modern = is_modern(self.negotiation.version)
        if self.is_modern:
            declared = self._declared_list_changes()
            self._change_stream = ChangeStream(
                self._name, self._transport, self._identity.envelope, declared, self._on_stream_message
            )
        else:
            self._update_announced()
        self._subscriptions = Subscriptions(
            self._name,
            self._subscribers,
            self._change_stream,
            self.call,
            self._ask,
            self._notifications.allows_server_message,
            self._timeout_s,
        )
        self._tasks.start(self._subscriptions.resume())

    async def _negotiate(self, identity: ClientIdentity) -> Negotiation:
        try:
            await self._transport.open()
            return await negotiate(self._transport, identity, max(self._timeout_s, OPENING_TIMEOUT_S))
        except BaseException:  # cancellation must close the transport too
            await _run_to_completion(self._transport.close())
            raise

    async def close(self) -> None:
        if self._change_stream is not None:
            self._change_stream.stop()
        await self._notifications.close()
        await self._tasks.close()
        await self._transport.close()

    async def call(self, caller: Caller, method: str, params: Params) -> dict[str, Any]:
        """The upstream's result for a client's request, in the session's revision."""
        if (cached := self.lists.find(method, params)) is not None:
            return cached
        if self._blocked and method == "tools/call" and (params or {}).get("name") in self._blocked:
            raise ToolChanged(f"upstream {self._name!r}: the tool is not what it was when it was first listed: blocked")
        generation = self.lists.generation
        if self._guard is not None:
            caller = self._guard.filtered(caller)
        if not self.is_modern:
            params = without_envelope(params)
        elif not caller.client.is_modern:
            params = with_envelope(params, self._envelope(caller.client))
        on_notification = partial(self._notifications.deliver_to, caller)
        on_request = partial(self._ask_client, caller.client, caller.ask)
        needs_headers = method == "tools/call" and self.is_modern and self._transport.wants_headers
        answer = self._answer_with_headers if needs_headers and (params or {}).get("arguments") else self._answer
        with self._in_flight.track(caller) as late_answer:
            call = Call(
                method,
                params,
                on_notification,
                on_request,
                on_pause=caller.pause,
                on_late=late_answer,
                peer=caller.client.peer,
            )
            result = await answer(call)
        self._has_answered = True
        return await self._cache_result(method, params, result, generation)

    async def tools(self) -> list[dict[str, Any]]:
        """All tools of all pages, for the gateway itself; callers at the same time share one list."""
        if self._listing is None or self._listing.done() or self._listed_generation != self.lists.generation:
            self._listing, self._listed_generation = asyncio.create_task(self._list_tools()), self.lists.generation
            # Retrieve it, or asyncio logs it as never retrieved.
            self._listing.add_done_callback(lambda listing: listing.cancelled() or listing.exception())
        return list(await asyncio.shield(self._listing))

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
            and self._notifications.allows_server_message(method, params)
        ):
            (client,) = clients
            ask, params = client.ask, self._notifications.visible_params(method, params)
        else:
            if method != "roots/list":  # servers request roots when they start, with any number of clients
                self._refused_requests.add(f"{method!r}, since several clients could be meant, or none")
            raise JsonRpcError(code=INVALID_REQUEST, message="the gateway cannot tell which client is asked")
        with ExitStack() as suspensions:
            # Any of the open calls may be waiting for this answer.
            for timeout in self._call_timeouts:
                suspensions.enter_context(timeout.suspended())
            return await self._ask_client(client, ask, method, params)

    def invalidate(self, change: str) -> None:
        self.lists.invalidate(change)
        if change == TOOLS_CHANGED:
            self._header_params.forget()

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
        self._on_ended(self, reason)

    def _handle_list_changed(self, change: str) -> None:
        self.invalidate(change)
        self._on_list_changed(change)

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
        with self._peer_questions.using(client.peer) as is_within:
            if not is_within:
                message = f"the client has not answered {self._peer_questions.limit} earlier requests of the upstream"
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

    async def _answer(self, call: Call) -> dict[str, Any]:
        with CallTimeout(self._deadlines) as timeout:
            self._call_timeouts.add(timeout)
            try:
                return check_result(call.method, await self._transport.call(timeout.watched(call)))
            finally:
                self._call_timeouts.remove(timeout)

    async def _ask(self, method: str, params: Params) -> dict[str, Any]:
        return await self._answer(Call(method, params, ignore_notification, refuse_request))

    async def _answer_with_headers(self, call: Call) -> dict[str, Any]:
        """The answer to a call that repeats some of its arguments in headers."""
        params = call.params or {}
        name, arguments = params["name"], params["arguments"]
        try:
            return await self._answer(call._replace(headers=await self._header_params.headers(name, arguments)))
        except JsonRpcError as refused:
            if refused.code != HEADER_MISMATCH:
                raise
        # Refused before it ran: the tool has changed since it was listed.
        self.invalidate(TOOLS_CHANGED)
        return await self._answer(call._replace(headers=await self._header_params.headers(name, arguments)))

    async def _cache_result(
        self, method: str, params: Params, result: dict[str, Any], generation: int
    ) -> dict[str, Any]:
        """The result, cached if it is a list that can be."""
        if method == "tools/list":
            async with self._list_lock:
                result = await self._without_blocked(await without_bad_tools(result))
                self._header_params.learn(await header_names_of(result["tools"]))
        self.lists.store(method, params, result, generation)
        return result

    async def _without_blocked(self, result: dict[str, Any]) -> dict[str, Any]:
        """A tool list without blocked tools, which are remembered to refuse their calls."""
        tools: list[dict[str, Any]] = result["tools"]
        blocked = await self._tool_pins.learn(tools)
        self._blocked = self._blocked.difference(tool["name"] for tool in tools) | blocked
        return {**result, "tools": [tool for tool in tools if tool["name"] not in blocked]} if blocked else result

    async def _list_tools(self) -> list[dict[str, Any]]:
        return [tool async for page in pages(self._tools_page) for tool in page["tools"]]

    async def _tools_page(self, page_params: dict[str, Any]) -> dict[str, Any]:
        if (page := self.lists.find("tools/list", page_params)) is not None:
            return page
        generation = self.lists.generation
        params = with_envelope(page_params, self._identity.envelope) if self.is_modern else page_params
        return await self._cache_result("tools/list", page_params, await self._ask("tools/list", params), generation)

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
