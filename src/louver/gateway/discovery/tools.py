"""The five tools as they stand in `tools/list`, and what each answers: a text as in 003, and the same structured.

    list-servers             {}
    list-server-tools        {"luaServerName"}
    tool-details             {"luaServerName", "luaToolName"}
    inspect-tool-response    {"luaServerName", "luaToolName", "sampleArgs"?, "full"?}
    execute                  {"script"}

`execute` is there where scripts can be run. Where not, tools are called by their full names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact
from louver.gateway.discovery import texts
from louver.gateway.discovery.behind import Behind
from louver.gateway.discovery.execute import Execute
from louver.gateway.discovery.service import DiscoveryService

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from louver.gateway.discovery.scripts import Scripts
    from louver.gateway.discovery.service import Inspect
    from louver.gateway.middleware.built_in_tools import Asked, OwnTool
    from louver.gateway.upstream.upstream import Upstream

_TIPS: Final = """\
Tools of several MCP servers, found step by step: list-servers, then list-server-tools for the servers that you will \
likely use, then tool-details for a tool before you first use it. Details stay the same while you work: read them once.
"""

SCRIPTS: Final = f"""{_TIPS}\
Call tools by execute, several in one Lua script, and give result(...) only what you need:
local found = tracker.search({{query = "crash"}}, {{fields = {{"items.id"}}}}):await() result(found)
Call inspect-tool-response only if the shape of an answer is unclear: it runs the tool."""
"""What models are told where there are scripts."""

NAMES: Final = f"""{_TIPS}\
Call a tool by the name that tool-details tells, which tools/list does not show.
Call inspect-tool-response only if the shape of an answer is unclear: it runs the tool."""
"""What models are told where there are none."""


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
class _Look:
    """A tool that answers a question of the service."""

    definition: dict[str, Any]
    _service: Callable[[Asked], DiscoveryService]
    _answered: Callable[[DiscoveryService, Mapping[str, Any]], Awaitable[tuple[dict[str, Any], str]]]

    async def answer(self, asked: Asked) -> dict[str, Any]:
        """The result of a call."""
        said, text = await self._answered(self._service(asked), asked.arguments)
        return {"content": [{"type": "text", "text": text}], "structuredContent": said}


class Discovery:
    """What the gateway offers in this exposure.

    Args:
        upstreams: The servers behind it, by name.
        inspect: Which tools a sample call may run.
        scripts: Runs scripts; `None` where there are none.
    """

    hides = True
    can_collide = False

    def __init__(self, upstreams: Mapping[str, Upstream], inspect: Inspect, scripts: Scripts | None) -> None:
        self._upstreams = upstreams
        self._inspect: Inspect = inspect
        self._scripts = scripts

    async def instructions(self) -> str:
        """What models are told: what `execute` is for only where it is."""
        return SCRIPTS if await executing(self._upstreams, self._scripts) else NAMES

    async def tools(self) -> Sequence[OwnTool]:
        """The five tools, or four."""
        execute = await executing(self._upstreams, self._scripts)
        looks = {
            "list-servers": _servers,
            "list-server-tools": _tools,
            "tool-details": partial(_details, scripts=bool(execute)),
            _INSPECT: _shape,
        }
        definitions = _DEFINITIONS if self._inspect == "readOnly" else {**_DEFINITIONS, _INSPECT: _INSPECT_ALL}
        return [*(_Look(definitions[name], self._service, answered) for name, answered in looks.items()), *execute]

    def passes(self, tools: Sequence[OwnTool]) -> bool:
        """Whether tools are called by their names, for there is no other way."""
        return len(tools) == len(_DEFINITIONS)

    def _service(self, asked: Asked) -> DiscoveryService:
        return DiscoveryService(Behind(self._upstreams, asked.turn.client, asked.ask), self._inspect)


class Executing:
    """What the gateway offers where there are scripts beside the listed tools.

    Args:
        upstreams: The servers behind it, by name.
        scripts: Runs scripts.
    """

    hides = False

    def __init__(self, upstreams: Mapping[str, Upstream], scripts: Scripts) -> None:
        self._upstreams = upstreams
        self._scripts = scripts

    @property
    def can_collide(self) -> bool:
        """Where there is one server: of several each name begins with its server's."""
        return len(self._upstreams) == 1

    async def instructions(self) -> None:
        """What the servers say stays."""

    async def tools(self) -> Sequence[OwnTool]:
        """The one tool, if scripts can be run."""
        return await executing(self._upstreams, self._scripts)

    def passes(self, tools: Sequence[OwnTool]) -> bool:
        """Always."""
        return True


async def executing(upstreams: Mapping[str, Upstream], scripts: Scripts | None) -> list[OwnTool]:
    """The tool `execute`, if scripts can be run."""
    return [] if scripts is None or not await scripts.are_ready() else [Execute(upstreams, scripts)]


async def _servers(service: DiscoveryService, _arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    said = await service.list_servers()
    return said, texts.servers(said)


async def _tools(service: DiscoveryService, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    said = await service.list_server_tools(arguments["luaServerName"])
    return said, texts.tools(said)


async def _details(
    service: DiscoveryService, arguments: Mapping[str, Any], *, scripts: bool
) -> tuple[dict[str, Any], str]:
    said = await service.tool_details(arguments["luaServerName"], arguments["luaToolName"])
    return said, texts.details(said, scripts=scripts)


async def _shape(service: DiscoveryService, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    said = await service.inspect_tool_response(
        arguments["luaServerName"],
        arguments["luaToolName"],
        arguments.get("sampleArgs"),
        full=arguments.get("full", False),
    )
    return said, texts.shape(said, compact(said["data"]) if "data" in said else None)


def _definition(name: str, description: str, inputs: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    required = [each for each in inputs if each.startswith("lua")]
    # Some hosts read `properties` wherever there is an object.
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

_INSPECT_ALL: Final = {**_DEFINITIONS[_INSPECT], "description": _RUNS, "annotations": {"readOnlyHint": False}}
"""Likewise, where it may run any tool."""
