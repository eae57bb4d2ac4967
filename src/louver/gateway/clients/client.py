"""Who is served: what the gateway knows of a client, and how it says and asks something.

A client of 2025-11-25 is one connection. It can be told and asked things at any time, in the stream of
one of its requests or beside them. A client of 2026-07-28 is one request: it says itself who asks, hears
what belongs to the request, and is asked by an answer (`louver.gateway.clients.input_required`).
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
from louver.server.sdk_internals import connection_of

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
    """The addresses of a resource and of what it is a part of: the server may tell of a part of what is watched."""
    if not isinstance(uri, str):
        return
    yield uri
    for _ in range(MAX_URI_PARTS):
        uri, slash, _ = uri.rpartition("/")
        if not slash:
            return
        yield from (uri, uri + slash)


def _part(method: str, params: dict[str, Any]) -> str | None:
    """The part of a capability that a question wants beside the capability, if any."""
    if method == "elicitation/create":
        return "url" if params.get("mode") == "url" else "form"
    if method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        return "tools"
    return None


class RawMessage(BaseModel):
    """A message that the SDK sends as it is."""

    method: str
    params: dict[str, Any] | None = None


class RawResult(RootModel[dict[str, Any]]):
    """A result that the SDK gives as it came."""


class Client:
    """One client.

    Args:
        version: The protocol revision that it speaks.
        hello: Who it says that it is.
        session: Its connection, if it is of the handshake era.
        party: Who stands behind it, where others can be of the same.
    """

    def __init__(
        self, version: str, hello: Hello, session: ServerSession | None = None, party: Hashable | None = None
    ) -> None:
        self.version = version
        self.is_modern = is_modern(version)
        """Whether it is of the stateless era."""
        self.hello = hello
        self.log_level: str | None = None
        self.watched: set[str] = set()
        """The resources that it has subscribed to."""
        self.outbox = Outbox()
        """What it is still to be told."""
        self.has_gone = False
        """Whether it is there no more, though its requests may not know of that yet."""
        self._session = session
        self._party = party

    @property
    def party(self) -> Hashable:
        """Who stands behind it; equal for those of which it is known that they are of the same."""
        return self if self._party is None else self._party

    def go(self) -> None:
        """It has gone: it is told nothing more, and nothing is opened for it."""
        self.has_gone = True
        self.outbox.close()

    def check_is_there(self, upstream: str) -> None:
        """See that the client has not gone: nobody would take back what an upstream is asked, or opened, for it now.

        Raises:
            UpstreamUnavailable: It has.
        """
        if self.has_gone:
            raise UpstreamUnavailable(
                f"upstream {upstream!r} is not there: the connection was opened anew meanwhile; call again"
            )

    def check_can(self, method: str, params: Params) -> None:
        """See that the client takes questions of this kind.

        Raises:
            MCPError: It has not said so.
        """
        capability = _ASKS.get(method)
        if capability is None:
            return
        if capability not in self.hello.capabilities:
            raise MCPError(code=METHOD_NOT_FOUND, message=f"the client has no capability {capability!r}")
        part, said = _part(method, params or {}), members(self.hello.capabilities[capability])
        # That it can be asked with forms need not be said.
        if part is not None and part not in said and (said or part != "form"):
            raise MCPError(code=INVALID_PARAMS, message=f"the client has no capability '{capability}.{part}'")

    def takes(self, method: str, params: Params, default: str | None = None) -> bool:
        """Whether the client wants to hear a notification; of logs as `takes_level` has it."""
        if method == "notifications/message":
            return self.takes_level(params, default)
        return method != UPDATED or any(uri in self.watched for uri in wholes((params or {}).get("uri")))

    def takes_level(self, params: Params, default: str | None = None) -> bool:
        """Whether a log message is at or above the level that the client asked for.

        Args:
            params: The message.
            default: What counts for a client of the handshake era that has asked for none, if not all is for it.
        """
        level = (params or {}).get("level")
        wanted = self.log_level if self.log_level in LEVELS or self.is_modern else default
        if wanted not in LEVELS:
            # Nothing was asked for: all in the handshake era, none in the other.
            return not self.is_modern
        return level in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted)

    def hear(self, method: str, params: Params) -> None:
        """Tell it something beside its requests, without waiting for it."""
        if self._session is not None:
            self.outbox.put(method, params, partial(self._session.send_notification, _raw(method, params)))

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask it something beside its requests.

        Raises:
            MCPError: It answers with an error, or cannot be asked.
        """
        if self._session is None:
            raise MCPError(code=INVALID_REQUEST, message="no client can be asked outside of its requests")
        # Not before it has said that it is ready.
        await connection_of(self._session).initialized.wait()
        return await _asked(self, self._session, method, params, None)


