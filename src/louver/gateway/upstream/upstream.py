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
from typing import TYPE_CHECKING, NamedTuple

from mcp import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from louver.concurrency.background import Tasks
from louver.concurrency.backoff import Backoff
from louver.core.json import members
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.clients.client import Client
from louver.gateway.clients.revisions import is_modern
from louver.gateway.transports.transport import RefusesAll, unheard
from louver.gateway.upstream.availability import Presence
from louver.gateway.upstream.list_cache import changes_with
from louver.gateway.upstream.retry import Attempts, Seeking
from louver.gateway.upstream.session import Session
from louver.gateway.upstream.subscribers import Audience
from louver.gateway.upstream.tool_pins import Definitions
from louver.limits import MAX_SESSIONS, UNUSED_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from louver.gateway.transports.transport import Link, Listener
    from louver.gateway.upstream.availability import Onlookers
    from louver.gateway.upstream.negotiation import Hello
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.tool_pins import OnChange
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    link: Callable[[Listener], Link]  # makes a transport
    timeout_s: float  # longest silence during a call
    isolated: bool  # each handshake client has its own session
    per_era: bool  # sessions in both kinds of revisions at once; a single process speaks only one
    guard: Guard | None = None  # `None` without a policy
    on_change: OnChange = "warn"  # what happens to a tool that changed


@dataclass(frozen=True, slots=True)
class _Place:
    audience: Audience
    presence: Presence
    ends: Backoff = field(default_factory=Backoff)  # early ends in a row


class _Opening(NamedTuple):
    task: asyncio.Task[Session]
    began: float


