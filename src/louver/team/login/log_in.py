"""What a caller gets who has to log in to a server first, before anything runs.

    a list                                          one tool, `log_in`, in place of all that cannot be listed yet
    a request, of clients that can open URLs        the link as an elicitation, and once logged in the request goes on
    a request, of others                            LOGIN_REQUIRED with the link, also as `url`

Source: MCP 2025-11-25 and 2026-07-28, "Elicitation", URL mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from louver.core.json import members
from louver.errors import LoginRequired
from louver.gateway.clients.input_required import INPUT_RESPONSES
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.mcp import INPUT_REQUIRED_METHODS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.clients.client import Caller
    from louver.team.login.links import LoginLinks

LOG_IN: Final = "log_in"

_LISTS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_ELICIT: Final = "elicitation/create"
_KEY: Final = "louver-login"  # of the gateway's own question among the input requests of an answer


class LogIn:
    """The step to a login at one server."""

    def __init__(self, server: str, links: LoginLinks) -> None:
        self._server = server
        self._links = links

    async def answer(
        self,
        caller: Caller,
        method: str,
        params: dict[str, Any],
        send: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The answer of the server, or what the caller gets instead; LoginRequired if that is an error."""
        params, response = _without_response(params)
        try:
            return await send(params)
        except LoginRequired as error:
            if caller.identity.key is None:
                raise
            if (member := _LISTS.get(method)) is not None:
                modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
                listed = [self.tool] if method == "tools/list" else []
                return {**(modern if caller.client.is_modern else {}), member: listed}
            problem = error.message
        stamp = await self._links.stamp(self._server, caller.identity.key)
        url = await self._links.link(self._server, caller.identity)
        if response is None and method in INPUT_REQUIRED_METHODS and _can_open_urls(caller):
            question = {"mode": "url", "message": f"Log in to {self._server!r} to go on.", "url": url}
            if caller.client.is_modern:
                return {
                    "resultType": "input_required",
                    "inputRequests": {_KEY: {"method": _ELICIT, "params": question}},
                }
            response = await caller.ask(_ELICIT, {**question, "elicitationId": str(uuid4())})
        is_accepted = response is not None and response.get("action") == "accept"
        if is_accepted and await self._links.is_changed(self._server, caller.identity.key, stamp):
            if method == "tools/call" and params.get("name") == LOG_IN:
                return _logged_in(is_modern=caller.client.is_modern)
            return await send(params)
        raise LoginRequired(f"{problem}; open this page to log in, and then do this again: {url}", url=url)

    @property
    def tool(self) -> dict[str, Any]:
        """The entry in the list for tools that the caller cannot see yet."""
        return {
            "name": LOG_IN,
            "description": f"Log in to the server {self._server!r}. Its tools are listed after that.",
            "inputSchema": {"type": "object", "properties": {}},
        }


def _can_open_urls(caller: Caller) -> bool:
    try:
        caller.client.check_capability(_ELICIT, {"mode": "url"})
    except JsonRpcError:
        return False
    return True


def _without_response(params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The params for the server, and the client's response to the gateway's question, if there is one."""
    responses = members(params.get(INPUT_RESPONSES))
    if _KEY not in responses:
        return params, None
    others = {key: value for key, value in responses.items() if key != _KEY}
    rest = {key: value for key, value in params.items() if key != INPUT_RESPONSES}
    return {**rest, **({INPUT_RESPONSES: others} if others else {})}, members(responses[_KEY])


def _logged_in(*, is_modern: bool) -> dict[str, Any]:
    text = "You are logged in: list the tools again."
    modern = {"resultType": "complete"} if is_modern else {}
    return {**modern, "content": [{"type": "text", "text": text}]}