def handshake_client(ctx: ServerRequestContext[Any, Any]) -> Client | None:
    """The client of a connection; `None` before `initialize`."""
    return _state(ctx).get(_KEY)


def open_client(ctx: ServerRequestContext[Any, Any], version: str) -> Client:
    """Remember who opens a connection by `initialize`."""
    params = dict(ctx.params or {})
    hello = Hello(version, members(params.get("clientInfo")), members(params.get("capabilities")), params)
    client = _state(ctx)[_KEY] = Client(version, hello, ctx.session)
    return client


def modern_client(ctx: ServerRequestContext[Any, Any]) -> Client:
    """Who asks in a request of 2026-07-28."""
    said = members((ctx.params or {}).get("_meta"))
    info, capabilities = said.get(CLIENT_INFO_META_KEY), said.get(CLIENT_CAPABILITIES_META_KEY)
    hello = Hello(ctx.protocol_version, members(info), members(capabilities))
    # Over standard input there is one.
    party = _HOST if ctx.request is None else principal_key()
    client = Client(ctx.protocol_version, hello, party=party)
    client.log_level = said.get(LOG_LEVEL_META_KEY)
    return client


def client_of(ctx: ServerRequestContext[Any, Any]) -> Client:
    """Whose request it is.

    Raises:
        MCPError: The connection is not open yet.
    """
    client = modern_client(ctx) if is_modern(ctx.protocol_version) else handshake_client(ctx)
    if client is None:
        raise MCPError(code=INVALID_PARAMS, message="Invalid request parameters", data="")
    return client


def when_closed(ctx: ServerRequestContext[Any, Any], leave: Any) -> None:
    """Have `leave()` awaited when the connection of a request ends."""
    connection_of(ctx.session).exit_stack.push_async_callback(leave)


class Caller(Protocol):
    """Who an upstream is called for, and who hears what it says meanwhile."""

    @property
    def client(self) -> Client:
        """Whose call it is."""
        ...

    async def heard(self, method: str, params: Params) -> None:
        """Tell the client something that belongs to the call."""
        ...

    async def paused(self) -> None:
        """The upstream has let go of the call's stream for a while: the client can do so too."""
        ...

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """Ask the client something because of the call.

        Raises:
            MCPError: It answers with an error, or cannot be asked.
        """
        ...


@dataclass(frozen=True, slots=True)
class Itself:
    """The gateway, when it calls for nobody.

    Args:
        client: What upstreams are told of it.
    """

    client: Client

    async def heard(self, method: str, params: Params) -> None:
        """Nobody hears it."""

    async def paused(self) -> None:
        """Nobody waits."""

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """Nobody can be asked.

        Raises:
            MCPError: Always.
        """
        raise MCPError(code=INVALID_REQUEST, message="there is no client to be asked")


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a client, while it is answered: what was said before the answer is told before it.

    Args:
        client: Whose it is.
        ctx: The request.
    """

    client: Client
    ctx: ServerRequestContext[Any, Any]

    async def heard(self, method: str, params: Params) -> None:
        """Tell the client something that belongs to the request, without waiting for it."""
        if method == "notifications/message" and not self.client.takes_level(params):
            return
        send = partial(self.ctx.session.send_notification, _raw(method, params), self.ctx.request_id)
        self.client.outbox.put(method, params, send)

    async def paused(self) -> None:
        """Let go of the client's stream, which takes it up again by itself."""
        if self.ctx.close_sse_stream is not None:
            await self.ctx.close_sse_stream()

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """Ask the client something because of the request.

        Raises:
            MCPError: It answers with an error, or cannot be asked.
        """
        await self.client.outbox.told()
        return await _asked(self.client, self.ctx.session, method, params, self.ctx.request_id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Tell what is still to be told; a client of one request ends with it."""
        try:
            # A refusal is an answer too; whoever has gone is told nothing.
            if kind is None or issubclass(kind, Exception):
                await self.client.outbox.told()
        finally:
            if self.client.is_modern:
                # It was this one request.
                self.client.outbox.close()


async def _asked(client: Client, session: ServerSession, method: str, params: Params, related: Any) -> dict[str, Any]:
    client.check_can(method, params)
    metadata = None if related is None else ServerMessageMetadata(related_request_id=related)
    try:
        answer = await session.send_request(_raw(method, params), RawResult, metadata=metadata)
    except ValidationError:
        # What is wrong would quote what the client said.
        raise MCPError(code=INTERNAL_ERROR, message="the client's answer is not valid") from None
    return answer.root


def _raw(method: str, params: Params) -> Any:
    return RawMessage(method=method, params=params)


def _state(ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
    return connection_of(ctx.session).state
