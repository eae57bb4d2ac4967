"""An upstream: a server behind the gateway, and the sessions with it.

One session serves everybody (`shared`), or each client of the handshake era has its own (`session`)::

    client A ─┐                        client A ── session ── process
    client B ─┴─ session ── process    client B ── session ── process

A session is opened when it is first needed. One that ends is opened anew when it is next needed, for those who were
served over it and what they had asked for. An upstream that cannot be opened is left alone for a while, longer each
time in a row; so is one that opens and ends at once, for those who would be served over it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types.version import LATEST_MODERN_VERSION

from louver import __version__
from louver.core.json import is_object
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.audience import Audience
from louver.gateway.backoff import Backoff
from louver.gateway.negotiation import Hello
from louver.gateway.session import Session
from louver.limits import MAX_SESSIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from louver.gateway.clients import Caller, Client
    from louver.gateway.guard import Guard
    from louver.gateway.link import Link, Listener, Params

logger = logging.getLogger(__name__)

GATEWAY: Final = Hello(
    LATEST_MODERN_VERSION,
    {"name": "louver", "version": __version__},
    {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}},
)
"""Who the gateway is for an upstream that serves everybody; each client says for itself what it can be asked."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What sessions that take each other's place share: who is served, and how often they have ended at once."""

    audience: Audience = field(default_factory=Audience)
    ends: Backoff = field(default_factory=Backoff)


