"""An upstream: a server behind the gateway, and the sessions with it.

One session serves everybody (`shared`), or each client of the handshake era has its own (`session`)::

    client A ─┐                        client A ── session ── process
    client B ─┴─ session ── process    client B ── session ── process

A session is opened when it is first needed. One that ends is opened anew when it is next needed, for those who were
served over it and what they had asked for; so is one that a change of the configuration has ended. An upstream that
cannot be opened is left alone for a while, longer each time in a row; so is one that opens and ends at once, for those
who would be served over it, or refuses a client for whom alone it is opened, for those who say the same of themselves.
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

    from louver.gateway.upstream.availability import Onlookers
    from louver.gateway.upstream.negotiation import Hello
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.settings import Terms
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Place:
    """What sessions that take each other's place share: who is served or misses them, how often they ended at once."""

    audience: Audience
    presence: Presence
    ends: Backoff = field(default_factory=Backoff)


class _Opening(NamedTuple):
    task: asyncio.Task[Session]
    began: float


class Upstream:
    """One upstream, by its name: whatever the configuration says of it, those who are served stay the same.

    Args:
        name: Its name in the configuration.
        terms: What the configuration says of it.
        opened_as: Who it is told that connects, where a session serves everybody.
        serves_one: Whether that is the one client of the gateway, once it has said who it is.
        told: Gets every notification that no call belongs to, of a session that serves clients of 2026-07-28.
        onlookers: Whom the gateway can tell that it comes and goes.
    """

    def __init__(
        self,
        name: str,
        terms: Terms,
        *,
        opened_as: Hello,
        serves_one: bool,
        told: Callable[[str, Params], Awaitable[None]],
        onlookers: Onlookers,
    ) -> None:
        self.name = name
        self.problem: str | None = None
        self.says: str | None = None
        """What it says itself that it is called, once it was opened."""
        self._terms = terms
        self.opened_as = opened_as
        """Who it is told that connects, where a session serves everybody."""
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
        """What stands before it, if it is under a policy."""
        return self._terms.guard

    @property
    def clients(self) -> set[Client]:
        """Those of the handshake era that it serves."""
        return {client for place in self._places.values() for client in place.audience.clients}

    async def session(self, client: Client | None = None, within_s: float | None = None) -> Session:
        """The session that serves a client, or the gateway itself; opened if it is not there.

        Args:
            client: The client.
            within_s: How long an opening may take by then, if it is waited for no longer; it goes on.

        Raises:
            UpstreamError: There is none, and none can be opened now.
        """
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
            # Others may wait for the same; whoever stops waiting does not stop it.
            left_s = None if within_s is None else max(0.0, began + within_s - monotonic())
            if not (await asyncio.wait({opening}, timeout=left_s))[0]:
                raise UpstreamUnavailable(f"upstream {self.name!r} is not there yet: it is being opened")
            if self._terms is not terms and (client is None or client.is_modern or client in self.clients):
                # By other terms, for whoever has not left meanwhile.
                continue
            if opening.cancelled() or self._terms is not terms or self._is_closed:
                break
            return opening.result()
        raise UpstreamUnavailable(f"upstream {self.name!r} is not there: it has been closed")

    async def resume(self) -> None:
        """Open the sessions over which clients want to be told something, as far as the upstream is there."""
        for key in list(self._places):
            # Whoever leaves meanwhile is served no more.
            if (place := self._places.get(key)) is not None and place.audience.wants:
                with suppress(UpstreamError):
                    await self.session(next(iter(place.audience.everybody)))

    async def notify(self, client: Client, method: str, params: Params) -> None:
        """Send on what a client says: progress if the client is asked for that, all else if the upstream is there."""
        session = self._sessions.get(self._key(client))
        if session is None or session.is_modern:
            return
        if method == "notifications/progress" and not session.has_asked(client, (params or {}).get("progressToken")):
            return
        with suppress(UpstreamError):
            await session.notify(method, params)

    def is_watched(self, client: Client, uri: str) -> bool:
        """Whether a client watches a resource of it."""
        place = self._places.get(self._key(client))
        return place is not None and place.audience.is_watched(client, uri)

    def is_there(self, client: Client) -> bool:
        """Whether there is a session that serves a client."""
        return self._key(client) in self._sessions

    def miss(self, client: Client) -> None:
        """A client is served without it, and told once it is there; it is tried again by itself until then."""
        if not client.has_gone:
            self._place(self._key(client)).presence.miss(client)
            self._seeking.begin()

    def keep_level(self, client: Client, level: str) -> None:
        """Ask for a log level for a client once it is there."""
        if not client.has_gone:
            self._place(self._key(client)).audience.levels[client] = client.log_level = level

    def is_safe(self, method: str, params: Params) -> bool:
        """Whether a request is of a tool that says of itself that a second call does no harm."""
        return method == "tools/call" and self._definitions.is_safe((params or {}).get("name"))

    async def leave(self, client: Client) -> None:
        """A client has gone."""
        if (opening := self._opening.get(client)) is not None:
            opening.task.cancel()
        # Nobody knows of it any more before anything is waited for.
        own = self._sessions.pop(client, None)
        self._places.pop(client, None)
        # The servers of sessions that others have for themselves are not waited for.
        places = {key: place for key, place in self._places.items() if place.audience.serves(client)}
        left = {key: place.audience.leave(client) for key, place in places.items()}
        if own is not None:
            await asyncio.shield(self._ending.start(own.close()))
        for key, uris in left.items():
            if (session := self._sessions.get(key)) is not None:
                await session.subscriptions.narrow(uris)

    def change(self, terms: Terms) -> None:
        """Have other terms from now on, for those who are served and what they have asked for; also once given up."""
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
        """Have no sessions any more, and begin none, unless there are other terms."""
        self._is_closed = True
        self._let_go()
        self._seeking.stop()

    async def ended(self) -> None:
        """Wait for the end of the sessions that it has no more; they end though nobody waits."""
        await self._ending.over()

    def _let_go(self) -> None:
        """End all that there is; nobody finds it any more."""
        openings, self._opening = list(self._opening.values()), {}
        sessions, self._sessions = list(self._sessions.values()), {}
        for opening, _ in openings:
            opening.cancel()
            self._ending.start(_over(opening))
        for session in sessions:
            self._ending.start(session.close())

    def _key(self, client: Client | None) -> Hashable:
        """Whose session serves a client: its own, that of all, or that of its era (whether this is the handshake's)."""
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
        """Serve a client of the handshake era over a session, which may be there."""
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
        """Whether a session is ended that one client has for itself, and has not used for long: it may have gone."""
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
        """An opening is over, which may never have begun."""
        if key in self._opening and self._opening[key].task is opening:
            del self._opening[key]
        if not opening.cancelled():
            # Looked at, though nobody may wait for it any more: asyncio would tell of it.
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
            # It has answered the client's own `initialize`: that says nothing of the others.
            problem = f"it refuses this client, with error {error.error.code}"
            raise self._attempts.refused(own, problem) from None
        self._attempts.succeeded(own)
        self.problem = None
        self.says = session.opened.name
        self._sessions[key] = session
        place.presence.came(_lists_of(session))
        return session

    def _list_changed(self, change: str) -> None:
        """What one session has heard holds for all: the upstream may have told no other."""
        for session in self._sessions.values():
            session.forget(change)

    def _hello_to(self, key: Hashable, client: Client | None) -> Hello:
        """What the upstream is told of who connects: the client, if it alone is served."""
        if client is not None and self._serves_one:
            self.opened_as = client.hello
        if client is None or self._serves_one:
            return self.opened_as
        if key is client:
            return client.hello
        if not self._terms.per_era:
            return self.opened_as
        # Not whoever comes first says in which revision the others are served too.
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
        """Of each place where it is missed one of those who miss it."""
        return [client for place in self._places.values() if (client := place.presence.missed_by) is not None]

    async def _is_back(self, client: Client) -> bool:
        was_open = self.is_there(client)
        try:
            session = await self.session(client)
            if was_open:
                # Over HTTP a session outlives whoever answers.
                with suppress(MCPError):
                    await session.tools()
        except UpstreamError:
            return False
        if (place := self._places.get(self._key(client))) is not None:
            place.presence.came(_lists_of(session))
        return True


def _serves_modern(key: Hashable) -> bool:
    """Whether a session serves clients of 2026-07-28: what another tells of is not theirs, or told by this one too."""
    return key is None or key is False


def _lists_of(session: Session) -> frozenset[str]:
    return changes_with(members(session.opened.opening.get("capabilities")))


async def _over(opening: asyncio.Task[Session]) -> None:
    await asyncio.wait({opening})
