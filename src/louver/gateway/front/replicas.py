"""The replicas that serve the sessions of all with shared keys, plugged in where there are keys."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.front.event_ids import EventId
    from louver.gateway.front.exchange import HttpExchange


def session_digest(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SealedSession:
    """What a session id holds that every replica can open."""

    params: dict[str, Any]  # of `initialize`
    owner: PrincipalKey | None
    replica: str | None  # URL of the one replica that can serve it, empty if it has none; `None`: every replica can


class OpenSessions(Protocol):
    """The sessions here, by the digests of their ids, for messages of other replicas."""

    def end_elsewhere(self, digest: str) -> None: ...

    def cancel_elsewhere(self, digest: str, request_id: object) -> None: ...

    def update_elsewhere(self, digest: str, update: str) -> None: ...


class Replicas(Protocol):
    """This replica, and the way to the others."""

    @property
    def tag(self) -> str:
        """What begins the ids of events and questions of this replica; empty without a URL."""
        ...

    def new_session(self, exchange: HttpExchange, params: dict[str, Any]) -> str | None:
        """The id of a session that `initialize` opens with these params; `None` if that is an id of this replica."""
        ...

    def first_event(self) -> int:
        """The number of the first event of a session: those of two replicas differ, as both may have the session."""
        ...

    def find(self, exchange: HttpExchange) -> SealedSession | None:
        """What the caller's own session id holds, if it is sealed and its session has not ended here."""
        ...

    async def end(self, exchange: HttpExchange) -> None:
        """Open a session nowhere again, as far as the state that replicas share reaches."""
        ...

    async def has_ended(self, exchange: HttpExchange) -> bool:
        """Whether a session has ended at another replica, perhaps before this one started."""
        ...

    def cancel(self, session: str, request_id: object) -> None:
        """Pass on that a client has cancelled a request, which another replica answers."""
        ...

    def pass_on(self, session: str, update: bytes) -> None:
        """Pass on that a resource has changed, to the replica where the client listens."""
        ...

    def lost(self, exchange: HttpExchange) -> EventId | None:
        """The last event that the client has got, if it is of a replica that is not reached any more."""
        ...

    async def forward(
        self, exchange: HttpExchange, body: bytes, message: dict[str, Any] | None = None, *, is_here: bool
    ) -> bool:
        """Pass a request on to the replica that it belongs to; `False` if it is to be served here.

        `is_here` says whether this replica has the session. A response stands for the answer to a question.
        """
        ...

    async def forward_round(self, exchange: HttpExchange, body: bytes, state: object) -> bool:
        """Pass on a 2026-07-28 client's answer to the replica where its call waits; `False` if it is served here."""
        ...

    async def close(self) -> None: ...
