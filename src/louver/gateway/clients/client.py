"""The clients of the gateway, and how to send them notifications and requests.

A handshake client (2025-11-25 and earlier) is one connection, open for both at any time. A 2026-07-28 client is one
request: it carries the client's identity, and its answer asks for input (`input_required.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, get_args

from louver.core.cached import cached_property
from louver.core.json import members
from louver.errors import UpstreamUnavailable
from louver.gateway.clients.outbox import Outbox
from louver.gateway.clients.revisions import GATEWAY_IDENTITY, ClientIdentity
from louver.limits import MAX_URI_BYTES
from louver.steps.call_record import CallRecord
from louver.steps.request import ANONYMOUS, Identity
from louver.wire.jsonrpc.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, JsonRpcError
from louver.wire.mcp import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LIST_CHANGED_METHODS,
    LOG_LEVEL_META_KEY,
    MODERN_VERSIONS,
    RESOURCE_UPDATED,
)
from louver.wire.names import PREFIX
from louver.wire.requests import LogLevel

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from louver.catalogue.grants import PrincipalKey
    from louver.concurrency.backoff import Pace
    from louver.steps.request import ClientConnection, Request
    from louver.wire.jsonrpc.codec import Params

MAX_URI_PARTS = 64
"""Parts of a resource's URI that are tried as the URI of a watched parent."""


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
        identity: ClientIdentity | None,  # `None`: it is read from the request once it is needed
        connection: ClientConnection | None = None,
        owner: Hashable | None = None,
        peer: Hashable = None,
        principal: PrincipalKey | None = None,
        meta: dict[str, Any] | None = None,  # of the request that is the client, in 2026-07-28
        list_pace: Pace | None = None,  # of all clients that are notified of the same lists
    ) -> None:
        self.version = version
        self.is_modern = version in MODERN_VERSIONS  # speaks 2026-07-28
        self.peer = peer  # whose budget it uses: a principal, or an address
        self.principal = principal  # whose logins it uses; `None`: the gateway's
        self.watched: set[str] = set()  # URIs of subscribed resources
        self.open_calls = 0  # of any upstream
        self.last_used = monotonic()  # by a request to any upstream
        self.is_closed = False  # though its requests may not know it yet
        self._identity = identity
        self._log_level: str | None = None
        self._connection = connection
        self._owner = owner
        self._meta = meta or {}
        self._list_pace = list_pace

    @property
    def identity(self) -> ClientIdentity:
        if self._identity is None:
            meta = self._meta
            info, capabilities = meta.get(CLIENT_INFO_META_KEY), meta.get(CLIENT_CAPABILITIES_META_KEY)
            self._identity = ClientIdentity(self.version, members(info), members(capabilities))
        return self._identity

    @property
    def log_level(self) -> str | None:
        return self._meta.get(LOG_LEVEL_META_KEY) if self._log_level is None else self._log_level

    @log_level.setter
    def log_level(self, level: str) -> None:
        self._log_level = level

    @cached_property
    def outbox(self) -> Outbox:
        """What it is sent, in order; of 2026-07-28 each request has its own."""
        return Outbox()

    @property
    def idle_s(self) -> float:
        """Seconds since it has used any upstream; 0 while it does."""
        return 0.0 if self.open_calls else monotonic() - self.last_used

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
            self.outbox.put(method, params, partial(self._send, self._connection, method, params))

    async def _send(self, connection: ClientConnection, method: str, params: Params) -> None:
        if self._list_pace is not None and method in LIST_CHANGED_METHODS:
            await self._list_pace.turn()
        await connection.notify(method, params)

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask the client something that belongs to none of its requests."""
        if self._connection is None:
            raise JsonRpcError(code=INVALID_REQUEST, message="no client can be asked outside of its requests")
        self.check_capability(method, params)
        return await self._connection.ask(method, params)


def handshake_client(request: Request) -> GatewayClient | None:
    """The client of a connection; `None` before `initialize`."""
    return request.connection.state.get(_CLIENT_KEY)


def open_client(request: Request, version: str, list_pace: Pace) -> GatewayClient:
    params = dict(request.params)
    identity = ClientIdentity(version, members(params.get("clientInfo")), members(params.get("capabilities")), params)
    client = request.connection.state[_CLIENT_KEY] = GatewayClient(
        version,
        identity,
        request.connection,
        peer=request.peer,
        principal=request.identity.key,
        list_pace=list_pace,
    )
    return client


def known_client(request: Request) -> GatewayClient | None:
    """The client of a request, which is looked up once; `None` before `initialize`, when requests are refused."""
    record, key = request.record, request.identity.key
    if record.client is None and request.is_modern:
        # Over stdio there is only one host.
        owner = _STDIO_OWNER if request.address is None else key
        meta = members(request.params.get("_meta"))
        record.client = GatewayClient(request.revision, None, owner=owner, peer=request.peer, principal=key, meta=meta)
    elif record.client is None:
        record.client = handshake_client(request)
    return record.client


def client_of(request: Request) -> GatewayClient:
    if (client := known_client(request)) is None:
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

    client: GatewayClient = field(default_factory=lambda: GatewayClient(GATEWAY_IDENTITY.version, GATEWAY_IDENTITY))
    identity: Identity = ANONYMOUS
    record: CallRecord = field(default_factory=CallRecord)
    is_live: bool = True

    async def notify(self, method: str, params: Params) -> None:
        """Nothing: no client to notify."""

    async def pause(self) -> None:
        """Nothing: no client's stream to close."""

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        raise JsonRpcError(code=INVALID_REQUEST, message="there is no client to be asked")


class ClientRequest:
    """One request of a client, while it is answered; its notifications are sent before the answer."""

    def __init__(self, client: GatewayClient, request: Request) -> None:
        self.client = client
        self.request = request
        self.identity = request.identity
        self.record = request.record
        self.is_live = request.is_live
        self._outbox = None if client.is_modern else client.outbox
        self._is_over = False

    async def notify(self, method: str, params: Params) -> None:
        if self._is_over or (method == "notifications/message" and not self.client.accepts_level(params)):
            return
        send = partial(self.request.connection.notify, method, params, self.request.id)
        if self._outbox is None:
            self._outbox = Outbox()
        self._outbox.put(method, params, send, self.request.id)

    async def pause(self) -> None:
        """Close the client's stream; the client resumes it by itself."""
        if self.request.pause is not None:
            await self.request.pause()

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        await self._flush()
        self.client.check_capability(method, params)
        return await self.request.connection.ask(method, params, self.request.id)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            # Not if cancelled: the client has gone then. An error is an answer.
            if self._outbox is not None and (kind is None or issubclass(kind, Exception)):
                await self._flush()
        finally:
            if self.client.is_modern:
                self._is_over = True
                if self._outbox is not None:
                    self._outbox.close()

    async def _flush(self) -> None:
        if self._outbox is not None:
            await self._outbox.flush(self.request.id)
