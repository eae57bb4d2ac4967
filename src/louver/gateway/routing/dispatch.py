"""One request to one upstream, converted between protocol revisions.

If the connection is lost, lists, reads, and tools that declare it safe are sent a second time; nothing else is.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import INTERNAL_ERROR
from mcp_types.methods import INPUT_REQUIRED_METHODS

from louver.core.json import members
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.clients.input_required import STATE, answered
from louver.gateway.clients.revisions import handshake_result, modern_result, opening_for_handshake, opening_for_modern
from louver.gateway.upstream.subscriptions import Subscriptions
from louver.server.policy.raw import Raw
from louver.server.refusals import error_result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from louver.gateway.clients.client import Caller, Client
    from louver.gateway.clients.input_required import Parked
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.session import Session
    from louver.gateway.upstream.upstream import Upstream

_SAFE = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
    | {"resources/read", "prompts/get", "completion/complete"}
)


# Requests that a session merges for all of its clients.
_WANTS = {
    "resources/subscribe": Subscriptions.watch,
    "resources/unsubscribe": Subscriptions.unwatch,
    "logging/setLevel": Subscriptions.set_level,
}


class Calls:
    """Sends requests to upstreams, and converts their answers to the client's revision."""

    def __init__(self, parked: Parked, guards: Mapping[str, Guard | None]) -> None:
        self._parked = parked
        self._guards = guards  # after a reload with another guard a request is refused: its audit would be wrong

    async def send(self, upstream: Upstream, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer, after a second attempt where that is safe; for a failed tool call, an error result."""
        try:
            return await self.ask(upstream, turn, method, params)
        except UpstreamUnavailable as error:
            # A resumed call cannot start over.
            if STATE in params or (method not in _SAFE and not upstream.is_safe(method, params)):
                return _failed(error, turn, method)
        except UpstreamError as error:
            return _failed(error, turn, method)
        try:
            return await self.ask(upstream, turn, method, params)
        except UpstreamError as error:
            return _failed(error, turn, method)

    async def ask(self, upstream: Upstream, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer, without a second attempt."""
        session = await upstream.session(turn.client)
        guard = self._guards.get(upstream.name)
        if upstream.guard is not guard:
            raise UpstreamUnavailable(f"upstream {upstream.name!r} has been configured anew: call again")
        owner = (upstream.name, guard, turn.identity.key)
        if guard is None:
            return await self._asked(session, turn, method, params, owner)

        async def ask(quiet: Caller, said: dict[str, Any]) -> dict[str, Any]:
            return await self._asked(session, quiet, method, said, owner)

        return await guard.send(session, turn, method, params, ask)

    async def _asked(
        self, session: Session, turn: Caller, method: str, params: dict[str, Any], owner: object
    ) -> dict[str, Any]:
        if method in _WANTS:
            return await _WANTS[method](session.subscriptions, turn, params)
        if session.is_modern == turn.client.is_modern:
            return await session.call(turn, method, params)
        if session.is_modern:
            result = await answered(turn, params, partial(session.call, turn, method))
            return handshake_result(method, result)
        if method in INPUT_REQUIRED_METHODS:
            send = partial(_sent, session, method, params)
            result = await self._parked.call(turn, method, params, owner, send)
            if result.get("resultType") == "input_required":
                return result
        else:
            result = await session.call(turn, method, params)
        return modern_result(method, result, session.opened.opening.get("serverInfo"))


async def _sent(session: Session, method: str, params: dict[str, Any], turn: Caller) -> dict[str, Any]:
    return await session.call(turn, method, params)


@asynccontextmanager
async def watching(turn: Caller, upstreams: Mapping[str, Upstream]) -> AsyncGenerator[None]:
    """Watch resources meanwhile, for one 2026-07-28 request; those that cannot be watched count as unchanging."""
    uris: dict[Upstream, list[str]] = {}
    for uri, upstream in upstreams.items():
        uris.setdefault(upstream, []).append(uri)
    try:
        for upstream, wanted in uris.items():
            with suppress(UpstreamError):
                session = await upstream.session(turn.client)
                guard = upstream.guard
                covered = [uri for uri in wanted if guard is None or guard.policed.policy.covers(uri)]
                await session.subscriptions.watch_all(turn, covered)
        yield
    finally:
        for upstream in uris:
            await upstream.leave(turn.client)


async def opening_of(upstream: Upstream, client: Client) -> dict[str, Any]:
    """An upstream's result of `initialize` or `server/discover`, in the client's revision and as its policy allows."""
    session = await upstream.session(client)
    opening = session.opened.opening
    if upstream.guard is not None:
        opening = upstream.guard.policed.opening(Raw(opening)).value
    if session.is_modern == client.is_modern:
        return opening
    return opening_for_handshake(opening) if session.is_modern else opening_for_modern(opening)


def is_unavailable(error: MCPError) -> bool:
    """Whether an error of `upstream_problem` says that the upstream is unavailable."""
    return members(members(error.error.data).get("error")).get("code") == UpstreamUnavailable.code


def upstream_problem(error: UpstreamError) -> MCPError:
    """The protocol error for an upstream that failed."""
    return MCPError(code=INTERNAL_ERROR, message=error.message, data={"error": error.to_json()})


def _failed(error: UpstreamError, turn: Caller, method: str) -> dict[str, Any]:
    """The answer for an upstream that failed: an error, or for a tool a result that the model can read."""
    if method != "tools/call":
        raise upstream_problem(error) from None
    return error_result(error, {"resultType": "complete"} if turn.client.is_modern else {})
