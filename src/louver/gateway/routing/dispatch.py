"""One request to one upstream, converted between protocol revisions.

If the connection is lost, lists, reads, and tools that declare it safe are sent a second time; nothing else is.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from louver.core.json import members
from louver.errors import LoginRequired, UpstreamError, UpstreamUnavailable
from louver.gateway.back.fan_out.subscriptions import Subscriptions
from louver.gateway.back.fan_out.task_bindings import TASK_LIST, TASK_METHODS
from louver.gateway.clients.input_required import REQUEST_STATE, resolve_input_required
from louver.gateway.clients.revisions import handshake_result, modern_result, opening_for_handshake, opening_for_modern
from louver.limits import LEFT_OUT_S
from louver.steps.policy.raw import Raw
from louver.steps.refusals import error_result, unknown_tool
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, JsonRpcError
from louver.wire.mcp import INPUT_REQUIRED_METHODS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from louver.gateway.back.lists.derived_tools import DerivedTools
    from louver.gateway.back.lists.kept_catalogue import KeptAnswers
    from louver.gateway.back.logins import LoginStep
    from louver.gateway.back.policy_guard import Guard
    from louver.gateway.back.session import Session
    from louver.gateway.back.upstream import Upstream
    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.gateway.clients.input_required import PendingCalls
    from louver.steps.call_record import SharedRun

_RETRYABLE_METHODS = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
    | {"resources/read", "prompts/get", "completion/complete"}
)


# What they answer is the output of a tool.
_RUNNING_METHODS = ("tools/call", "tasks/result")

# Requests that a session merges for all of its clients.
_SUBSCRIPTION_METHODS = {
    "resources/subscribe": Subscriptions.watch,
    "resources/unsubscribe": Subscriptions.unwatch,
    "logging/setLevel": Subscriptions.set_level,
}


class Dispatcher:
    """Sends requests to upstreams, and converts their answers to the client's revision."""

    def __init__(
        self,
        pending_calls: PendingCalls,
        guards: Mapping[str, Guard | None],
        derived_tools: Mapping[str, DerivedTools] | None = None,  # of the upstreams that have tool rules
        log_in: Mapping[str, LoginStep] | None = None,  # of the upstreams at which callers log in for themselves
    ) -> None:
        self._pending_calls = pending_calls
        self._guards = guards  # after a reload with another guard a request is refused: its audit would be wrong
        self._derived_tools = derived_tools or {}
        self._log_in = log_in or {}

    def send(
        self, upstream: Upstream, caller: Caller, method: str, params: dict[str, Any]
    ) -> Awaitable[dict[str, Any]]:
        """The answer, after a second attempt where that is safe; for a failed tool call, an error result."""
        if (log_in := self._log_in.get(upstream.name)) is not None:
            return self._send_after_login(log_in, upstream, caller, method, params)
        return self._send(upstream, caller, method, params)

    def log_in_tools(self, upstream: Upstream) -> list[dict[str, Any]]:
        """What an upstream lists to callers who have to log in for themselves first."""
        log_in = self._log_in.get(upstream.name)
        return [] if log_in is None else [log_in.tool]

    async def late_tools(self, upstream: Upstream, caller: Caller) -> list[dict[str, Any]]:
        """The tools of an upstream that is opening, from another run: the caller can wait no longer."""
        kept = upstream.of(caller.client).kept_for(caller.client, is_late=True)
        result = None if kept is None else await _listed(kept, upstream, caller.client)
        if result is not None and (tools := self._derived_tools.get(upstream.name)) is not None:
            result = await tools.visible_list(result, caller.identity.principal)
        return [] if result is None else result["tools"]

    async def _send_after_login(
        self, log_in: LoginStep, upstream: Upstream, caller: Caller, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return await log_in.answer(caller, method, params, partial(self._send, upstream, caller, method))
        except UpstreamError as error:
            return _failure_answer(error, caller, method)

    async def _send(self, upstream: Upstream, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer by the tool rules; LoginRequired if callers log in for themselves."""
        tools, result = self._derived_tools.get(upstream.name), None
        try:
            if tools is not None and method == "tools/call":
                params = {**params, "name": await self._tool_name(tools, upstream, caller, params["name"])}
            try:
                result = await self.call_once(upstream, caller, method, params)
            except UpstreamUnavailable as error:
                if isinstance(error, LoginRequired) or not _is_repeatable(upstream, caller, method, params):
                    raise
            if result is None:
                result = await self.call_once(upstream, caller, method, params)
            if tools is not None and method == "tools/list":
                result = await tools.visible_list(result, caller.identity.principal)
        except UpstreamError as error:
            if isinstance(error, LoginRequired) and upstream.name in self._log_in:
                raise
            return _failure_answer(error, caller, method)
        return result

    async def _tool_name(self, tools: DerivedTools, upstream: Upstream, caller: Caller, name: str) -> str:
        """The upstream's name of a tool; tools that are missing or hidden from the caller give the same error."""
        guard = self._guards.get(upstream.name)
        session = await upstream.of(caller.client).session(caller.client)
        try:
            found = await tools.find(session, caller.identity.principal, name)
        except JsonRpcError as error:
            raise error if guard is None else guard.enforcer.refusal(error, caller.record) from None
        if found is None:
            raise unknown_tool()
        return found

    async def call_once(
        self, upstream: Upstream, caller: Caller, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """The answer, without a second attempt."""
        guard, client = self._guards.get(upstream.name), caller.client
        if method == "tools/list" and guard is None and can_be_kept(caller, method, params):
            kept = await _soon_or_kept(upstream, client)
            if kept is not None and (result := await _listed(kept, upstream, client)) is not None:
                return result
        own = upstream.of(client)
        session = own.session_to_use(client) or await own.session(client)
        if session.comparing is not None and not session.comparing.done() and method == "tools/call":
            # A list that does not come stops no call.
            await asyncio.wait({session.comparing}, timeout=LEFT_OUT_S)
        if own.guard is not guard:
            raise UpstreamUnavailable(f"upstream {upstream.name!r} has been reconfigured: call again")
        send = partial(self._converted, session, method, (upstream.name, guard, caller.identity))
        if (run := caller.record.run) is not None and method == "tools/call":
            send = partial(_shared, run, send)
        if guard is not None:
            answer = await guard.send(session, caller, method, params, send)
        else:
            if method in TASK_METHODS:
                upstream.tasks.check(client.peer, params)
            # Not only once it answers: a call that is cancelled, or fails, may have run.
            caller.record.has_run = caller.record.has_run or method in _RUNNING_METHODS
            answer = await send(caller, params)
            if "task" in answer or method == TASK_LIST:
                answer = upstream.tasks.bind(client.peer, method, answer)
        return answer if upstream.principals is None else _uncached_for_others(answer)

    def _converted(
        self, session: Session, method: str, owner: object, caller: Caller, params: dict[str, Any]
    ) -> Awaitable[dict[str, Any]]:
        """The answer of a session, in the client's revision."""
        if method in _SUBSCRIPTION_METHODS:
            return _SUBSCRIPTION_METHODS[method](session.subscriptions, caller, params)
        if session.is_modern == caller.client.is_modern:
            return session.call(caller, method, params)
        if session.is_modern:
            return _for_handshake(session, caller, method, params)
        return self._for_modern(session, caller, method, params, owner)

    async def _for_modern(
        self, session: Session, caller: Caller, method: str, params: dict[str, Any], owner: object
    ) -> dict[str, Any]:
        if method in INPUT_REQUIRED_METHODS:
            send = partial(_send_as, session, method, params)
            result = await self._pending_calls.call(caller, method, params, owner, send)
            if result.get("resultType") == "input_required":
                return result
        else:
            result = await session.call(caller, method, params)
        return modern_result(method, result, session.negotiation.opening.get("serverInfo"))


def _shared(
    run: SharedRun, send: Callable[..., Awaitable[dict[str, Any]]], caller: Caller, params: dict[str, Any]
) -> Awaitable[dict[str, Any]]:
    return run.answer(partial(send, caller, params))


def _is_repeatable(upstream: Upstream, caller: Caller, method: str, params: dict[str, Any]) -> bool:
    # A resumed call cannot start over.
    return REQUEST_STATE not in params and (
        method in _RETRYABLE_METHODS or upstream.of(caller.client).is_retryable(method, params)
    )


async def _for_handshake(session: Session, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
    result = await resolve_input_required(caller, params, partial(session.call, caller, method))
    return handshake_result(method, result)


async def _send_as(session: Session, method: str, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
    return await session.call(caller, method, params)


@asynccontextmanager
async def watching(caller: Caller, upstreams: Mapping[str, Upstream]) -> AsyncGenerator[None]:
    """Watch resources meanwhile, for one 2026-07-28 request; those that cannot be watched count as unchanging."""
    uris: dict[Upstream, list[str]] = {}
    for uri, upstream in upstreams.items():
        uris.setdefault(upstream, []).append(uri)
    try:
        for upstream, wanted in uris.items():
            with suppress(UpstreamError):
                session = await upstream.of(caller.client).session(caller.client)
                guard = upstream.guard
                covered = [uri for uri in wanted if guard is None or guard.enforcer.policy.covers(uri)]
                await session.subscriptions.watch_all(caller, covered)
        yield
    finally:
        for upstream in uris:
            await upstream.remove_client(caller.client)


def can_be_kept(caller: Caller, method: str, params: Mapping[str, Any]) -> bool:
    """Whether what is kept of the last run can answer a request while an upstream opens: a list without a cursor."""
    return method == "tools/list" and not caller.is_live and params.keys() <= {"_meta"}


async def _soon_or_kept(upstream: Upstream, client: GatewayClient) -> KeptAnswers | None:
    """What is kept of the last run; what is kept of another one, if the upstream does not open soon."""
    own = upstream.of(client)
    kept = own.kept_for(client)
    if kept is None and own.kept_for(client, is_late=True) is not None:
        with suppress(UpstreamError):
            await own.session(client, LEFT_OUT_S)
        kept = own.kept_for(client, is_late=True)
    return kept


async def _listed(kept: KeptAnswers, upstream: Upstream, client: GatewayClient) -> dict[str, Any] | None:
    """The kept result of `tools/list`, unless the upstream has opened meanwhile."""
    result = await kept.list_tools(client)
    return result if upstream.of(client).kept_for(client, is_late=True) is kept else None


async def opening_of(upstream: Upstream, client: GatewayClient, *, is_live: bool = True) -> dict[str, Any]:
    """An upstream's result of `initialize` or `server/discover`, in the client's revision and as its policy allows."""
    kept = None if is_live else await _soon_or_kept(upstream, client)
    negotiation = (await upstream.of(client).session(client) if kept is None else kept).negotiation
    opening = negotiation.opening
    if upstream.guard is not None:
        opening = upstream.guard.enforcer.visible_handshake(Raw(opening)).value
    if negotiation.is_modern == client.is_modern:
        return opening if upstream.principals is None else _uncached_for_others(opening)
    return opening_for_handshake(opening) if negotiation.is_modern else opening_for_modern(opening)


def _uncached_for_others(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer by a caller's own credentials, which no cache may give to others, whatever the upstream says."""
    return {**answer, "cacheScope": "private"} if "cacheScope" in answer else answer


def is_unavailable(error: JsonRpcError) -> bool:
    """Whether an error of `upstream_problem` says that the upstream is unavailable."""
    return members(members(error.data).get("error")).get("code") == UpstreamUnavailable.code


def upstream_problem(error: UpstreamError) -> JsonRpcError:
    """The protocol error for an upstream that failed."""
    return JsonRpcError(code=INTERNAL_ERROR, message=error.message, data={"error": error.to_json()})


def _failure_answer(error: UpstreamError, caller: Caller, method: str) -> dict[str, Any]:
    """The answer for an upstream that failed: an error, or for a tool a result that the model can read."""
    if method != "tools/call":
        raise upstream_problem(error) from None
    return error_result(error, {"resultType": "complete"} if caller.client.is_modern else {})
