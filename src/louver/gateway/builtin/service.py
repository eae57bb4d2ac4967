"""Discovery service of 003: queries about the servers. `schemas/discovery.schema.json` defines the JSON results.

    list_servers(), list_server_tools("calculator")                 all servers; one server's tools, one line each
    search_tools(["add numbers"])                                   the tools of all servers that serve some needs
    tool_details("calculator", "add")                               a tool's parameters and output fields
    inspect_tool_response("calculator", "add", {"a": 1, "b": 2})    the shape of a real result

A server or tool is given by its Lua identifier or its own name. `texts.py` formats the values as text for models.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, get_args

from louver.catalogue.summary import summary
from louver.concurrency.offload import yielding
from louver.core.nearest import check_choice, instead, nearest
from louver.errors import NotReadOnly, UnknownName
from louver.gateway.builtin.described import describe_tool, is_read_only, result_shape
from louver.gateway.builtin.identifiers import GLOBALS, identifiers
from louver.gateway.builtin.search import query_of
from louver.gateway.config.model import Inspect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.gateway.builtin.behind import VisibleServers


class DiscoveryService:
    def __init__(self, visible_servers: VisibleServers, inspect: Inspect = "readOnly") -> None:
        check_choice("inspect", inspect, get_args(Inspect))
        self._visible_servers = visible_servers
        self._inspect: Inspect = inspect

    async def list_servers(self) -> dict[str, Any]:
        """Return `{"servers": [{"name", "luaName", "state", "description"?, "version"?, "instructions"?}]}`."""
        # First, because a server given on the command line gets its name when it is opened.
        servers = await self._visible_servers.statuses()
        names = {name: lua for lua, name in self._server_names().items()}
        return {
            "servers": [
                _without_none(
                    name=server.name,
                    luaName=names[server.name],
                    state=server.state,
                    description=_text(server.info, "description") or _text(server.info, "title"),
                    version=_text(server.info, "version"),
                    instructions=server.instructions,
                )
                for server in servers
            ]
        }

    async def list_server_tools(self, server: str) -> dict[str, Any]:
        """Return `{"server", "luaName", "tools": [{"name", "luaName", "description"}]}`."""
        lua, name, tools = await self._tools_of(server)
        listed = [
            {
                "name": local_name,
                "luaName": lua_tool,
                "description": summary(tools[local_name].get("description"), local_name),
            }
            async for lua_tool, local_name in yielding(identifiers(tools).items())
        ]
        return {"server": name, "luaName": lua, "tools": listed}

    async def search_tools(self, needs: Sequence[Any]) -> dict[str, Any]:
        """Return `{"needs": [{"need", "tools": [{"server", "luaServerName", "name", "luaName", "description"}]}]}`."""
        found = await self._visible_servers.search(query_of(needs))
        servers, lua_tools = {name: lua for lua, name in self._server_names().items()}, await self._lua_tools()
        by_need: dict[str, list[dict[str, Any]]] = {need: [] for need in found.needs}
        for tool in found.tools:
            server, name = self._visible_servers.split_name(tool["name"])
            need = found.need_of.get(tool["name"], found.needs[0])
            by_need[need].append(
                {
                    "server": server,
                    "luaServerName": servers[server],
                    "name": name,
                    "luaName": lua_tools[server][name],
                    "description": summary(tool.get("description"), name),
                }
            )
        return {"needs": [{"need": need, "tools": tools} for need, tools in by_need.items()]}

    async def tool_details(self, server: str, tool: str) -> dict[str, Any]:
        """Return `{"server", "luaServerName", "name", "luaName", "callName", ...}`; the rest is by `described.py`."""
        lua_server, name, lua, local_name, listed = await self._tool(server, tool)
        names = {
            "server": name,
            "luaServerName": lua_server,
            "name": local_name,
            "luaName": lua,
            "callName": listed["name"],
        }
        return {**names, **describe_tool(listed)}

    async def inspect_tool_response(
        self, server: str, tool: str, arguments: Mapping[str, Any] | None = None, *, full: bool = False
    ) -> dict[str, Any]:
        """Call the tool once and return the shape of its result, and the result itself if it is small, or by `full`."""
        lua_server, name, lua, local_name, listed = await self._tool(server, tool)
        if self._inspect == "readOnly" and not is_read_only(listed):
            raise NotReadOnly(
                f"tool {local_name!r} of server {name!r} does not say that it only reads, so it is not run for a look: "
                "'tool-details' tells its parameters, and with 'inspect': 'all' in the configuration any tool is run",
                server=name,
                tool=local_name,
            )
        result = await self._visible_servers.call_checked(listed["name"], arguments or {}, None, f"{lua_server}.{lua}")
        shape_fields = await asyncio.to_thread(result_shape, result, full=full)
        return {"server": name, "luaServerName": lua_server, "name": local_name, "luaName": lua, **shape_fields}

    async def call_names(self, server: str) -> dict[str, str]:
        """Return a server's tools: Lua identifier -> listed name."""
        _, _, tools = await self._tools_of(server)
        return {lua: tools[local_name]["name"] for lua, local_name in identifiers(tools).items()}

    def lua_servers(self) -> list[str]:
        return list(self._server_names())

    async def _lua_tools(self) -> dict[str, dict[str, str]]:
        """Server -> the tool's own name -> its identifier."""
        tools = await self._visible_servers.tools()
        return {server: {name: lua for lua, name in identifiers(some).items()} for server, some in tools.items()}

    def _server_names(self) -> dict[str, str]:
        return identifiers(self._visible_servers.names, GLOBALS)

    async def _tools_of(self, server: str) -> tuple[str, str, dict[str, dict[str, Any]]]:
        """Return a server's identifier, its name, and its tools by name."""
        lua, name = resolve(server, self._server_names(), "server")
        return lua, name, (await self._visible_servers.tools(name))[name]

    async def _tool(self, server: str, tool: str) -> tuple[str, str, str, str, dict[str, Any]]:
        """Return identifier and name of the server, identifier and name of the tool, and the listed tool."""
        lua_server, name, tools = await self._tools_of(server)
        lua, local_name = resolve(tool, identifiers(tools), f"tool of server {name!r}")
        return lua_server, name, lua, local_name, tools[local_name]


def resolve(identifier_or_name: str, known: Mapping[str, str], kind: str) -> tuple[str, str]:
    """Resolve an identifier or a name to both, or raise `UnknownName`."""
    if identifier_or_name in known:
        return identifier_or_name, known[identifier_or_name]
    lua = next((lua for lua, name in known.items() if name == identifier_or_name), None)
    if lua is not None:
        return lua, identifier_or_name
    raise UnknownName(
        f"{identifier_or_name[:80]!r} is no {kind}: {instead(identifier_or_name, known)}",
        nearest=nearest(identifier_or_name, known),
    )


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    return fields[key] if isinstance(fields.get(key), str) and fields[key] else None


def _without_none(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
