r"""The tool `execute`: runs one Lua script that can call the tools of all servers.

    {"script": "result(calculator.add({a = 5, b = 3}):await())"}
    -> {"content": [{"type": "text", "text": "{\"result\":8}"}], "structuredContent": {"result": 8}}

The text is the script's result: a string unchanged, another value as JSON. An object is also structured content. So is
an array in 2026-07-28; earlier revisions get `{"result": [...]}`. An uncaught tool error follows our own error.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact, is_array, is_object, members
from louver.gateway.builtin.behind import VisibleServers
from louver.gateway.builtin.service import DiscoveryService
from louver.lua.scripts import ScriptHost

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from louver.core.json import Json
    from louver.gateway.back.upstream import Upstream
    from louver.gateway.builtin.step import BuiltInCall
    from louver.gateway.clients.client import ClientRequest
    from louver.lua.scripts import ScriptRunner


_DEFINITION: Final[dict[str, Any]] = {
    "name": "execute",
    "description": "Run a Lua script that calls tools of the servers: "
    "server.tool({...}, {fields = {...}}):await(), await_all{...}. Give what you need to result(...), once.",
    "inputSchema": {
        "type": "object",
        "properties": {"script": {"type": "string", "description": "Lua 5.4."}},
        "required": ["script"],
    },
}


class Execute:
    definition = _DEFINITION

    def __init__(self, upstreams: Mapping[str, Upstream], scripts: ScriptRunner) -> None:
        self._upstreams = upstreams
        self._scripts = scripts

    async def answer(self, built_in_call: BuiltInCall) -> dict[str, Any]:
        ask = partial(built_in_call.ask, is_counted=True)
        visible_servers = VisibleServers(self._upstreams, built_in_call.caller.client, ask)
        caller = built_in_call.caller.request.counted_as
        on_called = _Progress(built_in_call.caller).on_called
        # Tokens of one principal may have different rights.
        seen_by = (caller, built_in_call.caller.identity)
        host = ScriptHost(DiscoveryService(visible_servers), visible_servers, self._scripts.names, seen_by, on_called)
        # One address may be many clients behind a proxy, so its scripts are not limited to one at a time.
        queue_key: Hashable = object() if caller.startswith("address ") else caller
        value = await self._scripts.run(built_in_call.arguments["script"], host, queue_key)
        built_in_call.caller.record.reduced_by("script")
        return _result(value, is_modern=built_in_call.caller.client.is_modern)


class _Progress:
    """Sends the client a progress notification for each call of its script, if it gave a progress token."""

    def __init__(self, request: ClientRequest) -> None:
        self._request = request
        self._token = members(request.request.params.get("_meta")).get("progressToken")
        self._call_count = 0

    async def on_called(self, name: str) -> None:
        self._call_count += 1
        if self._token is not None:
            params = {"progressToken": self._token, "progress": self._call_count, "message": name}
            await self._request.notify("notifications/progress", params)


def _result(value: Json, *, is_modern: bool) -> dict[str, Any]:
    text = value if isinstance(value, str) else compact(value)
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if is_object(value) or (is_array(value) and is_modern):
        result["structuredContent"] = value
    elif is_array(value):
        result["structuredContent"] = {"result": value}
    return result
