r"""The tool `execute`: runs one Lua script that can call the tools of all servers.

    {"script": "result(calculator.add({a = 5, b = 3}):await())"}
    -> {"content": [{"type": "text", "text": "{\"result\":8}"}], "structuredContent": {"result": 8}}

The text is the script's result: a string unchanged, another value as JSON. An object is also structured content. So is
an array in 2026-07-28; earlier revisions get `{"result": [...]}`. An uncaught tool error follows our own error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact, is_array, is_object, members
from louver.gateway.discovery.behind import Behind
from louver.gateway.discovery.scripts import ScriptHost
from louver.gateway.discovery.service import DiscoveryService

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from louver.core.json import Json
    from louver.gateway.clients.client import Turn
    from louver.gateway.discovery.scripts import Scripts
    from louver.gateway.middleware.built_in_tools import Asked
    from louver.gateway.upstream.upstream import Upstream


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

    def __init__(self, upstreams: Mapping[str, Upstream], scripts: Scripts) -> None:
        self._upstreams = upstreams
        self._scripts = scripts

    async def answer(self, asked: Asked) -> dict[str, Any]:
        behind = Behind(self._upstreams, asked.turn.client, asked.ask)
        caller = asked.turn.request.counted_as
        called = _Progress(asked.turn).called
        host = ScriptHost(DiscoveryService(behind), behind, self._scripts.names, caller, called)
        # One address may be many clients behind a proxy, so its scripts are not limited to one at a time.
        turn: Hashable = object() if caller.startswith("address ") else caller
        value = await self._scripts.run(asked.arguments["script"], host, turn)
        return _result(value, is_modern=asked.turn.client.is_modern)


class _Progress:
    """Sends the client a progress notification for each call of its script, if it gave a progress token."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._token = members(turn.request.params.get("_meta")).get("progressToken")
        self._calls = 0

    async def called(self, name: str) -> None:
        self._calls += 1
        if self._token is not None:
            said = {"progressToken": self._token, "progress": self._calls, "message": name}
            await self._turn.heard("notifications/progress", said)


def _result(value: Json, *, is_modern: bool) -> dict[str, Any]:
    text = value if isinstance(value, str) else compact(value)
    said: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if is_object(value) or (is_array(value) and is_modern):
        said["structuredContent"] = value
    elif is_array(value):
        said["structuredContent"] = {"result": value}
    return said
