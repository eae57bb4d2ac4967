"""The discovery tools in `tools/list`, and their results: a text as in 003, and the same as structured content.

    list-servers {}                                      list-server-tools {"luaServerName"}
    search-tools {"needs"}
    tool-details {"luaServerName", "luaToolName"}        execute {"script"}, if scripts can run
    inspect-tool-response {"luaServerName", "luaToolName", "sampleArgs"?, "full"?}

Without `execute`, clients call the servers' tools by their listed names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact
from louver.gateway.builtin import texts
from louver.gateway.builtin.behind import VisibleServers
from louver.gateway.builtin.scripts import execute_tools
from louver.gateway.builtin.service import DiscoveryService

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from louver.gateway.back.upstream import Upstream
    from louver.gateway.builtin.scripts import ScriptRunner
    from louver.gateway.builtin.step import BuiltInCall, BuiltInTool
    from louver.gateway.config.model import Inspect

_TIPS: Final = """\
Tools of several MCP servers, found step by step: search-tools by a short line for each thing to do, or list-servers \
and list-server-tools, then tool-details for a tool before you first use it. Details stay the same while you work: \
read them once.
"""

# Instructions for models if scripts can run.
SCRIPT_INSTRUCTIONS: Final = f"""{_TIPS}\
Call tools by execute, several in one Lua script, and give result(...) only what you need:
local found = tracker.search({{query = "crash"}}, {{fields = {{"items.id"}}}}):await() result(found)
Call inspect-tool-response only if the shape of an answer is unclear: it runs the tool."""

# Instructions for models if scripts cannot run.
DIRECT_INSTRUCTIONS: Final = f"""{_TIPS}\
Call a tool by the name that tool-details tells, which tools/list does not show.
Call inspect-tool-response only if the shape of an answer is unclear: it runs the tool."""


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_SERVER: Final = {"luaServerName": _text("From list-servers.")}
_TOOL: Final = {**_SERVER, "luaToolName": _text("From list-server-tools.")}
_STRING: Final = {"type": "string"}
_BOOLEAN: Final = {"type": "boolean"}
_INTEGER: Final = {"type": "integer"}
_ARRAY: Final = {"type": "array"}


def _strings(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), _STRING)


def _list_of(needed: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(needed, **properties)}


def _object(needed: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": needed.split(), "properties": properties}


@dataclass(frozen=True, slots=True)
class _DiscoveryTool:
    """A tool that answers a query of the service."""

    definition: dict[str, Any]
    _service: Callable[[BuiltInCall], DiscoveryService]
    _query: Callable[[DiscoveryService, Mapping[str, Any]], Awaitable[tuple[dict[str, Any], str]]]

    async def answer(self, built_in_call: BuiltInCall) -> dict[str, Any]:
        result, text = await self._query(self._service(built_in_call), built_in_call.arguments)
        return {"content": [{"type": "text", "text": text}], "structuredContent": result}


class DiscoveryProvider:
    """Built-in tools of the exposure `discovery`, instead of the servers' tools."""

    hides_upstream_tools = True
    can_collide = False

    def __init__(self, upstreams: Mapping[str, Upstream], inspect: Inspect, scripts: ScriptRunner | None) -> None:
        self._upstreams = upstreams
        self._inspect: Inspect = inspect
        self._scripts = scripts

    async def instructions(self) -> str:
        return SCRIPT_INSTRUCTIONS if await execute_tools(self._upstreams, self._scripts) else DIRECT_INSTRUCTIONS

    async def tools(self) -> Sequence[BuiltInTool]:
        execute = await execute_tools(self._upstreams, self._scripts)
        queries = {
            "list-servers": _servers,
            "list-server-tools": _tools,
            "search-tools": _search,
            "tool-details": partial(_details, scripts=bool(execute)),
            _INSPECT: _shape,
        }
        definitions = _DEFINITIONS if self._inspect == "readOnly" else {**_DEFINITIONS, _INSPECT: _INSPECT_ALL}
        return [*(_DiscoveryTool(definitions[name], self._service, query) for name, query in queries.items()), *execute]

    def can_call_upstreams(self, tools: Sequence[BuiltInTool]) -> bool:
        """Whether clients may call the servers' tools by name: only if there is no `execute`."""
        return len(tools) == len(_DEFINITIONS)

    def _service(self, built_in_call: BuiltInCall) -> DiscoveryService:
        return DiscoveryService(
            VisibleServers(self._upstreams, built_in_call.caller.client, built_in_call.ask), self._inspect
        )


