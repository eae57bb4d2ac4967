"""The interface of transports: one connection to an upstream, which carries raw JSON objects, so that nothing is lost.

    -> {"method": "tools/call", "params": {...}}
    <- {"method": "notifications/progress", "params": {...}}      on_notification
    <- {"method": "elicitation/create", "params": {...}}          on_request, and its answer

Negotiation, restarts and clients are not its concern.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from louver.wire.jsonrpc.errors import INVALID_REQUEST, JsonRpcError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Hashable, Mapping

    from louver.concurrency.deadlines import Interruptible
    from louver.wire.jsonrpc.codec import Params


async def ignore_pause() -> None:
    """Does nothing."""


NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Call(NamedTuple):
    method: str
    params: Params
    on_notification: Callable[[str, Params], Awaitable[None]]  # gets its notifications
    # answers the requests that belong to it; `JsonRpcError` is the error answer
    on_request: Callable[[str, Params], Awaitable[dict[str, Any]]]
    headers: Mapping[str, str] = NO_HEADERS  # besides the transport's own; HTTP only
    # called when the upstream has closed the stream, before it is resumed
    on_pause: Callable[[], Awaitable[None]] = ignore_pause
    # set if the answer comes after all once the call was abandoned, but not over HTTP: its stream has ended
    on_late: asyncio.Event | None = None
    peer: Hashable = None  # whose budget it uses; `None` for nobody's
    block: Interruptible | None = None  # in which it is waited for; `None`: the transport makes one if it needs it


class RefusesAllRequests(JsonRpcError):
    """An upstream's error that concerns all requests: it does not accept the gateway's credentials, or is busy."""

    def __init__(self, error: JsonRpcError, problem: str) -> None:
        super().__init__(error.code, error.message, error.data)
        self.problem = problem


class Listener(Protocol):
    """Gets the messages of an upstream that name no call."""

    async def on_notification(self, method: str, params: Params) -> None: ...

    async def on_request(self, method: str, params: Params) -> dict[str, Any]: ...

    def on_listening(self, is_open: bool) -> None:
        """Whether such messages can come from now on: over HTTP in 2025 they need their own stream, which may break."""
        ...

    def on_closed(self, reason: str) -> None:
        """The connection has ended without `close`."""
        ...


class Transport(Protocol):
    wants_headers: bool  # whether it uses `Call.headers`

    @property
    def is_stateful(self) -> bool:
        """Whether requests belong to one session, or process, in which the server may keep state."""
        ...

    async def open(self) -> None: ...

    def set_version(self, version: str | None) -> None:
        """Set the protocol revision of all further messages; `None` before there is one."""
        ...

    async def listen(self) -> None:
        """Receive messages that name no call too, once the handshake is done."""
        ...

    async def call(self, call: Call) -> dict[str, Any]:
        """The result of a request. Cancellation is sent to the upstream."""
        ...

    async def notify(self, method: str, params: Params) -> None: ...

    async def close(self) -> None: ...


async def ignore_notification(_method: str, _params: Params) -> None:
    """Drops a notification."""


async def refuse_request(_method: str, _params: Params) -> dict[str, Any]:
    """Refuses a request to the client."""
    raise JsonRpcError(code=INVALID_REQUEST, message="nobody can be asked by this request")