class Upstream:
    """One upstream: its clients stay across sessions and reloads."""

    def __init__(
        self,
        name: str,
        terms: Terms,
        *,
        opened_as: Hello,  # identity in shared sessions
        serves_one: bool,  # one client over stdio: its identity is used instead
        told: Callable[[str, Params], Awaitable[None]],  # gets notifications for 2026-07-28 clients
        onlookers: Onlookers,
    ) -> None:
        self.name = name
        self.problem: str | None = None
        self.says: str | None = None  # the name in its `serverInfo`
        self._terms = terms
        self.opened_as = opened_as
        self._serves_one = serves_one
        self._told = told
        self._onlookers = onlookers
        self._places: dict[Hashable, _Place] = {}
        self._sessions: dict[Hashable, Session] = {}
        self._opening: dict[Hashable, _Opening] = {}
        self._definitions = Definitions(name, terms.on_change)
        self._attempts = Attempts(name)
        self._ending = Tasks(logger)
        self._seeking = Seeking(self._missing, lambda: self._attempts.wait_s, self._is_back)
        self._is_closed = False

    @property
    def guard(self) -> Guard | None:
        return self._terms.guard

    @property
    def clients(self) -> set[Client]:
        """The handshake clients."""
        return {client for place in self._places.values() for client in place.audience.clients}

    async def session(self, client: Client | None = None, within_s: float | None = None) -> Session:
        """The session of a client, or any for the gateway itself. Opened if needed; that goes on after `within_s`."""
        while not self._is_closed:
            if client is not None:
                client.check_is_there(self.name)
            if client is None and self._sessions:
                return next(iter(self._sessions.values()))
            key = self._key(client)
            if client is not None and not client.is_modern:
                self._join(key, client)
            if (session := self._sessions.get(key)) is not None:
                return session
            (opening, began), terms = self._opening_of(key, client), self._terms
            # Several clients may wait for it; cancelling one does not cancel the opening.
            left_s = None if within_s is None else max(0.0, began + within_s - monotonic())
            if not (await asyncio.wait({opening}, timeout=left_s))[0]:
                raise UpstreamUnavailable(f"upstream {self.name!r} is not there yet: it is being opened")
            if self._terms is not terms and (client is None or client.is_modern or client in self.clients):
                # Try again with the new settings, unless the client has left.
                continue
            if opening.cancelled() or self._terms is not terms or self._is_closed:
                break
            return opening.result()
        raise UpstreamUnavailable(f"upstream {self.name!r} is not there: it has been closed")

    async def resume(self) -> None:
        """Open the sessions that have subscriptions or log levels, if the upstream is available."""
        for key in list(self._places):
            # A client that leaves meanwhile is not served any more.
            if (place := self._places.get(key)) is not None and place.audience.wants:
                with suppress(UpstreamError):
                    await self.session(next(iter(place.audience.everybody)))

    async def notify(self, client: Client, method: str, params: Params) -> None:
        """Pass on a client's notification if a session is open; progress only for an open request to that client."""
        session = self._sessions.get(self._key(client))
        if session is None or session.is_modern:
            return
        if method == "notifications/progress" and not session.has_asked(client, (params or {}).get("progressToken")):
            return
        with suppress(UpstreamError):
            await session.notify(method, params)

    def is_watched(self, client: Client, uri: str) -> bool:
        place = self._places.get(self._key(client))
        return place is not None and place.audience.is_watched(client, uri)

    def is_there(self, client: Client) -> bool:
        return self._key(client) in self._sessions

    def miss(self, client: Client) -> None:
        """Record that a client is served without the upstream, and reconnect in the background."""
        if not client.has_gone:
            self._place(self._key(client)).presence.miss(client)
            self._seeking.begin()

    def keep_level(self, client: Client, level: str) -> None:
        if not client.has_gone:
            self._place(self._key(client)).audience.levels[client] = client.log_level = level

    def is_safe(self, method: str, params: Params) -> bool:
        """Whether a request calls a tool that is declared safe to call again."""
        return method == "tools/call" and self._definitions.is_safe((params or {}).get("name"))

    async def leave(self, client: Client) -> None:
        if (opening := self._opening.get(client)) is not None:
            opening.task.cancel()
        # Removed before the first await.
        own = self._sessions.pop(client, None)
        self._places.pop(client, None)
        # Only sessions that serve this client: it does not wait for the servers of others.
        places = {key: place for key, place in self._places.items() if place.audience.serves(client)}
        left = {key: place.audience.leave(client) for key, place in places.items()}
        if own is not None:
            await asyncio.shield(self._ending.start(own.close()))
        for key, uris in left.items():
            if (session := self._sessions.get(key)) is not None:
                await session.subscriptions.narrow(uris)

    def change(self, terms: Terms) -> None:
        """Apply new settings; clients and subscriptions stay. It also revives an upstream that was closed."""
        self._terms = terms
        before, self._places = self._places, {}
        for place in before.values():
            for client in place.audience.everybody:
                self._place(self._key(client)).audience.take(client, place.audience)
        self._attempts = Attempts(self.name)
        self._definitions = Definitions(self.name, terms.on_change)
        self.problem = self.says = None
        self._let_go()
        self._is_closed = False

    def give_up(self) -> None:
        """Close all sessions and open none until `change`."""
        self._is_closed = True
        self._let_go()
        self._seeking.stop()

    async def ended(self) -> None:
        """Wait until closed sessions have ended."""
        await self._ending.over()

    def _let_go(self) -> None:
        """Close all sessions and openings, in the background."""
        openings, self._opening = list(self._opening.values()), {}
        sessions, self._sessions = list(self._sessions.values()), {}
        for opening, _ in openings:
            opening.cancel()
            self._ending.start(_over(opening))
        for session in sessions:
            self._ending.start(session.close())

    def _key(self, client: Client | None) -> Hashable:
        """The key of a client's session: the client, `None` for all, or whether it is a handshake session."""
        if self._terms.isolated and client is not None and not client.is_modern:
            return client
        if not self._terms.per_era:
            return None
        return not (is_modern(self.opened_as.version) if client is None else client.is_modern)

    def _place(self, key: Hashable) -> _Place:
        if (place := self._places.get(key)) is None:
            audience = Audience()
            presence = Presence(audience, self._onlookers, serves_modern=_serves_modern(key))
            place = self._places[key] = _Place(audience, presence)
        return place

    def _join(self, key: Hashable, client: Client) -> None:
        """Serve a handshake client over a session, which may not be open yet."""
        clients = self._place(key).audience.clients
        if client not in clients:
            clients.add(client)
            if (session := self._sessions.get(key)) is not None:
                session.joined()

    def _opening_of(self, key: Hashable, client: Client | None) -> _Opening:
        if (opening := self._opening.get(key)) is None:
            if len(self._sessions.keys() | self._opening.keys()) >= MAX_SESSIONS and not self._has_made_room():
                raise UpstreamUnavailable(f"upstream {self.name!r} has {MAX_SESSIONS} sessions already")
            opening = self._opening[key] = _Opening(asyncio.create_task(self._open(key, client)), monotonic())
            opening.task.add_done_callback(partial(self._opened, key))
        return opening

    def _has_made_room(self) -> bool:
        """Close the longest unused session of a single client, which may have crashed."""
        idle = {
            session.idle_s: key
            for key, session in self._sessions.items()
            if isinstance(key, Client) and session.idle_s > UNUSED_S and not self._places[key].audience.wants
        }
        if not idle:
            return False
        self._ending.start(self._sessions.pop(idle[max(idle)]).close())
        return True

    def _opened(self, key: Hashable, opening: asyncio.Task[Session]) -> None:
        if key in self._opening and self._opening[key].task is opening:
            del self._opening[key]
        if not opening.cancelled():
            # Retrieve it, or asyncio logs it as never retrieved.
            opening.exception()

    async def _open(self, key: Hashable, client: Client | None) -> Session:
        place = self._place(key)
        own = client.hello if client is not None and key is client else None
        self._attempts.check(place.ends, own)
        session = Session(
            self.name,
            self._terms.link,
            self._hello_to(key, client),
            self._terms.timeout_s,
            place.audience,
            self._told if _serves_modern(key) else unheard,
            self._ended,
            self._list_changed,
            self._definitions,
            self.guard,
        )
        try:
            await session.open()
        except UpstreamError as error:
            raise self._failed(error.message) from None
        except RefusesAll as error:
            raise self._failed(error.problem) from None
        except MCPError as error:
            if own is None:
                raise self._failed(f"it refuses to open, with error {error.error.code}") from None
            # It refused this client's own `initialize`: other clients may be accepted.
            problem = f"it refuses this client, with error {error.error.code}"
            raise self._attempts.refused(own, problem) from None
        self._attempts.succeeded(own)
        self.problem = None
        self.says = session.opened.name
        self._sessions[key] = session
        place.presence.came(_lists_of(session))
        return session

    def _list_changed(self, change: str) -> None:
        """A change that one session reports holds for all: the upstream may not report it in the others."""
        for session in self._sessions.values():
            session.forget(change)

    def _hello_to(self, key: Hashable, client: Client | None) -> Hello:
        """The identity for a session: the client's own if it serves that client alone."""
        if client is not None and self._serves_one:
            self.opened_as = client.hello
        if client is None or self._serves_one:
            return self.opened_as
        if key is client:
            return client.hello
        if not self._terms.per_era:
            return self.opened_as
        # The kind of session decides the revision, not the client that comes first.
        return replace(self.opened_as, version=client.version if client.is_modern else LATEST_HANDSHAKE_VERSION)

    def _failed(self, problem: str) -> UpstreamUnavailable:
        self.problem = problem
        return self._attempts.failed(problem)

    def _ended(self, session: Session, reason: str) -> None:
        for key, known in list(self._sessions.items()):
            if known is session:
                del self._sessions[key]
                self.problem = reason
                logger.error("upstream %r: the connection has ended: %s", self.name, reason)
                ends = self._places[key].ends
                if session.has_stayed:
                    ends.reset()
                else:
                    ends.fail(reason)
                self._places[key].presence.went(_lists_of(session))
                self._seeking.begin()

    def _missing(self) -> list[Client]:
        return [client for place in self._places.values() if (client := place.presence.missed_by) is not None]

    async def _is_back(self, client: Client) -> bool:
        was_open = self.is_there(client)
        try:
            session = await self.session(client)
            if was_open:
                # Over HTTP a session can outlive its server: only a request shows that.
                with suppress(MCPError):
                    await session.tools()
        except UpstreamError:
            return False
        if (place := self._places.get(self._key(client))) is not None:
            place.presence.came(_lists_of(session))
        return True


def _serves_modern(key: Hashable) -> bool:
    return key is None or key is False


def _lists_of(session: Session) -> frozenset[str]:
    return changes_with(members(session.opened.opening.get("capabilities")))


async def _over(opening: asyncio.Task[Session]) -> None:
    await asyncio.wait({opening})
