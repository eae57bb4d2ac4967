"""A link: one connection to an upstream, over which raw messages go.

What is sent and what comes are JSON objects as they stand on the wire; no model reads them, so nothing that a
server says is lost. While a call is open the upstream may say and ask things because of it::

    -> {"method": "tools/call", "params": {...}}
    <- {"method": "notifications/progress", "params": {...}}      heard
    <- {"method": "elicitation/create", "params": {...}}          asked, and answered
    <- {"result": {...}}

A link knows a transport, and nothing of negotiation, of restarts, or of who is served.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from mcp import MCPError
from mcp_types import INVALID_REQUEST

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Mapping

    from louver.jsonrpc.codec import Params


async def unpaused() -> None:
    """What is told of a pause where nobody need know."""


_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class Call(NamedTuple):
    """One request to an upstream.

    Args:
        method: Its method.
        params: Its params, sent as they are.
        heard: Gets the notifications that belong to this request.
        asked: Answers what the upstream asks because of it, with the result; an `MCPError` is the error answer.
        headers: What HTTP needs beside the link's own headers; other transports leave them out.
        paused: Called when the upstream has closed its stream, and goes on once that is taken up again.
        late: Set when the answer comes though the call was given up, if somebody wants to know; over HTTP its stream
            has ended by then.
    """

    method: str
    params: Params
    heard: Callable[[str, Params], Awaitable[None]]
    asked: Callable[[str, Params], Awaitable[dict[str, Any]]]
    headers: Mapping[str, str] = _NO_HEADERS
    paused: Callable[[], Awaitable[None]] = unpaused
    late: asyncio.Event | None = None

    def heard_by(
        self,
        heard: Callable[[str, Params], Awaitable[None]],
        asked: Callable[[str, Params], Awaitable[dict[str, Any]]],
    ) -> Call:
        """The same request, heard and asked by others."""
        return self._replace(heard=heard, asked=asked)


class RefusesAll(MCPError):
    """An error of the upstream that is of nobody's request: it does not take the gateway's credentials, or is busy.

    Args:
        error: What it answers.
        problem: What is the matter.
    """

    def __init__(self, error: MCPError, problem: str) -> None:
        super().__init__(error.code, error.message, error.data)
        self.problem = problem


class Listener(Protocol):
    """Who hears what an upstream says or asks where no call tells for whom it is."""

    async def heard(self, method: str, params: Params) -> None:
        """A notification."""
        ...

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """A request: its result.

        Raises:
            MCPError: The error that it is answered with.
        """
        ...

    def listens(self, is_open: bool) -> None:
        """Whether that can be heard from now on: over HTTP of 2025 it has a stream of its own, which may break off."""
        ...

    def gone(self, reason: str) -> None:
        """The connection has ended without having been closed."""
        ...


class Link(Protocol):
    """One connection.

    Attributes:
        wants_headers: Whether a call needs its headers.
    """

    wants_headers: bool

    async def open(self) -> None:
        """Connect.

        Raises:
            UpstreamUnavailable: That is not possible.
        """
        ...

    def speak(self, version: str | None) -> None:
        """From here on messages are of this protocol revision; `None` before there is one."""
        ...

    async def listen(self) -> None:
        """Hear also what no call tells, once the handshake is done."""
        ...

    async def call(self, call: Call) -> dict[str, Any]:
        """The result of a request. Cancelling it tells the upstream.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamUnavailable: The connection has ended, or there is no answer.
            UpstreamTooLarge: The answer is over `MAX_UPSTREAM_BYTES`.
            UpstreamInvalidOutput: The answer is not strictly JSON, or not an answer.
        """
        ...

    async def notify(self, method: str, params: Params) -> None:
        """Send a notification.

        Raises:
            UpstreamUnavailable: The connection has ended.
        """
        ...

    async def close(self) -> None:
        """End the connection, and whatever was started for it."""
        ...


async def unheard(_method: str, _params: Params) -> None:
    """What hears the notifications of the gateway's own requests, and others that are for nobody."""


async def unasked(_method: str, _params: Params) -> dict[str, Any]:
    """What answers the questions of the gateway's own requests.

    Raises:
        MCPError: Always.
    """
    raise MCPError(code=INVALID_REQUEST, message="nobody can be asked by this request")
