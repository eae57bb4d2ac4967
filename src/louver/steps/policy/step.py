"""The policy of an attached server: the step next to it, which alone sees what the server answers.

    client ── ... ── projection ── policy ── server
                                   raw -> visible

What the server sends besides its answers is filtered by `louver.sdk.outbound`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from louver.core.json import members, strings
from louver.steps.pages import envelope
from louver.steps.policy.visible_answers import VisibleAnswers
from louver.steps.policy.visible_tools import with_distinct_names
from louver.steps.refusals import unknown_tool
from louver.steps.tools.registry import all_tools
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, JsonRpcError
from louver.wire.mcp import CACHEABLE_METHODS, SUBSCRIPTION_ID_META_KEY

if TYPE_CHECKING:
    from louver.steps.policy.enforcer import PolicyEnforcer
    from louver.steps.request import Next, Request

logger = logging.getLogger(__name__)


class PolicyStep(VisibleAnswers):
    def __init__(self, enforcer: PolicyEnforcer, server_info: dict[str, Any]) -> None:
        super().__init__(enforcer)
        self._server_info = server_info

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        method, principal, record = request.method, request.identity.principal, request.record
        if request.id is None or method == "ping":
            return await call_next(request)
        send = partial(self._send, call_next)
        if method in ("initialize", "server/discover"):
            return self.enforcer.visible_handshake(await self.raw(record, partial(send, request))).value
        if method == "subscriptions/listen":
            return await self._listen(request, send)
        answer = self.enforcer.check_client_request(method, request.params)
        if answer is not None:
            return self._answered_here(answer, request)
        tool = await self._tool(request, send) if method == "tools/call" else None
        return await self.visible(method, tool, principal, record, partial(send, request))

    async def _send(self, call_next: Next, request: Request) -> dict[str, Any]:
        try:
            return await call_next(request)
        except JsonRpcError:
            raise
        except Exception as error:  # whatever the server's own code raises
            if self.enforcer.policy.errors == "passthrough":
                raise
            # By its type alone, and not as the SDK does it, which sends the text to the client.
            logger.error("server %r fails: %s", self.enforcer.server, type(error).__name__)
            raise JsonRpcError(code=INTERNAL_ERROR, message="Internal server error") from None

    async def _tool(self, request: Request, send: Next) -> dict[str, Any]:
        # Listed for each call: a definition that has changed counts at once.
        try:
            tools = [tool async for tool in all_tools(request, send)]
        except JsonRpcError as error:
            raise self.enforcer.refusal(error, request.record) from None
        name = request.params.get("name")
        found = next((tool for tool in with_distinct_names(tools) if tool["name"] == name), None)
        if found is None or not self.enforcer.serves(found, request.identity.principal):
            raise unknown_tool()
        return found

    async def _listen(self, request: Request, send: Next) -> dict[str, Any]:
        """Listen to what may be seen; the result holds only the stream's id."""
        wanted = members(request.params.get("notifications"))
        if "resourceSubscriptions" in wanted:
            uris = [uri for uri in strings(wanted["resourceSubscriptions"]) if self.enforcer.policy.covers(uri)]
            wanted = {**wanted, "resourceSubscriptions": uris}
        sent = replace(request, params={**request.params, "notifications": wanted})
        await self.raw(request.record, partial(send, sent))
        answer = envelope(self._server_info, request)
        return {**answer, "_meta": {**members(answer.get("_meta")), SUBSCRIPTION_ID_META_KEY: request.id}}

    def _answered_here(self, answer: dict[str, Any], request: Request) -> dict[str, Any]:
        is_cacheable = request.is_modern and request.method in CACHEABLE_METHODS
        caching = {"ttlMs": 0, "cacheScope": "private"} if is_cacheable else {}
        return {**envelope(self._server_info, request), **caching, **answer}
