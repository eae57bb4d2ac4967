"""The guard of an upstream: its answers, and what it sends in a call, pass a policy (`louver.steps.policy.enforcer`).

    client ── ... ── dispatch ── guard ── session ── upstream
                                 policy: raw -> visible

It sits next to the upstream: no other part of the gateway, built-in tools and scripts included, holds hidden data.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from louver.gateway.back.lists.tool_lookup import ToolLookup
from louver.gateway.clients.revisions import modern_result
from louver.steps.policy.visible_answers import VisibleAnswers
from louver.steps.policy.visible_tools import with_distinct_names
from louver.steps.refusals import unknown_tool
from louver.wire.jsonrpc.errors import INVALID_REQUEST, JsonRpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.back.session import Session
    from louver.gateway.clients.client import Caller
    from louver.policy.principal import Principal
    from louver.steps.call_record import CallRecord
    from louver.steps.policy.enforcer import PolicyEnforcer
    from louver.wire.jsonrpc.codec import Params


class Guard(VisibleAnswers):
    def __init__(self, enforcer: PolicyEnforcer) -> None:
        super().__init__(enforcer)
        self._tools = ToolLookup(with_distinct_names)

    def filtered(self, caller: Caller) -> Caller:
        is_filtered = isinstance(caller, FilteredCaller) and caller.enforcer is self.enforcer
        return caller if is_filtered else FilteredCaller(caller, self.enforcer)

    async def send(
        self,
        session: Session,
        caller: Caller,
        method: str,
        params: dict[str, Any],
        ask: Callable[[Caller, dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The visible answer to a request; `ask` sends it and converts the answer to the client's revision."""
        answer = self.enforcer.check_client_request(method, params)
        if answer is not None:
            return modern_result(method, answer, None) if caller.client.is_modern else answer
        principal, record = caller.identity.principal, caller.record
        tool = await self._tool(session, params["name"], principal, record) if method == "tools/call" else None
        return await self.visible(method, tool, principal, record, partial(ask, self.filtered(caller), params))

    async def _tool(self, session: Session, name: str, principal: Principal, record: CallRecord) -> dict[str, Any]:
        """The definition of a tool; tools that are missing or hidden from the caller give the same error."""
        is_served = partial(self.enforcer.serves, principal=principal)
        try:
            tool = await self._tools.find(session, name, is_served)
        except JsonRpcError as error:
            raise self.enforcer.refusal(error, record) from None
        if tool is None:
            raise unknown_tool()
        return tool


class FilteredCaller:
    """A caller that receives only what the policy allows."""

    def __init__(self, caller: Caller, enforcer: PolicyEnforcer) -> None:
        self.caller = caller
        self.enforcer = enforcer
        self.client = caller.client
        self.identity = caller.identity
        self.record = caller.record
        self.is_live = caller.is_live

    async def notify(self, method: str, params: Params) -> None:
        if self.enforcer.reaches_clients(method, (params or {}).get("uri")):
            await self.caller.notify(method, self.enforcer.visible_params(method, params))

    async def pause(self) -> None:
        await self.caller.pause()

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        if not self.enforcer.reaches_clients(method):
            raise JsonRpcError(code=INVALID_REQUEST, message="the policy for this server lets no such question through")
        return await self.caller.ask(method, self.enforcer.visible_params(method, params))
