"""The clients of the gateway, and how to send them notifications and requests.

A handshake client (2025-11-25 and earlier) is one connection, open for both at any time. A 2026-07-28 client is one
request: it carries the client's identity, and its answer asks for input (`input_required.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    METHOD_NOT_FOUND,
)
from pydantic import BaseModel, RootModel, ValidationError

from louver.core.json import members
from louver.errors import UpstreamUnavailable
from louver.gateway.clients.outbox import Outbox
from louver.gateway.clients.revisions import is_modern
from louver.gateway.upstream.negotiation import Hello
from louver.limits import MAX_URI_PARTS
from louver.protocol.names import PREFIX
from louver.server.identity import principal_key

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from louver.jsonrpc.codec import Params

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ASKS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
UPDATED: Final = "notifications/resources/updated"
_KEY = f"{PREFIX}client"
_HOST = "host"


def wholes(uri: object) -> Iterator[str]:
    """The URIs of a resource and its parents: a server may report a change of a part of what is watched."""
    if not isinstance(uri, str):
        return
    yield uri
    for _ in range(MAX_URI_PARTS):
        uri, slash, _ = uri.rpartition("/")
        if not slash:
            return
        yield from (uri, uri + slash)


def _part(method: str, params: dict[str, Any]) -> str | None:
    """The part of a capability that a request to the client also needs, if any."""
    if method == "elicitation/create":
        return "url" if params.get("mode") == "url" else "form"
    if method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        return "tools"
    return None


class RawMessage(BaseModel):
    """A message that the SDK sends unchanged."""

    method: str
    params: dict[str, Any] | None = None


class RawResult(RootModel[dict[str, Any]]):
    """A result that the SDK returns unchanged."""


class Client:
    def __init__(
        self, version: str, hello: Hello, session: ServerSession | None = None, party: Hashable | None = None
    ) -> None:
        self.version = version
        self.is_modern = is_modern(version)  # speaks 2026-07-28
        self.hello = hello
        self.log_level: str | None = None
        self.watched: set[str] = set()  # URIs of subscribed resources
        self.outbox = Outbox()
        self.has_gone = False  # though its requests may not know it yet
        self._session = session
        self._party = party

    @property
    def party(self) -> Hashable:
        """Equal for clients that are known to belong to the same user or host."""
        return self if self._party is None else self._party

    def go(self) -> None:
        """Mark it as gone: it gets no notifications, and nothing is opened for it."""
        self.has_gone = True
        self.outbox.close()

    def check_is_there(self, upstream: str) -> None:
        """Raise if the client has gone: nothing would later undo what is requested or opened for it now."""
        if self.has_gone:
            raise UpstreamUnavailable(
                f"upstream {upstream!r} is not there: the connection was opened anew meanwhile; call again"
            )

    def check_can(self, method: str, params: Params) -> None:
        """Raise if the client has no capability for this request."""
        capability = _ASKS.get(method)
        if capability is None:
            return
        if capability not in self.hello.capabilities:
            raise MCPError(code=METHOD_NOT_FOUND, message=f"the client has no capability {capability!r}")
        part, said = _part(method, params or {}), members(self.hello.capabilities[capability])
        # Without parts, `elicitation` means forms.
        if part is not None and part not in said and (said or part != "form"):
            raise MCPError(code=INVALID_PARAMS, message=f"the client has no capability '{capability}.{part}'")

    def takes(self, method: str, params: Params, default: str | None = None) -> bool:
        if method == "notifications/message":
            return self.takes_level(params, default)
        return method != UPDATED or any(uri in self.watched for uri in wholes((params or {}).get("uri")))

    def takes_level(self, params: Params, default: str | None = None) -> bool:
        """Whether a log message has the client's level; `default` is that of handshake clients that set none."""
        level = (params or {}).get("level")
        wanted = self.log_level if self.log_level in LEVELS or self.is_modern else default
        if wanted not in LEVELS:
            # No level is set: handshake clients get every message, 2026-07-28 clients none.
            return not self.is_modern
        return level in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted)

    def hear(self, method: str, params: Params) -> None:
        """Queue a notification that belongs to no request."""
        if self._session is not None:
            self.outbox.put(method, params, partial(self._session.send_notification, _raw(method, params)))

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask the client something that belongs to none of its requests."""
        if self._session is None:
            raise MCPError(code=INVALID_REQUEST, message="no client can be asked outside of its requests")
        # Not before `notifications/initialized`.
        await self._session._connection.initialized.wait()  # pyright: ignore[reportPrivateUsage]
        return await _asked(self, self._session, method, params, None)


def handshake_client(ctx: ServerRequestContext[Any, Any]) -> Client | None:
    """The client of a connection; `None` before `initialize`."""
    return _state(ctx).get(_KEY)


def open_client(ctx: ServerRequestContext[Any, Any], version: str) -> Client:
    params = dict(ctx.params or {})
    hello = Hello(version, members(params.get("clientInfo")), members(params.get("capabilities")), params)
    client = _state(ctx)[_KEY] = Client(version, hello, ctx.session)
    return client


def modern_client(ctx: ServerRequestContext[Any, Any]) -> Client:
    said = members((ctx.params or {}).get("_meta"))
    info, capabilities = said.get(CLIENT_INFO_META_KEY), said.get(CLIENT_CAPABILITIES_META_KEY)
    hello = Hello(ctx.protocol_version, members(info), members(capabilities))
    # Over stdio there is only one host.
    party = _HOST if ctx.request is None else principal_key()
    client = Client(ctx.protocol_version, hello, party=party)
    client.log_level = said.get(LOG_LEVEL_META_KEY)
    return client


def client_of(ctx: ServerRequestContext[Any, Any]) -> Client:
    client = modern_client(ctx) if is_modern(ctx.protocol_version) else handshake_client(ctx)
    if client is None:
        raise MCPError(code=INVALID_PARAMS, message="Invalid request parameters", data="")
    return client


def when_closed(ctx: ServerRequestContext[Any, Any], leave: Any) -> None:
    ctx.session._connection.exit_stack.push_async_callback(leave)  # pyright: ignore[reportPrivateUsage]


class Caller(Protocol):
    """The client side of a call: it gets what the upstream sends meanwhile."""

    @property
    def client(self) -> Client: ...

    async def heard(self, method: str, params: Params) -> None: ...

    async def paused(self) -> None:
        """The upstream has closed the call's stream for a while: the client's stream can close too."""
        ...

    async def asked(self, method: str, params: Params) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Itself:
    """The gateway as caller, without a client."""

    client: Client

    async def heard(self, method: str, params: Params) -> None:
        """Nothing: no client to notify."""

    async def paused(self) -> None:
        """Nothing: no client's stream to close."""

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        raise MCPError(code=INVALID_REQUEST, message="there is no client to be asked")


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a client, while it is answered; its notifications are sent before the answer."""

    client: Client
    ctx: ServerRequestContext[Any, Any]

    async def heard(self, method: str, params: Params) -> None:
        if method == "notifications/message" and not self.client.takes_level(params):
            return
        send = partial(self.ctx.session.send_notification, _raw(method, params), self.ctx.request_id)
        self.client.outbox.put(method, params, send)

    async def paused(self) -> None:
        """Close the client's stream; the client resumes it by itself."""
        if self.ctx.close_sse_stream is not None:
            await self.ctx.close_sse_stream()

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        await self.client.outbox.told()
        return await _asked(self.client, self.ctx.session, method, params, self.ctx.request_id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            # Not if cancelled: the client has gone then. An error is an answer.
            if kind is None or issubclass(kind, Exception):
                await self.client.outbox.told()
        finally:
            if self.client.is_modern:
                # A 2026-07-28 client is this one request.
                self.client.outbox.close()


async def _asked(client: Client, session: ServerSession, method: str, params: Params, related: Any) -> dict[str, Any]:
    client.check_can(method, params)
    metadata = None if related is None else ServerMessageMetadata(related_request_id=related)
    try:
        answer = await session.send_request(_raw(method, params), RawResult, metadata=metadata)
    except ValidationError:
        # The details would quote the client's data.
        raise MCPError(code=INTERNAL_ERROR, message="the client's answer is not valid") from None
    return answer.root


def _raw(method: str, params: Params) -> Any:
    return RawMessage(method=method, params=params)


def _state(ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    # Private to the SDK, and the only state of a connection; a test pins it.
    return ctx.session._connection.state  # pyright: ignore[reportPrivateUsage]
