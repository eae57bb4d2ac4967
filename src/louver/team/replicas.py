"""The replicas of a gateway, which share keys: each serves the sessions of all, or passes a request on.

    Mcp-Session-Id    any replica opens the session, unless its servers keep state for it: then it names a replica
    Last-Event-ID     begins with the tag of the replica that has sent the event
    an answer         has the tag of the replica that has asked, in its `id`, or in `requestState` (2026-07-28)

A tag is the sealed URL of a replica: only a holder of the keys can make one, and an old one leads nowhere, since the
address may be somebody else's. Source: TEAM.md.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from contextlib import suppress
from functools import lru_cache
from time import time
from typing import TYPE_CHECKING, Any, Final

from louver.errors import StateUnavailable
from louver.gateway.front.event_ids import SEPARATOR, EventId
from louver.gateway.front.exchange import FORWARDED_HEADER
from louver.gateway.front.replicas import SealedSession, session_digest
from louver.limits import REPLICA_TAG_S, SEALED_SESSION_S
from louver.team.session_seal import SessionSeal
from louver.wire.mcp import LAST_EVENT_HEADER, SESSION_HEADER

if TYPE_CHECKING:
    from louver.gateway.front.exchange import HttpExchange
    from louver.gateway.front.replicas import OpenSessions
    from louver.gateway.gateway import Gateway
    from louver.team.replica_client import ReplicaClient

MAX_ENDED_SESSIONS = 10_000
"""Ended sessions whose sealed ids a replica refuses, the latest."""


_ENDED: Final = "ended"
_CANCELLED: Final = "cancelled"
_UPDATED: Final = "updated"
"""Messages to the other replicas: the digest of a session; then the id of a request, or a notification of an update."""

_EVENT_BITS: Final = 44  # of the random number at which the events of a session begin at a replica


class Replicas:
    """This replica, and the way to the others."""

    def __init__(self, gateway: Gateway, sessions: OpenSessions) -> None:
        self._gateway = gateway
        self._seal_of = lru_cache(maxsize=1)(_seal_of)
        self._tag_of = lru_cache(maxsize=1)(_tag_of)
        self._ended: OrderedDict[str, None] = OrderedDict()  # digests of session ids
        self._client: ReplicaClient | None = None
        self._sessions = sessions
        # Made now: they import the SDK with cryptography and an HTTP client, for which the first session would wait.
        if self._seal is not None:
            self._connections()
        gateway.tag_pending_calls(lambda: self.tag)
        if gateway.state is not None:
            gateway.state.on(_ENDED, self._on_ended)
            gateway.state.on(_CANCELLED, sessions.cancel_elsewhere)
            gateway.state.on(_UPDATED, sessions.update_elsewhere)

    @property
    def tag(self) -> str:
        """What begins the ids of events and questions of this replica; empty without a URL."""
        return self._tag_of(self._seal, self._gateway.replica.url, int(time() // REPLICA_TAG_S))

    @property
    def _seal(self) -> SessionSeal | None:
        return self._seal_of(self._gateway.replica.keys)

    def new_session(self, exchange: HttpExchange, params: dict[str, Any]) -> str | None:
        """The id of a session that `initialize` opens with these params; `None` if that is an id of this replica."""
        if self._seal is None:
            return None
        belongs_to = self._gateway.replica.url if self._gateway.has_own_upstreams else None
        return self._seal.seal(SealedSession(params, exchange.identity.key, belongs_to))

    def first_event(self) -> int:
        """The number of the first event of a session: those of two replicas differ, as both may have the session."""
        return 1 if self._seal is None else 1 + secrets.randbits(_EVENT_BITS)

    def find(self, exchange: HttpExchange) -> SealedSession | None:
        """What the caller's own session id holds, if it is sealed and its session has not ended here."""
        session_id = exchange.headers.get(SESSION_HEADER, "")
        if self._seal is None or session_digest(session_id) in self._ended:
            return None
        sealed = self._seal.unseal(session_id)
        return None if sealed is None or sealed.owner != exchange.identity.key else sealed

    async def end(self, exchange: HttpExchange) -> None:
        """Open a session nowhere again, as far as the state that replicas share reaches."""
        session = session_digest(exchange.headers[SESSION_HEADER])
        self._remember_ended(session)
        if (state := self._gateway.state) is not None and self._seal is not None:
            state.publish(_ENDED, session)
            with suppress(StateUnavailable):
                await state.put(_ended_key(session), b"", SEALED_SESSION_S)

    def _on_ended(self, session: str) -> None:
        self._remember_ended(session)
        self._sessions.end_elsewhere(session)

    def _remember_ended(self, session: str) -> None:
        """Do not open a session here again."""
        self._ended[session] = None
        if len(self._ended) > MAX_ENDED_SESSIONS:
            self._ended.popitem(last=False)

    async def has_ended(self, exchange: HttpExchange) -> bool:
        """Whether a session has ended at another replica, perhaps before this one started."""
        if (state := self._gateway.state) is None:
            return False
        session = session_digest(exchange.headers[SESSION_HEADER])
        with suppress(StateUnavailable):
            if await state.get(_ended_key(session)) is not None:
                self._remember_ended(session)
        # A message may have said so meanwhile.
        return session in self._ended

    def cancel(self, session: str, request_id: object) -> None:
        """Pass on that a client has cancelled a request, which another replica answers."""
        if (state := self._gateway.state) is not None and self._seal is not None:
            state.publish(_CANCELLED, session, request_id)

    def pass_on(self, session: str, update: bytes) -> None:
        """Pass on that a resource has changed, to the replica where the client listens."""
        if (state := self._gateway.state) is not None and self._seal is not None:
            state.publish(_UPDATED, session, update.decode())

    def lost(self, exchange: HttpExchange) -> EventId | None:
        """The last event that the client has got, if it is of a replica that is not reached any more."""
        event_id = EventId.read(exchange.headers.get(LAST_EVENT_HEADER, ""))
        is_foreign = event_id.tag not in ("", self.tag) and self._url_in(event_id.tag) is not None
        return event_id if is_foreign else None

    async def forward(
        self, exchange: HttpExchange, body: bytes, message: dict[str, Any] | None = None, *, is_here: bool
    ) -> bool:
        """Pass a request on to the replica that it belongs to; `False` if it is to be served here.

        `is_here` says whether this replica has the session. A response stands for the answer to a question.
        """
        if self._seal is None or SESSION_HEADER not in exchange.headers or FORWARDED_HEADER in exchange.headers:
            return False
        url = None
        if not is_here and (sealed := self.find(exchange)) is not None:
            url = sealed.replica
        if not url:
            # A request has none: one that is lost with another replica, and served here then, would run twice.
            tagged = exchange.headers.get(LAST_EVENT_HEADER) if message is None else message.get("id")
            url = None if message is not None and "method" in message else self._url_in(tagged)
        return await self._forward_to(url, exchange, body)

    async def forward_round(self, exchange: HttpExchange, body: bytes, state: object) -> bool:
        """Pass on a 2026-07-28 client's answer to the replica where its call waits; `False` if it is served here."""
        return FORWARDED_HEADER not in exchange.headers and await self._forward_to(self._url_in(state), exchange, body)

    async def _forward_to(self, url: str | None, exchange: HttpExchange, body: bytes) -> bool:
        if not url or url == self._gateway.replica.url:
            return False
        return await self._connections().forward(exchange, url, body)

    def _connections(self) -> ReplicaClient:
        if self._client is None:
            # Imported only now: most gateways pass nothing on.
            from louver.team.replica_client import ReplicaClient

            self._client = ReplicaClient()
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _url_in(self, tagged: object) -> str | None:
        """The URL of the other replica whose tag an id has."""
        if self._seal is None or not isinstance(tagged, str) or SEPARATOR not in tagged:
            return None
        if self.tag and tagged.startswith(self.tag):
            return None
        return self._seal.unseal_url(tagged.partition(SEPARATOR)[0])


def prepare(keys: tuple[str, ...]) -> None:
    """Load what the first keys need, in a thread: all clients would wait for that with the next request."""
    # Imported only now, as above.
    from louver.team.replica_client import ReplicaClient

    ReplicaClient()
    SessionSeal(keys)


def _seal_of(keys: tuple[str, ...]) -> SessionSeal | None:
    return SessionSeal(keys) if keys else None


def _tag_of(seal: SessionSeal | None, url: str, _period: int) -> str:
    return seal.seal_url(url) + SEPARATOR if seal is not None and url else ""


def _ended_key(session: str) -> str:
    return f"ended:{session}"
