"""The steps of this package in front of a server of the MCP SDK, as one middleware of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary

from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp.server.connection import NotifyOnlyOutbound
from mcp.server.subscriptions import ListenHandler, ToolsListChanged
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, RootModel, ValidationError

from louver.core.cached import cached_property
from louver.core.json import members, strings
from louver.policy.principal import Principal
from louver.sdk.internals import bus_of, connection_of
from louver.sdk.outbound import ConnectionOutbound, filtered_session
from louver.steps.request import ANONYMOUS, Identity, Request
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, JsonRpcError, invalid_params
from louver.wire.names import PREFIX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from mcp.server import Server
    from mcp.server.auth.provider import AccessToken
    from mcp.server.connection import Connection as SdkSideConnection
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.subscriptions import ServerEvent

    from louver.steps.policy.message_filter import MessageFilter
    from louver.steps.request import Next

    Context = ServerRequestContext[Any, Any]

_OPENING: Final = f"{PREFIX}opening"


class StepMiddleware:
    """A middleware of the SDK that answers by steps, which end with `call_server`.

    Args:
        answer: The steps.
        identify: The caller of a request, instead of by its access token.
        message_filter: The filter of a policy, for what the server sends besides its answers.
    """

    def __init__(
        self,
        answer: Next,
        *,
        identify: Callable[[Context], Identity] | None = None,
        message_filter: MessageFilter | None = None,
    ) -> None:
        self._answer = answer
        self._identify = token_identity if identify is None else identify
        self._message_filter = message_filter
        # In 2026-07-28 the SDK makes a connection for each request; its outbound is that of the stream.
        self._shared: WeakKeyDictionary[NotifyOnlyOutbound, dict[str, Any]] = WeakKeyDictionary()

    async def __call__(self, ctx: Context, call_next: CallNext) -> dict[str, Any]:
        if self._message_filter is not None:
            ctx = replace(ctx, session=filtered_session(ctx, self._message_filter))
        try:
            return await self._answer(self._request(ctx, call_next))
        except JsonRpcError as error:
            raise MCPError(error.code, error.message, error.data) from None

    def _request(self, ctx: Context, call_next: CallNext) -> Request:
        params = ctx.params if ctx.params is None or isinstance(ctx.params, dict) else dict(ctx.params)
        return Request(
            ctx.method,
            params or {},
            ctx.request_id,
            ctx.protocol_version,
            SdkConnection(ctx, call_next, self._shared),
            self._identify(ctx),
            None if ctx.request is None else getattr(getattr(ctx.request, "client", None), "host", "none"),
            ctx.close_sse_stream,
        )


async def call_server(request: Request) -> dict[str, Any]:
    """The server's own answer to a request that came by a `StepMiddleware`."""
    connection = cast("SdkConnection", request.connection)
    ctx = connection.ctx
    if request.method != ctx.method or request.params is not ctx.params:
        meta = ctx.meta
        if meta is not None:
            kept = members(request.params.get("_meta"))
            meta = cast("Any", {key: value for key, value in meta.items() if key in kept})
        ctx = replace(ctx, method=request.method, params=request.params, meta=meta)
    with _jsonrpc_errors():
        return result_dict(await connection.call_next(ctx))


@contextmanager
def _jsonrpc_errors() -> Generator[None]:
    """The SDK's errors as ours."""
    try:
        yield
    except MCPError as error:
        raise JsonRpcError(error.code, error.message, error.data) from None
    except ValidationError:
        # The details would quote the client's data.
        raise invalid_params() from None


def result_dict(result: HandlerResult) -> dict[str, Any]:
    """The wire object of a result: a new dict, so its top level may be changed."""
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dict(result or {})


def token_identity(_: Context) -> Identity:
    token = get_access_token()
    return ANONYMOUS if token is None else identity_of(token)


def principal_identity(principal: Principal | None) -> Identity:
    """The identity of a principal that the server's author names; by its roles alone it owns nothing."""
    if principal is None:
        return ANONYMOUS
    is_named = principal.subject is not None or principal.client is not None
    return Identity(principal, (principal.client or "", None, principal.subject) if is_named else None)


