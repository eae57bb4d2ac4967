"""An upstream: a server behind the gateway, and the sessions with it.

One session serves everybody (`shared`), or each client of the handshake era has its own (`session`)::

    client A ─┐                        client A ── session ── process
    client B ─┴─ session ── process    client B ── session ── process

A session is opened when it is first needed. One that ends is opened anew when it is next needed, after
a wait that doubles with each failure in a row; after five failures the upstream is left alone for a while.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types.version import LATEST_MODERN_VERSION

from louver import __version__
from louver.core.json import is_object
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.negotiation import Hello
from louver.gateway.session import Session
from louver.limits import MAX_BACKOFF_S, MAX_FAILURES, MAX_SESSIONS, MIN_BACKOFF_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from louver.gateway.clients import Client
    from louver.gateway.link import Link, Listener, Params

logger = logging.getLogger(__name__)

GATEWAY: Final = Hello(
    LATEST_MODERN_VERSION,
    {"name": "louver", "version": __version__},
    {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}},
)
"""Who the gateway is for an upstream that serves everybody; each client says for itself what it can be asked."""


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
    ) -> None:
        self.name = name
        self.problem: str | None = None
        self._link = link
        self._timeout_s = timeout_s
        self._isolated = isolated
        self._per_era = per_era
        self._hello = hello
        self._told = told
        self._sessions: dict[Hashable, Session] = {}
        self._opening: dict[Hashable, asyncio.Task[Session]] = {}
        self._safe: set[str] = set()
        self._failures = 0
        self._not_before = 0.0

    @property
    def clients(self) -> set[Client]:
        """Those of the handshake era that it serves."""
        return {client for session in self._sessions.values() for client in session.audience}

    async def session(self, client: Client | None = None) -> Session:
        """The session that serves a client, or the gateway itself; opened if it is not there.

        Raises:
            UpstreamError: There is none, and none can be opened now.
        """
        if client is None and self._sessions:
            return next(iter(self._sessions.values()))
        key = self._key(client)
        session = self._sessions.get(key)
        if session is None:
            if key not in self._opening:
                self._opening[key] = asyncio.create_task(self._open(key, client))
            # Others may wait for the same; whoever stops waiting does not stop it.
            session = await asyncio.shield(self._opening[key])
        if client is not None and not client.is_modern:
            session.audience.add(client)
        return session

    async def notify(self, client: Client, method: str, params: Params) -> None:
        """Send on what a client says; an upstream that is not there does not hear it."""
        session = self._sessions.get(self._key(client))
        if session is not None and not session.is_modern:
            with suppress(UpstreamError):
                await session.notify(method, params)

    def is_safe(self, method: str, params: Params) -> bool:
        """Whether a request is of a tool that says of itself that a second call does no harm."""
        return method == "tools/call" and (params or {}).get("name") in self._safe

    async def leave(self, client: Client) -> None:
        """A client has gone."""
        opening = self._opening.get(client)
        if opening is not None:
            opening.cancel()
        if (own := self._sessions.pop(client, None)) is not None:
            await own.close()
        for session in list(self._sessions.values()):
            await session.leave(client)

    async def close(self) -> None:
        """End all sessions."""
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

    async def _open(self, key: Hashable, client: Client | None) -> Session:
        try:
            if len(self._sessions) >= MAX_SESSIONS:
                raise UpstreamUnavailable(f"upstream {self.name!r} has {MAX_SESSIONS} sessions already")
            if (wait_s := self._not_before - monotonic()) > 0:
                raise UpstreamUnavailable(
                    f"upstream {self.name!r} is not there ({self.problem}); it is tried again in {wait_s:.1f} s"
                )
            hello = self._hello_to(key, client)
            session = Session(self._link, hello, self._timeout_s, self._told, self._ended, self._listed)
            try:
                await session.open()
            except (UpstreamError, MCPError) as error:
                raise self._failed(error) from None
        finally:
            del self._opening[key]
        self._failures, self.problem = 0, None
        self._sessions[key] = session
        return session

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
        self._failures += 1
        doubled = MIN_BACKOFF_S * 2 ** (self._failures - 1)
        self._not_before = monotonic() + (doubled if self._failures < MAX_FAILURES else MAX_BACKOFF_S)
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
