"""One request to one upstream: in whatever era both sides speak, and whatever becomes of it.

What can be asked again is asked again, once, where the upstream went away meanwhile: lists, reads, and tools
that say of themselves that they only read or that a second call changes nothing. Nothing else is.
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
from louver.server.identity import principal_key
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


_WANTS = {
    "resources/subscribe": Subscriptions.watch,
    "resources/unsubscribe": Subscriptions.unwatch,
    "logging/setLevel": Subscriptions.set_level,
}
"""What an upstream is asked for all of its clients."""


class Calls:
    """Sends requests to upstreams, and brings their answers into the client's era.

    Args:
        parked: What waits for clients.
        guards: What stands before each upstream, by its name. Where something else does by then, a request is refused:
            it would not be audited, or not as that policy wants.
    """

    def __init__(self, parked: Parked, guards: Mapping[str, Guard | None]) -> None:
        self._parked = parked
        self._guards = guards

    async def send(self, upstream: Upstream, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer, as the client's era has it.

        Raises:
            MCPError: The upstream answers with an error, or does not answer as it should.
        """
        try:
            return await self.ask(upstream, turn, method, params)
        except UpstreamUnavailable as error:
            # What goes on with a call that has waited cannot begin it again.
            if STATE in params or (method not in _SAFE and not upstream.is_safe(method, params)):
                return _failed(error, turn, method)
        except UpstreamError as error:
            return _failed(error, turn, method)
        try:
            return await self.ask(upstream, turn, method, params)
        except UpstreamError as error:
            return _failed(error, turn, method)

    async def ask(self, upstream: Upstream, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Likewise, asked once.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
        session = await upstream.session(turn.client)
        guard = self._guards.get(upstream.name)
        if upstream.guard is not guard:
            raise UpstreamUnavailable(f"upstream {upstream.name!r} has been configured anew: call again")
        owner = (upstream.name, guard, principal_key())
        if guard is None:
            return await self._asked(session, turn, method, params, owner)

        async def ask(quiet: Caller, said: dict[str, Any]) -> dict[str, Any]:
            return await self._asked(session, quiet, method, said, owner)

        return await guard.send(session, turn, method, params, ask)

    async def _asked(
        self, session: Session, turn: Caller, method: str, params: dict[str, Any], owner: object
    ) -> dict[str, Any]:
        """The answer of a session, in the client's era."""
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
    """Have resources watched meanwhile, by a client of one request: address -> whose it is.

    One that cannot be watched never changes.
    """
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


async def opening_of(upstream: Upstream, client: Client, within_s: float | None = None) -> dict[str, Any]:
    """What an upstream said of itself when it was opened, in the client's era.

    Args:
        upstream: The upstream.
        client: For whom.
        within_s: How long its opening may take, if that is waited for no longer.

    Raises:
        UpstreamError: It is not there.
    """
    session = await upstream.session(client, within_s)
    opening = session.opened.opening
    if upstream.guard is not None:
        opening = upstream.guard.policed.opening(Raw(opening)).value
    if session.is_modern == client.is_modern:
        return opening
    return opening_for_handshake(opening) if session.is_modern else opening_for_modern(opening)


def is_unavailable(error: MCPError) -> bool:
    """Whether it is one of `upstream_problem`, of an upstream that is not there."""
    return members(members(error.error.data).get("error")).get("code") == UpstreamUnavailable.code


def upstream_problem(error: UpstreamError) -> MCPError:
    """The protocol error of an upstream that does not answer as it should."""
    return MCPError(code=INTERNAL_ERROR, message=error.message, data={"error": error.to_json()})


def _failed(error: UpstreamError, turn: Caller, method: str) -> dict[str, Any]:
    """What a client gets instead of an answer: of a tool a result that its model can read."""
    if method != "tools/call":
        raise upstream_problem(error) from None
    return error_result(error, {"resultType": "complete"} if turn.client.is_modern else {})
