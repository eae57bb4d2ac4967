"""The guard of an upstream: its requests and answers pass through a policy (`louver.server.policy.enforcer`).

    client ── ... ── dispatch ── guard ── session ── upstream
                                 policy: raw -> visible

It sits next to the upstream: no other part of the gateway, built-in tools and scripts included, holds hidden data.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio
from mcp import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST

from louver.concurrency.offload import in_thread, until_given_up
from louver.gateway.clients.revisions import modern_result
from louver.server.policy.raw import Raw
from louver.server.policy.visible_tools import apart

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.clients.client import Caller, Client
    from louver.gateway.upstream.session import Session
    from louver.jsonrpc.codec import Params
    from louver.server.call_record import CallRecord
    from louver.server.policy.enforcer import Policed
    from louver.server.request import Identity

_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


class Guard:
    def __init__(self, policed: Policed) -> None:
        self.policed = policed
        self._tools: WeakKeyDictionary[Session, tuple[int, dict[str, dict[str, Any]]]] = WeakKeyDictionary()
        # One tool list at a time: the first derives the tools' schemas for all, and lists keep their order.
        self._in_order = anyio.Lock(fast_acquire=True)

    def quiet(self, turn: Caller) -> Caller:
        return Quiet(turn, self.policed)

    async def send(
        self,
        session: Session,
        turn: Caller,
        method: str,
        params: dict[str, Any],
        ask: Callable[[Caller, dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The visible answer to a request; `ask` sends it and converts the answer to the client's revision."""
        answer = self.policed.check_may_ask(method, params)
        if answer is not None:
            return modern_result(method, answer, None) if turn.client.is_modern else answer
        tool = await self._tool(session, params["name"], turn.record) if method == "tools/call" else None
        principal, record = turn.identity.principal, turn.record
        try:
            raw = Raw(await ask(self.quiet(turn), params))
        except MCPError as error:
            raise self.policed.refusal(error, record) from None
        if method in _LISTS:
            in_order = self._in_order if method == "tools/list" else nullcontext()
            async with in_order:
                return (await until_given_up(partial(self.policed.listed, method, raw, principal))).value
        if tool is not None:
            made = partial(self.policed.answered, raw, tool, principal, record)
        else:
            made = partial(self.policed.let_through, raw, record)
        return (await in_thread(made) if raw.is_large else made()).value

    async def _tool(self, session: Session, name: str, record: CallRecord) -> dict[str, Any]:
        """The definition of a tool; hidden and missing tools give the same error."""
        known = self._tools.get(session)
        if known is None or known[0] != session.lists.state or name not in known[1]:
            state = session.lists.state
            try:
                tools = await session.tools()
            except MCPError as error:
                raise self.policed.refusal(error, record) from None
            known = self._tools[session] = (state, {tool["name"]: tool for tool in apart(tools)})
        tool = known[1].get(name)
        if tool is None or self.policed.rules_of(tool) is None:
            raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
        return tool


@dataclass(frozen=True, slots=True)
class Quiet:
    """A caller that receives only what the policy allows."""

    turn: Caller
    policed: Policed

    @property
    def client(self) -> Client:
        return self.turn.client

    @property
    def identity(self) -> Identity:
        return self.turn.identity

    @property
    def record(self) -> CallRecord:
        return self.turn.record

    async def heard(self, method: str, params: Params) -> None:
        if self.policed.may_say(method, (params or {}).get("uri")):
            await self.turn.heard(method, self.policed.said(method, params))

    async def paused(self) -> None:
        await self.turn.paused()

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        if not self.policed.may_say(method):
            raise MCPError(code=INVALID_REQUEST, message="the policy for this server lets no such question through")
        return await self.turn.asked(method, self.policed.said(method, params))