class ExecuteProvider:
    """Offers the built-in tool `execute` in addition to the servers' listed tools."""

    hides_upstream_tools = False

    def __init__(self, upstreams: Mapping[str, Upstream], scripts: ScriptRunner) -> None:
        self._upstreams = upstreams
        self._scripts = scripts

    @property
    def can_collide(self) -> bool:
        # With several servers, each listed name has its server's prefix, so none can be `execute`.
        return len(self._upstreams) == 1

    async def instructions(self) -> None:
        """Keep the servers' own instructions."""

    async def tools(self) -> Sequence[BuiltInTool]:
        return await execute_tools(self._upstreams, self._scripts)

    def can_call_upstreams(self, tools: Sequence[BuiltInTool]) -> bool:
        return True


async def _servers(service: DiscoveryService, _arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    result = await service.list_servers()
    return result, texts.servers(result)


async def _tools(service: DiscoveryService, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    result = await service.list_server_tools(arguments["luaServerName"])
    return result, texts.tools(result)


async def _search(service: DiscoveryService, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    result = await service.search_tools(arguments["needs"])
    return result, texts.found(result)


async def _details(
    service: DiscoveryService, arguments: Mapping[str, Any], *, scripts: bool
) -> tuple[dict[str, Any], str]:
    result = await service.tool_details(arguments["luaServerName"], arguments["luaToolName"])
    return result, texts.details(result, scripts=scripts)


async def _shape(service: DiscoveryService, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    result = await service.inspect_tool_response(
        arguments["luaServerName"],
        arguments["luaToolName"],
        arguments.get("sampleArgs"),
        full=arguments.get("full", False),
    )
    return result, texts.shape(result, compact(result["data"]) if "data" in result else None)


def _definition(name: str, description: str, inputs: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    required = [each for each in inputs if each.startswith("lua") or each == "needs"]
    # Some hosts require `properties` in every object schema, even if it is empty.
    schema = {"type": "object", "properties": inputs}
    return {
        "name": name,
        "description": description,
        "inputSchema": {**schema, **({"required": required} if required else {})},
        "outputSchema": output,
        "annotations": {"readOnlyHint": True},
    }


_INSPECT: Final = "inspect-tool-response"
_RUNS: Final = "RUNS a tool once and tells the shape of its answer: fields, sizes, a view that suffices."

_DEFINITIONS: Final = {
    tool["name"]: tool
    for tool in (
        _definition(
            "list-servers",
            "The MCP servers that are there, with their Lua identifiers.",
            {},
            _object("servers", servers=_list_of("name luaName state", **_strings("name luaName state instructions"))),
        ),
        _definition(
            "list-server-tools",
            "The tools of a server, in a line each.",
            _SERVER,
            _object(
                "server luaName tools",
                server=_STRING,
                luaName=_STRING,
                tools=_list_of("name luaName", **_strings("name luaName description")),
            ),
        ),
        _definition(
            "search-tools",
            "The tools of all servers by need, the best first.",
            {"needs": {"type": "array", "items": _STRING, "description": "A short line for each thing to do."}},
            _object("needs"),
        ),
        _definition(
            "tool-details",
            "How a tool is called: description, parameters, output fields, views, an example.",
            _TOOL,
            _object(
                "name callName parameters",
                **_strings("server luaServerName name luaName callName description"),
                readOnly=_BOOLEAN,
                parameters=_list_of("name type required", required=_BOOLEAN, **_strings("name type description")),
                fields=_list_of("path type", **_strings("path type")),
                views={"type": "array", "items": _STRING},
            ),
        ),
        _definition(
            _INSPECT,
            f"{_RUNS} For tools that only read.",
            {
                **_TOOL,
                "sampleArgs": {"type": "object", "description": "Arguments of the call."},
                "full": {"type": "boolean", "description": "Also the answer itself."},
            },
            _object(
                "ran bytes",
                **_strings("server luaServerName name luaName seat"),
                ran=_BOOLEAN,
                bytes=_INTEGER,
                elements=_INTEGER,
                blocks=_ARRAY,
                fields=_ARRAY,
                suggestedView={"type": "object"},
                data={},
            ),
        )
        | {"annotations": {"readOnlyHint": True, "openWorldHint": True}},
    )
}

# The definition of inspect-tool-response if it may run any tool.
_INSPECT_ALL: Final = {**_DEFINITIONS[_INSPECT], "description": _RUNS, "annotations": {"readOnlyHint": False}}
