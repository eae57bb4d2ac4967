"""An upstream server, with one session for all clients (`shared`) or one for each handshake client (`session`).

    client A ─┐                        client A ── session ── process
    client B ─┴─ session ── process    client B ── session ── process

A session opens on first use and, after an end or a reload, again for the same clients and subscriptions.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Literal, NamedTuple

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.backoff import Backoff
from louver.concurrency.budget import BudgetByKey
from louver.concurrency.offload import in_thread
from louver.core.json import digest, members
from louver.errors import LoginFailed, LoginRequired, TooManyProcesses, UpstreamError, UpstreamUnavailable
from louver.gateway.clients.client import GatewayClient
from louver.gateway.clients.revisions import is_modern
from louver.gateway.config.model import COMMAND_LINE_SERVER
from louver.gateway.transports.transport import RefusesAllRequests, ignore_notification
from louver.gateway.upstream.availability import Availability
from louver.gateway.upstream.kept_catalogue import Catalogue, KeptAnswers
from louver.gateway.upstream.list_cache import change_notifications
from louver.gateway.upstream.notifications import Debouncer, PassOn
from louver.gateway.upstream.processes import IdleProcess
from louver.gateway.upstream.retry import ConnectBackoff, Reconnector
from louver.gateway.upstream.session import Session
from louver.gateway.upstream.subscribers import Subscribers
from louver.gateway.upstream.task_bindings import TaskBindings
from louver.gateway.upstream.tool_pins import ToolPins
from louver.jsonrpc.errors import JsonRpcError
from louver.limits import MAX_CATALOGUES, MAX_PEER_QUESTIONS, MAX_PEER_UPSTREAM_SESSIONS, MAX_SESSIONS, UNUSED_S
from louver.protocol.mcp import LATEST_HANDSHAKE_VERSION, TOOLS_CHANGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.transports.transport import Listener, Transport
    from louver.gateway.upstream.availability import AvailabilityListeners
    from louver.gateway.upstream.kept_catalogue import CatalogueFolder
    from louver.gateway.upstream.negotiation import ClientIdentity
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.processes import ProcessBudget
    from louver.gateway.upstream.tool_pins import OnChange, SharedPins
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    link: Callable[[Listener], Transport]  # makes a transport
    timeout_s: float  # longest silence during a call
    isolated: bool  # each handshake client has its own session
    per_revision: bool  # sessions in both kinds of revisions at once; a single process speaks only one
    guard: Guard | None = None  # `None` without a policy
    on_change: OnChange = "warn"  # what happens to a tool that changed
    pins: SharedPins | None = None  # what other replicas know of its tools; `None`: each knows its own
    catalogues: CatalogueFolder | None = None  # `None`: clients wait for the upstream to open
    place: str = ""  # digest of how the upstream is started or reached
    processes: ProcessBudget | None = None  # for sessions that are processes, which end when nobody uses them
    of_principal: Callable[[PrincipalKey], UpstreamSettings] | None = None  # `None`: the same for all callers


@dataclass(slots=True)
class _SessionSlot:
    subscribers: Subscribers
    availability: Availability
    early_ends: Backoff = field(default_factory=Backoff)  # early ends in a row
    is_asleep: bool = False  # its session was idle, and opens again on use


class _Opening(NamedTuple):
    task: asyncio.Task[Session]
    began: float


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
    ) -> None:
        self.name = name
        self.problem: str | None = None
        self.server_name: str | None = None  # the name in its `serverInfo`
        self._settings = settings
        self.shared_identity = shared_identity
        self._single_client = single_client
        self._publish = publish
        self._availability_listeners = availability_listeners
        self._has_listeners = has_listeners
        self._pass_on = pass_on
        self._changes_elsewhere = Debouncer(self._notify_of_change, logger)
        self._slots: dict[Hashable, _SessionSlot] = {}
        self._sessions: dict[Hashable, Session] = {}
        self._opening: dict[Hashable, _Opening] = {}
        self._closing: list[GatewayClient] = []  # that have left, while their own sessions end
        # By session key; `None` if nothing is kept. Until the session opens.
        self._kept: dict[Hashable, KeptAnswers | None] = {}
        self._has_opened = False  # or tried to
        self._catalogue_keys: set[str] = set()  # catalogues that were written
        self._catalogue_tasks = BackgroundTasks(logger)
        self._tool_pins = ToolPins(name, settings.on_change, settings.pins)
        self._backoff = ConnectBackoff(name)
        self._closing_tasks = BackgroundTasks(logger)
        self._peer_questions = BudgetByKey(MAX_PEER_QUESTIONS)
        self.tasks = TaskBindings()
        self._reconnector = Reconnector(self._waiting_clients, lambda: self._backoff.wait_s, self._reconnect)
        self._is_closed = False

    @property
    def display_name(self) -> str:
        """Its name for people: for a server of the command line, the one that it reports."""
        return self.server_name if self.name == COMMAND_LINE_SERVER and self.server_name else self.name

    @property
    def guard(self) -> Guard | None:
        return self._settings.guard

    @property
    def is_up(self) -> bool:
        """Whether a session is open, or was before it was idle, and the last one did not fail."""
        was_open = bool(self._sessions) or any(slot.is_asleep for slot in self._slots.values())
        return was_open and self.problem is None

    @property
    def state(self) -> Literal["up", "down", "unused"]:
        """Whether it is there; `unused` if nobody has needed it yet."""
        return "up" if self.is_up else "unused" if self.problem is None else "down"

    @property
    def idle_s(self) -> float:
        """For how long nobody has used it, in seconds."""
        return 0.0 if self._opening else min((each.idle_s for each in self._sessions.values()), default=UNUSED_S + 1)

    @property
    def is_per_principal(self) -> bool:
        """Whether each caller uses it with credentials of their own."""
        return self._settings.of_principal is not None

    @property
    def is_isolated(self) -> bool:
        """Whether each handshake client has its own session, in which the server may keep state."""
        return self._settings.isolated

    @property
    def clients(self) -> set[GatewayClient]:
        """The handshake clients."""
        return {client for slot in self._slots.values() for client in slot.subscribers.clients}

    async def session(self, client: GatewayClient | None = None, within_s: float | None = None) -> Session:
        """The session of a client, or any for the gateway itself. Opened if needed; that goes on after `within_s`."""
        while not self._is_closed:
            if client is not None:
                client.check_is_open(self.name)
            if client is None and self._sessions:
                session = next(iter(self._sessions.values()))
                session.is_about_to_be_used()
                return session
            key = self._key(client)
            if client is not None and not client.is_modern:
                self._add_client(key, client)
            if (session := self._sessions.get(key)) is not None:
                session.is_about_to_be_used()
                return session
            (opening, began), settings = self._opening_of(key, client), self._settings
            # Several clients may wait for it; cancelling one does not cancel the opening.
            left_s = None if within_s is None else max(0.0, began + within_s - monotonic())
            if not (await asyncio.wait({opening}, timeout=left_s))[0]:
                raise UpstreamUnavailable(f"upstream {self.name!r} is not there yet: it is being opened")
            if self._settings is not settings and (client is None or client.is_modern or client in self.clients):
                # Try again with the new settings, unless the client has left.
                continue
            if opening.cancelled() or self._settings is not settings or self._is_closed:
                break
            return opening.result()
        raise UpstreamUnavailable(f"upstream {self.name!r} is not there: it has been closed")

    def kept_for(self, client: GatewayClient) -> KeptAnswers | None:
        """The answers that are kept from the last run, while the upstream opens for the first time; opens it."""
        if self._settings.catalogues is None or self._is_closed or self._has_opened or client.is_closed:
            return None
        if (key := self._key(client)) in self._sessions:
            return None
        if key not in self._kept:
            self._kept[key] = self._read_kept(self._settings.catalogues, self._identity_for(key, client))
        if (kept := self._kept[key]) is None or not kept.is_for(client):
            return None
        try:
            self._opening_of(key, client)
        except UpstreamUnavailable:
            return None
        if not client.is_modern:
            self._add_client(key, client)
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

    async def notify(self, client: GatewayClient, method: str, params: Params) -> None:
        """Pass on a client's notification if a session is open; progress only for an open request to that client."""
        session = self._sessions.get(self._key(client))
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

    def has_session_for(self, client: GatewayClient) -> bool:
        return self._key(client) in self._sessions

    def notify_when_available(self, client: GatewayClient) -> None:
        """Record that a client is served without the upstream, and reconnect in the background."""
        if not client.is_closed:
            self._slot(self._key(client)).availability.notify_when_available(client)
            self._reconnector.start()

    def store_level(self, client: GatewayClient, level: str) -> None:
        if not client.is_closed:
            self._slot(self._key(client)).subscribers.levels[client] = client.log_level = level

    def is_retryable(self, client: GatewayClient, method: str, params: Params) -> bool:
        """Whether a request calls a tool that is declared safe to call again."""
        return method == "tools/call" and self._tool_pins.is_retryable((params or {}).get("name"))

    def idle_processes(self) -> Iterator[IdleProcess]:
        """The sessions that are processes, each with the time for which nobody has used it."""
        if self._settings.processes is not None:
            for key, session in self._sessions.items():
                if not (_serves_modern(key) and self._has_listeners()):
                    yield IdleProcess(session.idle_s, partial(self._end_idle, key))

    def _end_idle(self, key: Hashable) -> None:
        """End the session of a key, which opens again on use."""
        session = self._sessions.pop(key)
        self._slots[key].is_asleep = True
        logger.info("upstream %r: a session that nobody has used for %.0f s is ended", self.name, session.idle_s)
        self._closing_tasks.start(session.close())

    async def remove_client(self, client: GatewayClient) -> None:
        if (opening := self._opening.get(client)) is not None:
            opening.task.cancel()
        # Removed before the first await.
        client_session = self._sessions.pop(client, None)
        self._slots.pop(client, None)
        self._kept.pop(client, None)
        # Only sessions that serve this client: it does not wait for the servers of others.
        slots = {key: slot for key, slot in self._slots.items() if slot.subscribers.serves(client)}
        left = {key: slot.subscribers.remove(client) for key, slot in slots.items()}
        if client_session is not None:
            # Its process counts until it has ended.
            self._closing.append(client)
            await asyncio.shield(self._closing_tasks.start(self._close_session_of(client, client_session)))
        for key, uris in left.items():
            if (session := self._sessions.get(key)) is not None:
                await session.subscriptions.on_client_left(uris)

    async def _close_session_of(self, client: GatewayClient, session: Session) -> None:
        try:
            await session.close()
        finally:
            self._closing.remove(client)

    def reconfigure(self, settings: UpstreamSettings) -> None:
        """Apply new settings; clients and subscriptions stay. It also revives an upstream that was closed."""
        self._settings = settings
        before, self._slots = self._slots, {}
        for slot in before.values():
            for client in slot.subscribers.all_clients:
                self._slot(self._key(client)).subscribers.copy_client(client, slot.subscribers)
        self._backoff = ConnectBackoff(self.name)
        self._tool_pins = ToolPins(self.name, settings.on_change, settings.pins)
        self._kept, self._has_opened, self._catalogue_keys = {}, False, set()
        self.problem = self.server_name = None
        self._close_all()
        self._is_closed = False

    def close(self) -> None:
        """Close all sessions and open none until `reconfigure`."""
        self._is_closed = True
        self._close_all()
        self._reconnector.stop()

    async def wait_closed(self) -> None:
        """Wait until closed sessions have ended."""
        await self._closing_tasks.wait()

    def _close_all(self) -> None:
        """Close all sessions and openings, in the background."""
        self._closing_tasks.start(self._catalogue_tasks.close())
        self._closing_tasks.start(self._changes_elsewhere.close())
        openings, self._opening = list(self._opening.values()), {}
        sessions, self._sessions = list(self._sessions.values()), {}
        for opening, _ in openings:
            opening.cancel()
            self._closing_tasks.start(_wait_for(opening))
        for session in sessions:
            self._closing_tasks.start(session.close())

    def _key(self, client: GatewayClient | None) -> Hashable:
        """The key of a client's session: the client, `None` for all, or whether it is a handshake session."""
        if self._settings.isolated and client is not None and not client.is_modern:
            return client
        if not self._settings.per_revision:
            return None
        return not (is_modern(self.shared_identity.version) if client is None else client.is_modern)

    def _slot(self, key: Hashable) -> _SessionSlot:
        if (slot := self._slots.get(key)) is None:
            subscribers = Subscribers()
            availability = Availability(subscribers, self._availability_listeners, serves_modern=_serves_modern(key))
            slot = self._slots[key] = _SessionSlot(subscribers, availability)
        return slot

    def _add_client(self, key: Hashable, client: GatewayClient) -> None:
        """Serve a handshake client over a session, which may not be open yet."""
        clients = self._slot(key).subscribers.clients
        if client not in clients:
            clients.add(client)
            if (session := self._sessions.get(key)) is not None:
                session.on_client_joined()

    def _opening_of(self, key: Hashable, client: GatewayClient | None) -> _Opening:
        if (opening := self._opening.get(key)) is None:
            self._check_budget(key)
            opening = self._opening[key] = _Opening(asyncio.create_task(self._open(key, client)), monotonic())
            opening.task.add_done_callback(partial(self._on_opened, key))
        return opening

    def _check_budget(self, key: Hashable) -> None:
        """Make room for one more session of a single client; raise if that is not possible."""
        if not isinstance(key, GatewayClient):
            return
        clients = [each for each in self._sessions.keys() | self._opening.keys() if isinstance(each, GatewayClient)]
        own = [each for each in (*clients, *self._closing) if each.peer == key.peer]
        if len(own) >= MAX_PEER_UPSTREAM_SESSIONS and not self._evict_idle_session(own):
            problem = f"one client has at most {MAX_PEER_UPSTREAM_SESSIONS} sessions with upstream {self.name!r}"
            raise UpstreamUnavailable(f"{problem}: close some, or try again later")
        if len(clients) >= MAX_SESSIONS and not self._evict_idle_session(clients):
            raise UpstreamUnavailable(f"upstream {self.name!r} has {MAX_SESSIONS} sessions already")

    def _evict_idle_session(self, clients: Iterable[GatewayClient]) -> bool:
        """Close the longest unused session of these clients, which may have crashed; `False` if there is none."""
        idle = {
            session.idle_s: client
            for client in clients
            if (session := self._sessions.get(client)) is not None and session.idle_s > UNUSED_S
        }
        if not idle:
            return False
        self._end_idle(idle[max(idle)])
        return True

    def _on_opened(self, key: Hashable, opening: asyncio.Task[Session]) -> None:
        # Retrieve its error, or asyncio logs it as never retrieved.
        has_failed = not opening.cancelled() and opening.exception() is not None
        if key in self._opening and self._opening[key].task is opening:
            del self._opening[key]
            if has_failed:
                self._on_failed_to_open(key)

    def _on_failed_to_open(self, key: Hashable) -> None:
        """The upstream is unavailable now to clients that were served from what was kept."""
        self._has_opened = True
        if (kept := self._kept.pop(key, None)) is None or not kept.is_used:
            return
        slot = self._slot(key)
        slot.availability.on_unavailable(change_notifications(members(kept.negotiation.opening.get("capabilities"))))
        if kept.is_listed:
            slot.availability.announce({TOOLS_CHANGED})
        self._reconnector.start()

    async def _open(self, key: Hashable, client: GatewayClient | None) -> Session:
        slot = self._slot(key)
        client_identity = client.identity if client is not None and key is client else None
        self._backoff.check(slot.early_ends, client_identity)
        identity = self._identity_for(key, client)
        session = Session(
            self.name,
            self._settings.link,
            identity,
            self._settings.timeout_s,
            slot.subscribers,
            self._publish if _serves_modern(key) else ignore_notification,
            self._on_session_ended,
            self._on_list_changed,
            self._tool_pins,
            self.guard,
            self._peer_questions,
            self.tasks,
            # Not for a session of one client alone.
            None if isinstance(key, GatewayClient) else self._pass_on,
        )
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
        self._backoff.record_success(client_identity)
        self.problem = None
        self.server_name = session.negotiation.name
        self._sessions[key] = session
        self._has_opened = True
        slot.availability.on_available(_change_notifications(session))
        if slot.is_asleep:
            # Its lists may have changed while nobody heard.
            slot.is_asleep = False
            slot.availability.announce(session.declared_changes)
        if (catalogues := self._settings.catalogues) is not None:
            kept = self._kept.pop(key, None)
            self._catalogue_tasks.start(self._keep(catalogues, self._catalogue_key(identity), session, kept))
        return session

    def _read_kept(self, catalogues: CatalogueFolder, identity: ClientIdentity) -> KeptAnswers | None:
        catalogue = catalogues.read(self._catalogue_key(identity))
        return None if catalogue is None else KeptAnswers(catalogue, identity, self._tool_pins)

    def _catalogue_key(self, identity: ClientIdentity) -> str:
        return digest([self._settings.place, identity.digest])

    async def _keep(self, catalogues: CatalogueFolder, key: str, session: Session, kept: KeptAnswers | None) -> None:
        """Announce a list that differs from the kept one, and write the catalogue, once for each identity."""
        if (kept is None or not kept.is_listed) and (
            key in self._catalogue_keys or len(self._catalogue_keys) >= MAX_CATALOGUES
        ):
            # Listing may be what ends an upstream.
            return
        self._catalogue_keys.add(key)
        catalogue = Catalogue(session.negotiation, None)
        can_keep = True
        try:
            catalogue = replace(catalogue, tools=await session.tools())
        except JsonRpcError:
            # It has no tools.
            pass
        except UpstreamError:
            can_keep = False
        if kept is not None and kept.is_outdated(catalogue):
            await session.on_notification(TOOLS_CHANGED, None)
        if can_keep:
            await in_thread(partial(catalogues.write, key, catalogue))

    def _on_list_changed(self, change: str) -> None:
        """A change that one session reports holds for all: the upstream may not report it in the others."""
        for session in self._sessions.values():
            session.invalidate(change)

    async def on_change_elsewhere(self, change: str, *, in_call: bool) -> None:
        """A list has changed, as another replica has heard; `in_call`: in the stream of one call alone."""
        self._on_list_changed(change)
        # Of a server that several replicas share each hears by itself. Processes are another one at each replica.
        hears_it = self._settings.per_revision and not in_call
        if not (hears_it and any(session.lists.is_announced(change) for session in self._sessions.values())):
            await self._changes_elsewhere.put(change, None)

    async def _notify_of_change(self, change: str, params: Params, _: GatewayClient | None) -> None:
        if self.guard is None or self.guard.enforcer.allows_server_message(change, None):
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
        for key, known in list(self._sessions.items()):
            if known is session:
                del self._sessions[key]
                self.problem = reason
                logger.error("upstream %r: the connection has ended: %s", self.name, reason)
                backoff = self._slots[key].early_ends
                if session.is_stable:
                    backoff.reset()
                else:
                    backoff.record_failure(reason)
                self._slots[key].availability.on_unavailable(_change_notifications(session))
                self._reconnector.start()

    def _waiting_clients(self) -> list[GatewayClient]:
        return [client for slot in self._slots.values() if (client := slot.availability.waiting_client) is not None]

    async def _reconnect(self, client: GatewayClient) -> bool:
        if (processes := self._settings.processes) is not None and processes.is_full:
            # Only a request may end the idle process of another client.
            return False
        was_open = self.has_session_for(client)
        try:
            session = await self.session(client)
            if was_open:
                # Over HTTP a session can outlive its server: only a request shows that.
                with suppress(JsonRpcError):
                    await session.tools()
        except UpstreamError:
            return False
        if (slot := self._slots.get(self._key(client))) is not None:
            slot.availability.on_available(_change_notifications(session))
        return True


def _serves_modern(key: Hashable) -> bool:
    return key is None or key is False


def _change_notifications(session: Session) -> frozenset[str]:
    return change_notifications(members(session.negotiation.opening.get("capabilities")))


async def _wait_for(opening: asyncio.Task[Session]) -> None:
    await asyncio.wait({opening})
