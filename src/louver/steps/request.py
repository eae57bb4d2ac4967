"""The request: one message of a client, as every step gets it, whatever its transport and its protocol revision.

    transport, or the SDK (`louver.sdk.adapter`)  ->  Request  ->  step ─ step ─ ... ─ handler  ->  result

A step is a function of a request and of what comes after it. It may answer itself, or pass another request on.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from louver.core.json import digest
from louver.limits import MATCHES_A_PAGE
from louver.policy.principal import NOBODY, Principal
from louver.steps.call_record import CallRecord
from louver.wire.mcp import MODERN_VERSIONS
from louver.wire.names import DISCLOSURE, RESULT

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from louver.catalogue.grants import PrincipalKey
    from louver.core.json import Json

_NAME = f"{DISCLOSURE}/name"
_HOLDER = f"{RESULT}/holder"
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller of a request; `key` is None if it is not authenticated."""

    principal: Principal = NOBODY
    key: PrincipalKey | None = None
    expires: float | None = field(default=None, compare=False)  # its token, in seconds since the epoch

    @property
    def caller(self) -> Hashable:
        """What visible tools depend on; None if it is not authenticated."""
        return None if self.key is None else (*self.key, *sorted(self.principal.scopes))

    def peer(self, address: str | None) -> Hashable:
        """Whose budget it uses: the principal's, or the address's without authentication; None over stdio."""
        return address if self.key is None else self.key


ANONYMOUS = Identity()


class ClientConnection(Protocol):
    """What a request came over: a session, standard input, or one POST of 2026-07-28."""

    @property
    def state(self) -> dict[str, Any]:
        """What steps store for as long as it lasts."""
        ...

    @property
    def shared(self) -> dict[str, Any] | None:
        """In 2026-07-28, what the requests of one standard input share; None over HTTP."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether requests are admitted; in 2025-11-25 after `initialize`."""
        ...

    @property
    def opening(self) -> dict[str, Any] | None:
        """The params of its `initialize`, once that was answered."""
        ...

    def when_closed(self, callback: Callable[[], Awaitable[None]]) -> None: ...

    async def notify(self, method: str, params: dict[str, Any] | None, request_id: int | str | None = None) -> None:
        """Send a notification, in the stream of a request if one is given."""
        ...

    async def ask(
        self, method: str, params: dict[str, Any] | None, request_id: int | str | None = None
    ) -> dict[str, Any]:
        """The client's result; JsonRpcError if it answers with an error, or cannot be asked."""
        ...

    def on_tools_changed(self, callback: Callable[[], None]) -> None:
        """Call it whenever the server notifies this client of changed tools; it replaces an earlier callback."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """One request, or a notification, whose `id` is None."""

    method: str
    params: dict[str, Any]
    id: int | str | None
    revision: str
    connection: ClientConnection
    identity: Identity = ANONYMOUS
    address: str | None = None  # of the client's machine; None over stdio
    pause: Callable[[], Awaitable[None]] | None = None  # closes its stream, which the client resumes
    is_for_program: bool = False  # whatever the client is
    is_inner: bool = False  # serves the answer to another call: data alone, without extras or previews
    is_extra: bool = False  # besides the first one for an answer: it counts nowhere
    is_live: bool = False  # serves a call: a list that the gateway has kept is not enough
    matches_a_page: int = MATCHES_A_PAGE
    record: CallRecord = field(default_factory=CallRecord)

    @property
    def is_modern(self) -> bool:
        return self.revision in MODERN_VERSIONS

    @property
    def lasts(self) -> bool:
        """Whether its connection is also that of the requests before and after, by a handshake."""
        return not self.is_modern and self.connection.opening is not None

    def read_before(self) -> dict[str, str] | None:
        """Descriptions that this caller has read over the connection: tool -> version. None if nothing remembers."""
        shared = self.connection.state if self.lasts else self.connection.shared
        return None if shared is None else shared.setdefault(DISCLOSURE, {}).setdefault(self.identity.key, {})

    @property
    def peer(self) -> Hashable:
        """Whose budget it uses."""
        return self.identity.peer(self.address)

    @property
    def counted_as(self) -> str:
        """The caller for limits and the log: the principal's digest, else a connection, else an address."""
        if self.identity.key is not None:
            return f"principal {digest(list(self.identity.key))}"
        if self.lasts:
            state = self.connection.state
            if _NAME not in state:
                state[_NAME] = str(next(_numbers))
            return f"connection {state[_NAME]}"
        return f"address {'none' if self.address is None else self.address}"

    @property
    def holder(self) -> Json:
        """The owner of results that the request keeps, or may read."""
        # Random, not counted: a store can outlive this process.
        here = self.connection.state.setdefault(_HOLDER, secrets.token_hex(16)) if self.lasts else None
        return [here, None if self.identity.key is None else list(self.identity.key)]


def name_connection(connection: ClientConnection, session: str) -> None:
    """Name a connection by the digest of its session: the same at all replicas that serve it."""
    connection.state[_HOLDER] = session
    connection.state[_NAME] = session[:8]


Next = Callable[[Request], Awaitable[dict[str, Any]]]


class Step(Protocol):
    """What may answer a request itself, or pass one on."""

    def __call__(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]: ...


def in_order(steps: Sequence[Step], last: Next) -> Next:
    """Steps, and what comes after them, as one handler."""
    for step in reversed(steps):
        last = partial(step, call_next=last)
    return last
