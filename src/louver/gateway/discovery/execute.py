r"""The tool `execute`: one Lua script, all servers.

    {"script": "result(calculator.add({a = 5, b = 3}):await())"}
    -> {"content": [{"type": "text", "text": "{\"result\":8}"}], "structuredContent": {"result": 8}}

Its text is what the script gives to `result`, as JSON unless that is a text. An object is structured content too, and
an array in 2026-07-28; before that an array is wrapped: `{"result": [...]}`. What a tool called by the script answered
as its error, if that ended the script, stands behind our own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact, is_array, is_object, members
from louver.gateway.discovery.behind import Behind
from louver.gateway.discovery.scripts import ScriptHost
from louver.gateway.discovery.service import DiscoveryService
from louver.server.identity import reader

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
    """The tool.

    Args:
        upstreams: The servers, by name.
        scripts: Runs scripts.
    """

    definition = _DEFINITION

    def __init__(self, upstreams: Mapping[str, Upstream], scripts: Scripts) -> None:
        self._upstreams = upstreams
        self._scripts = scripts

    async def answer(self, asked: Asked) -> dict[str, Any]:
        """What the script gives, or why it gives nothing."""
        behind = Behind(self._upstreams, asked.turn.client, asked.ask)
        caller = reader(asked.turn.ctx)
        called = _Progress(asked.turn).called
        host = ScriptHost(DiscoveryService(behind), behind, self._scripts.names, caller, called)
        # Whoever only has an address may be many, behind one proxy.
        turn: Hashable = object() if caller.startswith("address ") else caller
        value = await self._scripts.run(asked.arguments["script"], host, turn)
        return _result(value, is_modern=asked.turn.client.is_modern)


class _Progress:
    """Tells a client that wants to know of each call that its script has made."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._token = members((turn.ctx.params or {}).get("_meta")).get("progressToken")
        self._calls = 0

    async def called(self, name: str) -> None:
        """A call has been answered."""
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