class Upstream:
    """One upstream.

    Args:
        name: Its name in the configuration.
        link: Makes a link to it.
        timeout_s: How long it may be silent while it is called.
        isolated: Whether each client of the handshake era has a session of its own.
        per_era: Whether it can be spoken to in both eras at once: over HTTP, but not one process.
        hello: What it is told where a session serves everybody; without one, what the first client says of itself.
        told: Gets every notification that no call belongs to.
        guard: Stands before it, if it is under a policy.
    """

    def __init__(
        self,
        name: str,
        link: Callable[[Listener], Link],
        *,
        timeout_s: float,
        isolated: bool,
        per_era: bool,
        hello: Hello | None,
        told: Callable[[str, Params], Awaitable[None]],
        guard: Guard | None = None,
    ) -> None:
        self.name = name
        self.guard = guard
        self.problem: str | None = None
        self.says: str | None = None
        """What it says itself that it is called, once it was opened."""
        self._link = link
        self._timeout_s = timeout_s
        self._isolated = isolated
        self._per_era = per_era
        self._hello = hello
        self._told = told
        self._places: dict[Hashable, _Place] = {}
        self._sessions: dict[Hashable, Session] = {}
        self._opening: dict[Hashable, asyncio.Task[Session]] = {}
        self._safe: set[str] = set()
        self._failures = Backoff()
        self._successor: Upstream | None = None
        self._is_closed = False

    @property
    def clients(self) -> set[Client]:
        """Those of the handshake era that it serves."""
        return {client for place in self._places.values() for client in place.audience.clients}

    async def session(self, client: Client | None = None) -> Session:
        """The session that serves a client, or the gateway itself; opened if it is not there.

        Raises:
            UpstreamError: There is none, and none can be opened now.
        """
        if self._is_closed:
            raise self._over()
        if client is None and self._sessions:
            return next(iter(self._sessions.values()))
        key = self._key(client)
        place = self._place(key)
        if client is not None and not client.is_modern:
            place.audience.clients.add(client)
        session = self._sessions.get(key)
        if session is None:
            if (opening := self._opening.get(key)) is None:
                if len(self._sessions.keys() | self._opening.keys()) >= MAX_SESSIONS:
                    raise UpstreamUnavailable(f"upstream {self.name!r} has {MAX_SESSIONS} sessions already")
                opening = self._opening[key] = asyncio.create_task(self._open(key, client))
                opening.add_done_callback(partial(self._opened, key))
            # Others may wait for the same; whoever stops waiting does not stop it.
            await asyncio.wait({opening})
            if opening.cancelled():
                raise self._over()
            session = opening.result()
        return session

    async def notify(self, client: Client, method: str, params: Params) -> None:
        """Send on what a client says; an upstream that is not there does not hear it."""
        session = self._sessions.get(self._key(client))
        if session is not None and not session.is_modern:
            with suppress(UpstreamError):
                await session.notify(method, params)

    async def unwatch(self, turn: Caller, uri: str) -> None:
        """A client watches a resource no more; an upstream that is not there need not know.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
        if self._successor is not None:
            await self._successor.unwatch(turn, uri)
            return
        key = self._key(turn.client)
        if (session := self._sessions.get(key)) is not None:
            await session.subscriptions.unwatch(turn, {"uri": uri})
        elif key in self._places:
            self._places[key].audience.unwatch(turn.client, uri)

    def is_safe(self, method: str, params: Params) -> bool:
        """Whether a request is of a tool that says of itself that a second call does no harm."""
        return method == "tools/call" and (params or {}).get("name") in self._safe

    def succeed(self, other: Upstream) -> None:
        """Take the place of another: serve those whom it serves, with all that they have asked for."""
        for place in other._places.values():
            for client in place.audience.everybody:
                self._place(self._key(client)).audience.take(client, place.audience)
        other._successor = self

    async def leave(self, client: Client) -> None:
        """A client has gone."""
        opening = self._opening.get(client)
        if opening is not None:
            opening.cancel()
        if (own := self._sessions.pop(client, None)) is not None:
            await own.close()
        self._places.pop(client, None)
        for key, place in list(self._places.items()):
            left = place.audience.leave(client)
            if (session := self._sessions.get(key)) is not None:
                await session.subscriptions.narrow(left)

    async def close(self) -> None:
        """End all sessions, and begin none any more."""
        self._is_closed = True
        opening = list(self._opening.values())
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions))

    def _key(self, client: Client | None) -> Hashable:
        if self._isolated and client is not None and not client.is_modern:
            return client
        return client is not None and not client.is_modern if self._per_era else None

    def _place(self, key: Hashable) -> _Place:
        if (place := self._places.get(key)) is None:
            place = self._places[key] = _Place()
        return place

    def _opened(self, key: Hashable, opening: asyncio.Task[Session]) -> None:
        """An opening is over, which may never have begun."""
        del self._opening[key]
        if not opening.cancelled():
            # Looked at, though nobody may wait for it any more: asyncio would tell of it.
            opening.exception()

    async def _open(self, key: Hashable, client: Client | None) -> Session:
        place = self._places[key]
        self._check_may_open(self._failures)
        self._check_may_open(place.ends)
        session = Session(
            self.name,
            self._link,
            self._hello_to(key, client),
            self._timeout_s,
            place.audience,
            self._told,
            self._ended,
            self._listed,
            self.guard,
        )
        try:
            await session.open()
        except (UpstreamError, MCPError) as error:
            raise self._failed(error) from None
        self._failures.reset()
        self.problem = None
        self.says = session.opened.name
        self._sessions[key] = session
        return session

    def _over(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(f"upstream {self.name!r} is not there: it has been closed")

    def _check_may_open(self, backoff: Backoff) -> None:
        if (wait_s := backoff.wait_s) > 0:
            raise UpstreamUnavailable(
                f"upstream {self.name!r} is not there ({backoff.problem}); it is tried again in {wait_s:.1f} s"
            )

    def _hello_to(self, key: Hashable, client: Client | None) -> Hello:
        """What the upstream is told of who connects: the client, if it alone is served."""
        if client is not None and (key is client or self._hello is None):
            return client.hello
        hello = self._hello or GATEWAY
        return replace(hello, version=client.version) if client is not None and self._per_era else hello

    def _failed(self, error: UpstreamError | MCPError) -> UpstreamUnavailable:
        self.problem = (
            error.message if isinstance(error, UpstreamError) else f"it refuses to open, with error {error.error.code}"
        )
        self._failures.fail(self.problem)
        logger.error("upstream %r is not there: %s", self.name, self.problem)
        return UpstreamUnavailable(f"upstream {self.name!r} is not there: {self.problem}")

    def _listed(self, tools: list[dict[str, Any]]) -> None:
        """Remember which tools may be called again."""
        for tool in tools:
            says = tool.get("annotations")
            safe = is_object(says) and (says.get("readOnlyHint") is True or says.get("idempotentHint") is True)
            (self._safe.add if safe else self._safe.discard)(tool["name"])

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