def identity_of(token: AccessToken) -> Identity:
    """The subject and `iss`, `client_id`, the scopes and the claim `roles`. Source: PRIVACY.md, "Policy file"."""
    key = client, issuer, subject = principal_components(token)
    if subject is not None and issuer is not None:
        # Subjects are unique within their issuer only. No issuer has a fragment (RFC 8414), so this is one name.
        subject = f"{issuer}#{subject}"
    roles = words((token.claims or {}).get("roles"))
    return Identity(Principal(subject, client or None, frozenset(token.scopes), roles), key, token.expires_at)


def words(claim: Any) -> frozenset[str]:
    """The texts of a list, or the words of one text."""
    return frozenset(claim.split() if isinstance(claim, str) else strings(claim))


class _Message(BaseModel):
    method: str
    params: dict[str, Any] | None = None


class _Result(RootModel[dict[str, Any]]):
    pass


class SdkConnection:
    """The connection of a request of the SDK."""

    def __init__(
        self, ctx: Context, call_next: CallNext, shared: WeakKeyDictionary[NotifyOnlyOutbound, dict[str, Any]]
    ) -> None:
        self.ctx = ctx
        self.call_next = call_next
        self._all_shared = shared

    @cached_property
    def _opened(self) -> SdkSideConnection:
        return connection_of(self.ctx.session)

    @property
    def state(self) -> dict[str, Any]:
        return self._opened.state

    @property
    def shared(self) -> dict[str, Any] | None:
        stream = self._opened.outbound
        if isinstance(stream, ConnectionOutbound):
            stream = stream.wrapped
        return self._all_shared.setdefault(stream, {}) if isinstance(stream, NotifyOnlyOutbound) else None

    @property
    def is_open(self) -> bool:
        return self._opened.initialize_accepted

    @property
    def opening(self) -> dict[str, Any] | None:
        params = self.ctx.session.client_params
        if params is None:
            return None
        # `initialize` may come again.
        dumped = self.state.get(_OPENING)
        if dumped is None or dumped[0] is not params:
            dumped = params, params.model_dump(by_alias=True, mode="json", exclude_none=True)
            self.state[_OPENING] = dumped
        return dumped[1]

    def when_closed(self, callback: Callable[[], Awaitable[None]]) -> None:
        self._opened.exit_stack.push_async_callback(callback)

    async def notify(self, method: str, params: dict[str, Any] | None, request_id: int | str | None = None) -> None:
        message = cast("Any", _Message(method=method, params=params))
        await self.ctx.session.send_notification(message, request_id)

    async def ask(
        self, method: str, params: dict[str, Any] | None, request_id: int | str | None = None
    ) -> dict[str, Any]:
        if request_id is None:
            # Not before `notifications/initialized`.
            await self._opened.initialized.wait()
        metadata = None if request_id is None else ServerMessageMetadata(related_request_id=request_id)
        message = cast("Any", _Message(method=method, params=params))
        try:
            answer = await self.ctx.session.send_request(message, _Result, metadata=metadata)
        except MCPError as error:
            raise JsonRpcError(error.code, error.message, error.data) from None
        except ValidationError:
            # The details would quote the client's data.
            raise JsonRpcError(INTERNAL_ERROR, "the client's answer is not valid") from None
        return answer.root

    def on_tools_changed(self, callback: Callable[[], None]) -> None:
        if (outbound := ConnectionOutbound.of(self._opened)) is not None:
            outbound.on_tools_changed = callback


def on_tools_published(server: Server[Any], callback: Callable[[], None]) -> Callable[[], None]:
    """Call it whenever the server publishes that its tools changed; returns what unsubscribes."""
    entry = server.get_request_handler("subscriptions/listen")
    if entry is None or not isinstance(entry.handler, ListenHandler):
        return lambda: None

    def on_event(event: ServerEvent) -> None:
        if isinstance(event, ToolsListChanged):
            callback()

    return bus_of(entry.handler).subscribe(on_event)
