"""The clients of the gateway, and how to send them notifications and requests.

A handshake client (2025-11-25 and earlier) is one connection, open for both at any time. A 2026-07-28 client is one
request: it carries the client's identity, and its answer asks for input (`input_required.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, get_args

from louver.concurrency.idle import IdleClock
from louver.core.json import members
from louver.errors import UpstreamUnavailable
from louver.gateway.clients.outbox import Outbox
from louver.gateway.clients.revisions import is_modern
from louver.gateway.upstream.negotiation import ClientIdentity
from louver.jsonrpc.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, JsonRpcError
from louver.limits import MAX_URI_BYTES, MAX_URI_PARTS
from louver.protocol.mcp import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, LOG_LEVEL_META_KEY, RESOURCE_UPDATED
from louver.protocol.names import PREFIX
from louver.protocol.requests import LogLevel
from louver.server.call_record import CallRecord
from louver.server.request import ANONYMOUS, Identity

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from louver.catalogue.grants import PrincipalKey
    from louver.jsonrpc.codec import Params
    from louver.server.request import ClientConnection, Request

LOG_LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
_CAPABILITY_OF = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_CLIENT_KEY = f"{PREFIX}client"
_STDIO_OWNER = "host"


def resource_and_parents(uri: object) -> Iterator[str]:
    """The URIs of a resource and its parents: a server may report a change of a part of what is watched."""
    # A longer one cannot be watched.
    if not isinstance(uri, str) or len(uri) > MAX_URI_BYTES:
        return
    yield uri
    for _ in range(MAX_URI_PARTS):
        uri, slash, _ = uri.rpartition("/")
        if not slash:
            return
        yield from (uri, uri + slash)


def _capability_part(method: str, params: dict[str, Any]) -> str | None:
    """The part of a capability that a request to the client also needs, if any."""
    if method == "elicitation/create":
        return "url" if params.get("mode") == "url" else "form"
    if method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        return "tools"
    return None


class GatewayClient:
    def __init__(
        self,
        version: str,
        identity: ClientIdentity,
        connection: ClientConnection | None = None,
        owner: Hashable | None = None,
        peer: Hashable = None,
        principal: PrincipalKey | None = None,
    ) -> None:
        self.version = version
        self.is_modern = is_modern(version)  # speaks 2026-07-28
        self.identity = identity
        self.peer = peer  # whose budget it uses: a principal, or an address
        self.principal = principal  # whose logins it uses; `None`: the gateway's
        self.log_level: str | None = None
        self.watched: set[str] = set()  # URIs of subscribed resources
        self.outbox = Outbox()
        self.clock = IdleClock()  # of its requests to any upstream
        self.is_closed = False  # though its requests may not know it yet
        self._connection = connection
        self._owner = owner

    @property
    def owner(self) -> Hashable:
        """Equal for clients that are known to belong to the same user or host."""
        return self if self._owner is None else self._owner

    def close(self) -> None:
        """Mark it as gone: it gets no notifications, and nothing is opened for it."""
        self.is_closed = True
        self.outbox.close()

    def check_is_open(self, upstream: str) -> None:
        """Raise if the client has gone: nothing would later undo what is requested or opened for it now."""
        if self.is_closed:
            raise UpstreamUnavailable(
                f"upstream {upstream!r} is unavailable: the client has connected again meanwhile; call again"
            )

    def check_capability(self, method: str, params: Params) -> None:
        """Raise if the client has no capability for this request."""
        capability = _CAPABILITY_OF.get(method)
        if capability is None:
            return
        if capability not in self.identity.capabilities:
            raise JsonRpcError(code=METHOD_NOT_FOUND, message=f"the client has no capability {capability!r}")
        part, parts = _capability_part(method, params or {}), members(self.identity.capabilities[capability])
        # Without parts, `elicitation` means forms.
        if part is not None and part not in parts and (parts or part != "form"):
            raise JsonRpcError(code=INVALID_PARAMS, message=f"the client has no capability '{capability}.{part}'")

    def accepts(self, method: str, params: Params, default: str | None = None) -> bool:
        if method == "notifications/message":
            return self.accepts_level(params, default)
        return method != RESOURCE_UPDATED or any(
            uri in self.watched for uri in resource_and_parents((params or {}).get("uri"))
        )

    def accepts_level(self, params: Params, default: str | None = None) -> bool:
        """Whether a log message has the client's level; `default` is that of handshake clients that set none."""
        level = (params or {}).get("level")
        wanted = self.log_level if self.log_level in LOG_LEVELS or self.is_modern else default
        if wanted not in LOG_LEVELS:
            # No level is set: handshake clients get every message, 2026-07-28 clients none.
            return not self.is_modern
        return level in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted)

    def notify(self, method: str, params: Params) -> None:
        """Queue a notification that belongs to no request."""
        if self._connection is not None:
            self.outbox.put(method, params, partial(self._connection.notify, method, params))

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask the client something that belongs to none of its requests."""
        if self._connection is None:
            raise JsonRpcError(code=INVALID_REQUEST, message="no client can be asked outside of its requests")
        self.check_capability(method, params)
        return await self._connection.ask(method, params)


def handshake_client(request: Request) -> GatewayClient | None:
    """The client of a connection; `None` before `initialize`."""
    return request.connection.state.get(_CLIENT_KEY)


def open_client(request: Request, version: str) -> GatewayClient:
    params = dict(request.params)
    identity = ClientIdentity(version, members(params.get("clientInfo")), members(params.get("capabilities")), params)
    client = request.connection.state[_CLIENT_KEY] = GatewayClient(
        version, identity, request.connection, peer=request.peer, principal=request.identity.key
    )
    return client


def modern_client(request: Request) -> GatewayClient:
    meta = members(request.params.get("_meta"))
    info, capabilities = meta.get(CLIENT_INFO_META_KEY), meta.get(CLIENT_CAPABILITIES_META_KEY)
    identity = ClientIdentity(request.revision, members(info), members(capabilities))
    # Over stdio there is only one host.
    owner = _STDIO_OWNER if request.address is None else request.identity.key
    client = GatewayClient(request.revision, identity, owner=owner, peer=request.peer, principal=request.identity.key)
    client.log_level = meta.get(LOG_LEVEL_META_KEY)
    return client


def client_of(request: Request) -> GatewayClient:
    client = modern_client(request) if request.is_modern else handshake_client(request)
    if client is None:
        raise JsonRpcError(code=INVALID_PARAMS, message="Invalid request parameters", data="")
    return client


class Caller(Protocol):
    """The client side of a call: it gets what the upstream sends meanwhile."""

    @property
    def client(self) -> GatewayClient: ...

    @property
    def identity(self) -> Identity: ...

    @property
    def record(self) -> CallRecord: ...

    @property
    def is_live(self) -> bool:
        """Whether it waits for the upstream, also if an answer is kept."""
        ...

    async def notify(self, method: str, params: Params) -> None: ...

    async def pause(self) -> None:
        """The upstream has closed the call's stream for a while: the client's stream can close too."""
        ...

    async def ask(self, method: str, params: Params) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class GatewayCaller:
    """The gateway as caller, without a client."""

    client: GatewayClient
    identity: Identity = ANONYMOUS
    record: CallRecord = field(default_factory=CallRecord)
    is_live: bool = True

    async def notify(self, method: str, params: Params) -> None:
        """Nothing: no client to notify."""

    async def pause(self) -> None:
        """Nothing: no client's stream to close."""

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        raise JsonRpcError(code=INVALID_REQUEST, message="there is no client to be asked")


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """One request of a client, while it is answered; its notifications are sent before the answer."""

    client: GatewayClient
    request: Request

    @property
    def identity(self) -> Identity:
        return self.request.identity

    @property
    def record(self) -> CallRecord:
        return self.request.record

    @property
    def is_live(self) -> bool:
        return self.request.is_live

    async def notify(self, method: str, params: Params) -> None:
        if method == "notifications/message" and not self.client.accepts_level(params):
            return
        send = partial(self.request.connection.notify, method, params, self.request.id)
        self.client.outbox.put(method, params, send, self.request.id)

    async def pause(self) -> None:
        """Close the client's stream; the client resumes it by itself."""
        if self.request.pause is not None:
            await self.request.pause()

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        await self.client.outbox.flush(self.request.id)
        self.client.check_capability(method, params)
        return await self.request.connection.ask(method, params, self.request.id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            # Not if cancelled: the client has gone then. An error is an answer.
            if kind is None or issubclass(kind, Exception):
                await self.client.outbox.flush(self.request.id)
        finally:
            if self.client.is_modern:
                # A 2026-07-28 client is this one request.
                self.client.outbox.close()
