"""An upstream server, with one session for all clients (`shared`) or one for each handshake client (`session`).

    client A ─┐                        client A ── session ── process
    client B ─┴─ session ── process    client B ── session ── process

A session opens on first use and, after an end or a reload, again for the same clients and subscriptions.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.backoff import Backoff
from louver.concurrency.budget import BudgetByKey
from louver.core.json import members
from louver.errors import LoginFailed, LoginRequired, TooManyProcesses, UpstreamError, UpstreamUnavailable
from louver.gateway.back.availability import Availability
from louver.gateway.back.fan_out.notifications import Debouncer, PassOn
from louver.gateway.back.fan_out.subscribers import Subscribers
from louver.gateway.back.fan_out.task_bindings import TaskBindings
from louver.gateway.back.lists.kept_catalogue import KeptCatalogues
from louver.gateway.back.lists.list_cache import change_notifications
from louver.gateway.back.lists.tool_pins import ToolPins
from louver.gateway.back.openings import OpeningPlaces
from louver.gateway.back.processes import IdleProcess
from louver.gateway.back.retry import ConnectBackoff, Reconnector
from louver.gateway.back.session import Session, SessionSettings
from louver.gateway.back.transports.transport import RefusesAllRequests, ignore_notification
from louver.gateway.clients.client import GatewayClient
from louver.gateway.clients.revisions import is_modern
from louver.gateway.config.model import COMMAND_LINE_SERVER
from louver.limits import MAX_PEER_QUESTIONS, UNUSED_S
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.mcp import LATEST_HANDSHAKE_VERSION, TOOLS_CHANGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.back.availability import AvailabilityListeners
    from louver.gateway.back.lists.kept_catalogue import CatalogueFolder, KeptAnswers
    from louver.gateway.back.lists.tool_pins import SharedPins
    from louver.gateway.back.negotiation import Negotiation
    from louver.gateway.back.per_principal import PrincipalUpstreams
    from louver.gateway.back.policy_guard import Guard
    from louver.gateway.back.processes import ProcessBudget
    from louver.gateway.back.transports.transport import Listener, Transport
    from louver.gateway.clients.revisions import ClientIdentity
    from louver.gateway.config.model import OnChange
    from louver.wire.jsonrpc.codec import Params

MAX_SESSIONS = 200
"""Sessions with one upstream, where each client has its own."""

MAX_PEER_UPSTREAM_SESSIONS = 50
"""Sessions with one upstream for one such client, each a process over stdio; a host opens one for each window."""

# Keys of sessions that several clients share.
_SHARED_KEYS: Final = (None, True, False)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    link: Callable[[Listener], Transport]  # makes a transport
    timeout_s: float  # longest silence during a call
    isolated: bool  # each handshake client has its own session
    per_revision: bool  # sessions in both kinds of revisions at once; a single process speaks only one
    shared_if_stateless: bool = False  # not isolated after all, if the server keeps nothing between requests
    guard: Guard | None = None  # `None` without a policy
    on_change: OnChange = "warn"  # what happens to a tool that changed
    pins: SharedPins | None = None  # what other replicas know of its tools; `None`: each knows its own
    catalogues: CatalogueFolder | None = None  # `None`: clients wait for the upstream to open
    place: str = ""  # digest of how the upstream is started or reached
    configured: str = ""  # name for a digest of its configuration alone, without the environment and the folder
    openings: OpeningPlaces = field(default_factory=OpeningPlaces)  # shared by all upstreams
    processes: ProcessBudget | None = None  # for sessions that are processes, which end when nobody uses them
    of_principal: Callable[[PrincipalKey], UpstreamSettings] | None = None  # `None`: the same for all callers


class _Opening(NamedTuple):
    task: asyncio.Task[Session]
    began: float


@dataclass(slots=True, eq=False)
class _Slot:
    """The place of one session: whom it serves, and the session once it is open."""

    subscribers: Subscribers
    availability: Availability
    session: Session | None = None
    opening: _Opening | None = None
    kept: list[KeptAnswers] | None = None  # until the session opens, the exact ones first; `None`: not looked up
    early_ends: Backoff = field(default_factory=Backoff)  # early ends in a row
    is_asleep: bool = False  # its session was idle, and opens again on use


class Upstream:
    """One upstream: its clients stay across sessions and reloads."""

    def __init__(
        self,
        name: str,
        settings: UpstreamSettings,
        *,
        shared_identity: ClientIdentity,  # identity in shared sessions
        single_client: bool,  # one client over stdio: its identity is used instead
        publish: Callable[[str, Params], Awaitable[None]],  # gets notifications for 2026-07-28 clients
        availability_listeners: AvailabilityListeners,
        has_listeners: Callable[[], bool] = lambda: False,  # whether any 2026-07-28 client listens for changed lists
        pass_on: PassOn | None = None,  # called for changed lists, if other replicas have clients too
        shared: Upstream | None = None,  # the upstream of all principals, if this is that of one
    ) -> None:
        self.name = name
        self.problem: str | None = None
        self.server_name: str | None = None  # the name in its `serverInfo`
        self.shared_identity = shared_identity
        self.principals: PrincipalUpstreams | None = None  # where callers use logins of their own
        # They are bound to principals already.
        self.tasks = TaskBindings() if shared is None else shared.tasks
        self._shared = shared
        self._single_client = single_client
        self._publish = publish
        self._availability_listeners = availability_listeners
        self._has_listeners = has_listeners
        self._pass_on = pass_on
        self._changes_elsewhere = Debouncer(self._notify_of_change, logger)
        self._slots: dict[Hashable, _Slot] = {}
        self._leaving: list[GatewayClient] = []  # while their own sessions end
        self._closing = BackgroundTasks(logger)
        self._peer_questions = BudgetByKey(MAX_PEER_QUESTIONS)
        self._reconnector = Reconnector(self._waiting_clients, lambda: self._backoff.wait_s, self._reconnect)
        self._is_closed = False
        self._apply(settings)

    def _apply(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self._is_stateless = False  # as the last session of a handshake client has shown
        self.guard = settings.guard
        self._backoff = ConnectBackoff(self.name)
        self._tool_pins = ToolPins(self.name, settings.on_change, settings.pins)
        self._catalogues = (
            None
            if settings.catalogues is None
            else KeptCatalogues(settings.catalogues, settings.place, settings.configured, self._tool_pins)
        )

    @property
    def display_name(self) -> str:
        """Its name for people: for a server of the command line, the one that it reports."""
        return self.server_name if self.name == COMMAND_LINE_SERVER and self.server_name else self.name

    @property
    def is_up(self) -> bool:
        """Whether a session is open, or was before it was idle, and the last one did not fail."""
        was_open = any(slot.session is not None or slot.is_asleep for slot in self._slots.values())
        return (was_open and self.problem is None) or any(each.is_up for each in self._owned())

    @property
    def state(self) -> Literal["up", "down", "unused"]:
        """Whether it is there; `unused` if nobody has needed it yet."""
        return "up" if self.is_up else "unused" if self.problem is None else "down"

    @property
    def idle_s(self) -> float:
        """For how long nobody has used it, in seconds."""
        if any(slot.opening is not None for slot in self._slots.values()):
            return 0.0
        return min((each.idle_s for each in self._sessions), default=UNUSED_S + 1)

    @property
    def is_isolated(self) -> bool:
        """Whether each handshake client has its own session, in which the server may keep state."""
        return self._settings.isolated and not self._is_stateless

    @property
    def clients(self) -> set[GatewayClient]:
        """The handshake clients."""
        own = {client for slot in self._slots.values() for client in slot.subscribers.clients}
        return own.union(*(each.clients for each in self._owned()))

    def of(self, client: GatewayClient) -> Upstream:
        """The upstream of a client's principal, where callers use logins of their own; else this one."""
        return self if self.principals is None else self.principals.of(client.principal)

    def open_session(self, client: GatewayClient) -> Session | None:
        """The session of a client, if it is open."""
        slot = self._slots.get(self._key(client))
        return None if slot is None else slot.session

    def session_to_use(self, client: GatewayClient) -> Session | None:
        """The session of a client that has used it before, if it is open; it does not count as idle from now on."""
        slot = self._slots.get(self._key(client))
        if slot is None or slot.session is None or client.is_closed or self._is_closed:
            return None
        if not client.is_modern and client not in slot.subscribers.clients:
            return None
        slot.session.last_used = monotonic()
        return slot.session

    async def session(self, client: GatewayClient | None = None, within_s: float | None = None) -> Session:
        """The session of a client, or any for the gateway itself. Opened if needed; that goes on after `within_s`."""
        while not self._is_closed:
            if client is not None:
                client.check_is_open(self.name)
            key = self._key(client)
            slot = self._slot(key)
            if client is not None and not client.is_modern:
                self._add_client(slot, client)
            session = next(iter(self._sessions), None) if client is None else slot.session
            if session is not None:
                session.last_used = monotonic()
                return session
            (opening, began), settings = self._opening_of(key, client), self._settings
            # Several clients may wait for it; cancelling one does not cancel the opening.
            left_s = None if within_s is None else max(0.0, began + within_s - monotonic())
            if not (await asyncio.wait({opening}, timeout=left_s))[0]:
                raise UpstreamUnavailable(f"upstream {self.name!r} is not there yet: it is being opened")
            is_moved = client is not None and self._key(client) != key
            is_here = client is None or client.is_modern or client in self.clients
            if is_here and (is_moved or self._settings is not settings):
                # Try again with the new settings, or in a slot of its own, unless the client has left.
                continue
            if opening.cancelled() or self._settings is not settings or self._is_closed:
                break
            return opening.result()
        raise UpstreamUnavailable(f"upstream {self.name!r} is not there: it has been closed")

    def kept_for(self, client: GatewayClient, *, is_late: bool = False) -> KeptAnswers | None:
        """The answers that are kept from the last run, while the upstream opens for the first time; opens it.

        `is_late`: the client can wait no longer, so those of another client, or of doctor, do too.
        """
        if self._catalogues is None or self._is_closed or self._catalogues.is_live or client.is_closed:
            return None
        key = self._key(client)
        if (slot := self._slot(key)).session is not None:
            return None
        if slot.kept is None:
            slot.kept = self._catalogues.read(self._identity_for(key, client))
        if (kept := next((each for each in slot.kept if is_late or each.is_for(client)), None)) is None:
            return None
        try:
            self._opening_of(key, client)
        except UpstreamUnavailable:
            return None
        if not client.is_modern:
            self._add_client(slot, client)
        kept.is_used = True
        self.server_name = kept.negotiation.name
        return kept

    async def resume(self) -> None:
        """Open the sessions that have subscriptions or log levels, if the upstream is available."""
        for key in list(self._slots):
            # A client that leaves meanwhile is not served any more.
            if (slot := self._slots.get(key)) is not None and slot.subscribers.has_subscriptions:
                with suppress(UpstreamError):
                    await self.session(next(iter(slot.subscribers.all_clients)))
        await asyncio.gather(*(each.resume() for each in self._owned()))

    async def notify(self, client: GatewayClient, method: str, params: Params) -> None:
        """Pass on a client's notification if a session is open; progress only for an open request to that client."""
        session = self.open_session(client)
        if session is None or session.is_modern:
            return
        if method == "notifications/progress" and not session.has_open_request(
            client, (params or {}).get("progressToken")
        ):
            return
        with suppress(UpstreamError):
            await session.notify(method, params)

    def is_watched(self, client: GatewayClient, uri: str) -> bool:
        slot = self._slots.get(self._key(client))
        return slot is not None and slot.subscribers.is_watched(client, uri)

    def notify_when_available(self, client: GatewayClient) -> None:
        """Record that a client is served without the upstream, and reconnect in the background."""
        if not client.is_closed:
            self._slot(self._key(client)).availability.notify_when_available(client)
            self._reconnector.start()

    def store_level(self, client: GatewayClient, level: str) -> None:
        if not client.is_closed:
            self._slot(self._key(client)).subscribers.levels[client] = client.log_level = level

    def is_retryable(self, method: str, params: Params) -> bool:
        """Whether a request calls a tool that is declared safe to call again."""
        return method == "tools/call" and self._tool_pins.is_retryable((params or {}).get("name"))

    def idle_processes(self) -> Iterator[IdleProcess]:
        """The sessions that are processes, each with the time for which nobody has used it."""
        if self._settings.processes is not None:
            for key, slot in self._slots.items():
                if slot.session is not None and not (_serves_modern(key) and self._has_listeners()):
                    yield IdleProcess(slot.session.idle_s, partial(self._end_idle, slot))

    def _end_idle(self, slot: _Slot) -> None:
        """End the session of a slot, which opens again on use."""
        session, slot.session, slot.is_asleep = slot.session, None, True
        assert session is not None, "only an open session is idle"
        logger.info("upstream %r: a session that nobody has used for %.0f s is ended", self.name, session.idle_s)
        self._closing.start(session.close())
        self._reconnector.start()

    async def remove_client(self, client: GatewayClient) -> None:
        if self.principals is not None and (own := self.principals.known(client.principal)) is not None:
            await own.remove_client(client)
            return
        # Removed before the first await.
        own_slot = self._slots.pop(client, None)
        if own_slot is not None and own_slot.opening is not None:
            self._cancel(own_slot.opening)
        # Only shared sessions that serve this client: it does not wait for the servers of others.
        shared = [slot for key in _SHARED_KEYS if (slot := self._slots.get(key)) is not None]
        slots = [slot for slot in shared if slot.subscribers.serves(client)]
        left = [(slot, slot.subscribers.remove(client)) for slot in slots]
        if own_slot is not None and own_slot.session is not None:
            # Its process counts until it has ended.
            self._leaving.append(client)
            await asyncio.shield(self._closing.start(self._close_session_of(client, own_slot.session)))
        for slot, uris in left:
            if slot.session is not None:
                await slot.session.subscriptions.on_client_left(uris)

    async def _close_session_of(self, client: GatewayClient, session: Session) -> None:
        try:
            await session.close()
        finally:
            self._leaving.remove(client)
            self._reconnector.start()

    def reconfigure(self, settings: UpstreamSettings) -> None:
        """Apply new settings; clients and subscriptions stay. It also revives an upstream that was closed."""
        self._close_all()
        before, self._slots = self._slots, {}
        self._apply(settings)
        for slot in before.values():
            for client in slot.subscribers.all_clients:
                self._slot(self._key(client)).subscribers.copy_client(client, slot.subscribers)
        self.problem = self.server_name = None
        self._is_closed = False

    def close(self) -> None:
        """Close all sessions and open none until `reconfigure`."""
        self._is_closed = True
        self._close_all()
        self._reconnector.stop()
        for each in self._owned():
            each.close()

    async def wait_closed(self) -> None:
        """Wait until closed sessions have ended."""
        await asyncio.gather(self._closing.wait(), *(each.wait_closed() for each in self._owned()))

    def close_other(self, other: Upstream) -> None:
        """Close the upstream of a principal, in the background: its end belongs to that of this one."""
        other.close()
        self._closing.start(other.wait_closed())

    def _close_all(self) -> None:
        """Close all sessions and openings, in the background."""
        if self._catalogues is not None:
            self._closing.start(self._catalogues.close())
        self._closing.start(self._changes_elsewhere.close())
        for slot in self._slots.values():
            opening, slot.opening = slot.opening, None
            session, slot.session = slot.session, None
            if opening is not None:
                self._cancel(opening)
            if session is not None:
                self._closing.start(session.close())

    def _cancel(self, opening: _Opening) -> None:
        opening.task.cancel()
        self._closing.start(_wait_for(opening.task))

    @property
    def _sessions(self) -> list[Session]:
        """The open sessions."""
        return [slot.session for slot in self._slots.values() if slot.session is not None]

    def _owned(self) -> Iterable[Upstream]:
        """The upstreams of principals."""
        return () if self.principals is None else self.principals.all

    def _key(self, client: GatewayClient | None) -> Hashable:
        """The key of a client's session: the client, `None` for all, or whether it is a handshake session."""
        is_isolated = self._settings.isolated and client is not None and not client.is_modern
        # Who has a slot of its own keeps it.
        if is_isolated and not (self._is_stateless and client not in self._slots):
            return client
        if not self._settings.per_revision:
            return None
        return not (is_modern(self.shared_identity.version) if client is None else client.is_modern)

    def _slot(self, key: Hashable) -> _Slot:
        if (slot := self._slots.get(key)) is None:
            subscribers = Subscribers()
            availability = Availability(subscribers, self._availability_listeners, serves_modern=_serves_modern(key))
            slot = self._slots[key] = _Slot(subscribers, availability)
        return slot

    def _add_client(self, slot: _Slot, client: GatewayClient) -> None:
        """Serve a handshake client over a session, which may not be open yet."""
        if client not in slot.subscribers.clients:
            slot.subscribers.clients.add(client)
            if slot.session is not None:
                slot.session.on_client_joined()

    def _opening_of(self, key: Hashable, client: GatewayClient | None) -> _Opening:
        slot = self._slot(key)
        if (opening := slot.opening) is None:
            self._check_budget(key)
            opening = slot.opening = _Opening(asyncio.create_task(self._open(key, slot, client)), monotonic())
            opening.task.add_done_callback(partial(self._on_opened, slot))
        return opening

    def _check_budget(self, key: Hashable) -> None:
        """Make room for one more session of a single client; raise if that is not possible."""
        if not isinstance(key, GatewayClient):
            return
        clients = self._clients_with_session()
        own = [each for each in (*clients, *self._leaving) if each.peer == key.peer]
        if len(own) >= MAX_PEER_UPSTREAM_SESSIONS and not self._evict_idle_session(own):
            problem = f"one client has at most {MAX_PEER_UPSTREAM_SESSIONS} sessions with upstream {self.name!r}"
            raise UpstreamUnavailable(f"{problem}: close some, or try again later")
        if len(clients) >= MAX_SESSIONS and not self._evict_idle_session(clients):
            raise UpstreamUnavailable(f"upstream {self.name!r} has {MAX_SESSIONS} sessions already")

    def _clients_with_session(self) -> list[GatewayClient]:
        """The clients that have a session of their own, or will have it."""
        return [
            each
            for each, slot in self._slots.items()
            if isinstance(each, GatewayClient) and (slot.session is not None or slot.opening is not None)
        ]

    def _evict_idle_session(self, clients: Iterable[GatewayClient]) -> bool:
        """Close the longest unused session of these clients, which may have crashed; `False` if there is none."""
        idle = {
            slot.session.idle_s: slot
            for client in clients
            if (slot := self._slots.get(client)) is not None
            and slot.session is not None
            and slot.session.idle_s > UNUSED_S
        }
        if not idle:
            return False
        self._end_idle(idle[max(idle)])
        return True

    def _on_opened(self, slot: _Slot, opening: asyncio.Task[Session]) -> None:
        # Retrieve its error, or asyncio logs it as never retrieved.
        has_failed = not opening.cancelled() and opening.exception() is not None
        if slot.opening is not None and slot.opening.task is opening:
            slot.opening = None
            if has_failed:
                self._on_failed_to_open(slot)

    def _on_failed_to_open(self, slot: _Slot) -> None:
        """The upstream is unavailable now to clients that were served from what was kept."""
        if self._catalogues is not None:
            self._catalogues.is_live = True
        used = [each for each in slot.kept or () if each.is_used]
        slot.kept = None
        if not used:
            return
        for kept in used:
            slot.availability.on_unavailable(_change_notifications(kept.negotiation))
        if any(kept.is_listed for kept in used):
            slot.availability.announce({TOOLS_CHANGED})
        self._reconnector.start()

    async def _open(self, key: Hashable, slot: _Slot, client: GatewayClient | None) -> Session:
        client_identity = client.identity if client is not None and key is client else None
        self._backoff.check(slot.early_ends, client_identity)
        identity = self._identity_for(key, client)
        session = self._make_session(key, identity, slot.subscribers)
        async with self._settings.openings.place():
            await self._open_session(session, client_identity)
        if self._settings.shared_if_stateless and not _serves_modern(key):
            self._is_stateless = not session.is_stateful
            if session.is_stateful:
                self._separate_clients()
                if key is True:
                    self._closing.start(session.close())
                    raise UpstreamUnavailable(f"upstream {self.name!r} keeps state for each client now")
        self._backoff.record_success(client_identity)
        self.problem = None
        self.server_name = session.negotiation.name
        if self._shared is not None:
            self._shared.server_name = self.server_name
        slot.session = session
        slot.availability.on_available(_change_notifications(session.negotiation))
        if slot.is_asleep:
            # Its lists may have changed while nobody heard.
            slot.is_asleep = False
            slot.availability.announce(session.declared_changes)
        if self._catalogues is not None:
            kept, slot.kept = slot.kept or [], None
            self._catalogues.compare(session, identity, kept)
        return session

    def _make_session(self, key: Hashable, identity: ClientIdentity, subscribers: Subscribers) -> Session:
        settings = SessionSettings(
            self.name,
            self._settings.link,
            self._settings.timeout_s,
            self._tool_pins,
            self._on_session_ended,
            self._on_list_changed,
            guard=self.guard,
            peer_questions=self._peer_questions,
            tasks=self.tasks,
        )
        publish = self._publish if _serves_modern(key) else ignore_notification
        # Not passed on for a session of one client alone.
        pass_on = None if isinstance(key, GatewayClient) else self._pass_on
        return Session(settings, identity, subscribers, publish, pass_on)

    async def _open_session(self, session: Session, client_identity: ClientIdentity | None) -> None:
        try:
            await session.open()
        except TooManyProcesses:
            raise
        except (LoginFailed, LoginRequired) as error:
            # No failure of the upstream: it can open as soon as somebody has logged in.
            self.problem = error.message
            raise type(error)(f"upstream {self.name!r} is not there: {error.message}") from None
        except UpstreamError as error:
            raise self._record_failure(error.message) from None
        except RefusesAllRequests as error:
            raise self._record_failure(error.problem) from None
        except JsonRpcError as error:
            if client_identity is None:
                raise self._record_failure(f"it refuses to open, with error {error.code}") from None
            # It refused this client's own `initialize`: other clients may be accepted.
            problem = f"it refuses this client, with error {error.code}"
            raise self._backoff.record_refusal(client_identity, problem) from None

    def _separate_clients(self) -> None:
        """Give each client of a session that can be shared no more a slot of its own."""
        if (shared := self._slots.pop(True, None)) is None:
            return
        for client in shared.subscribers.all_clients:
            self._slot(client).subscribers.copy_client(client, shared.subscribers)
        if shared.session is not None:
            self._closing.start(shared.session.close())
        if shared.opening is not None and shared.opening.task is not asyncio.current_task():
            self._cancel(shared.opening)

    async def catalogue_kept(self) -> None:
        """Wait until the catalogues of all open sessions are written."""
        if self._catalogues is not None:
            await self._catalogues.written()

    def _on_list_changed(self, change: str) -> None:
        """A change that one session reports holds for all: the upstream may not report it in the others."""
        for session in self._sessions:
            session.invalidate(change)

    async def on_change_elsewhere(self, change: str, *, in_call: bool) -> None:
        """A list has changed, as another replica has heard; `in_call`: in the stream of one call alone."""
        self._on_list_changed(change)
        # Of a server that several replicas share each hears by itself. Processes are another one at each replica.
        hears_it = self._settings.per_revision and not in_call
        if not (hears_it and any(session.lists.is_announced(change) for session in self._sessions)):
            await self._changes_elsewhere.put(change, None)
        await asyncio.gather(*(each.on_change_elsewhere(change, in_call=in_call) for each in self._owned()))

    async def _notify_of_change(self, change: str, params: Params, _: GatewayClient | None) -> None:
        if self.guard is None or self.guard.enforcer.reaches_clients(change, None):
            await self._publish(change, params)
            for key, slot in self._slots.items():
                for client in () if isinstance(key, GatewayClient) else slot.subscribers.clients:
                    client.notify(change, params)

    def _identity_for(self, key: Hashable, client: GatewayClient | None) -> ClientIdentity:
        """The identity for a session: the client's own if it serves that client alone."""
        if client is not None and self._single_client:
            self.shared_identity = client.identity
        if client is None or self._single_client:
            return self.shared_identity
        if key is client:
            return client.identity
        if not self._settings.per_revision:
            return self.shared_identity
        # The kind of session decides the revision, not the client that comes first.
        return replace(self.shared_identity, version=client.version if client.is_modern else LATEST_HANDSHAKE_VERSION)

    def _record_failure(self, problem: str) -> UpstreamUnavailable:
        self.problem = problem
        return self._backoff.record_failure(problem)

    def _on_session_ended(self, session: Session, reason: str) -> None:
        for slot in self._slots.values():
            if slot.session is session:
                slot.session = None
                self.problem = reason
                logger.error("upstream %r: the connection has ended: %s", self.name, reason)
                if session.is_stable:
                    slot.early_ends.reset()
                else:
                    slot.early_ends.record_failure(reason)
                slot.availability.on_unavailable(_change_notifications(session.negotiation))
                self._reconnector.start()

    def _waiting_clients(self) -> list[GatewayClient]:
        """One client for each audience that misses it, but for those whose peer has no room for one more session."""
        waiting = [client for slot in self._slots.values() if (client := slot.availability.waiting_client) is not None]
        if not waiting or not self._settings.isolated:
            return waiting
        held = Counter(each.peer for each in (*self._clients_with_session(), *self._leaving))
        return [each for each in waiting if each.is_modern or held[each.peer] < MAX_PEER_UPSTREAM_SESSIONS]

    async def _reconnect(self, client: GatewayClient) -> bool:
        if (processes := self._settings.processes) is not None and processes.is_full:
            # Only a request may end the idle process of another client.
            return False
        was_open = self.open_session(client) is not None
        try:
            session = await self.session(client)
            if was_open:
                # Over HTTP a session can outlive its server: only a request shows that.
                with suppress(JsonRpcError):
                    await session.tools()
        except UpstreamError:
            return False
        if (slot := self._slots.get(self._key(client))) is not None:
            slot.availability.on_available(_change_notifications(session.negotiation))
        return True


def _serves_modern(key: Hashable) -> bool:
    return key is None or key is False


def _change_notifications(negotiation: Negotiation) -> frozenset[str]:
    return change_notifications(members(negotiation.opening.get("capabilities")))


async def _wait_for(opening: asyncio.Task[Session]) -> None:
    await asyncio.wait({opening})
