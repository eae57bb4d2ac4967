"""Discovery as 003 has it: four questions about what stands behind the gateway, answered with JSON values.

    list_servers()                               who is there
    list_server_tools("calculator")              what it can do, in a line each
    tool_details("calculator", "add")            how one tool is called, and what its output has
    inspect_tool_response("calculator", "add", {"a": 1, "b": 2})    the shape of a real answer

Servers and tools are named by their Lua identifiers, or as they name themselves. What is answered is what
`schemas/discovery.schema.json` says; `texts.py` says the same to models in words.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, get_args

from louver.catalogue.summary import summary
from louver.concurrency.offload import by_turns
from louver.core.choices import check_choice
from louver.core.nearest import instead, nearest
from louver.errors import NotReadOnly, UnknownName
from louver.gateway.discovery.described import described, is_read_only, shape
from louver.gateway.discovery.identifiers import identifiers
from louver.gateway.scripting.sandbox import GLOBALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.gateway.discovery.behind import Behind

Inspect = Literal["readOnly", "all"]
"""Which tools a sample call may run: those that say of themselves that they only read, or all."""


class DiscoveryService:
    """The four questions.

    Args:
        behind: The servers, for whoever asks.
        inspect: Which tools a sample call may run.

    Raises:
        LouverError: There is no such `inspect`.
    """

    def __init__(self, behind: Behind, inspect: Inspect = "readOnly") -> None:
        check_choice("inspect", inspect, get_args(Inspect))
        self._behind = behind
        self._inspect: Inspect = inspect

    async def list_servers(self) -> dict[str, Any]:
        """All servers: `{"servers": [{"name", "luaName", "state", "description"?, "version"?, "instructions"?}]}`."""
        # Asked first: by then it is known what they are called.
        servers = await self._behind.servers()
        names = {name: lua for lua, name in self._servers().items()}
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
        """The tools of a server: `{"server", "luaName", "tools": [{"name", "luaName", "description"}]}`.

        Raises:
            UnknownName: There is no such server.
            UpstreamUnavailable: It is not there, or does not list its tools.
        """
        lua, name, tools = await self._tools_of(server)
        listed = [
            {"name": own, "luaName": one, "description": summary(tools[own].get("description"), own)}
            async for one, own in by_turns(identifiers(tools).items())
        ]
        return {"server": name, "luaName": lua, "tools": listed}

    async def tool_details(self, server: str, tool: str) -> dict[str, Any]:
        """How a tool is called, and what its output has: `described.py`, with its names before that.

        `{"server", "luaServerName", "name", "luaName", "callName", ...}`

        Raises:
            UnknownName: There is no such server or tool.
        """
        lua_server, name, lua, own, listed = await self._tool(server, tool)
        said = {"server": name, "luaServerName": lua_server, "name": own, "luaName": lua, "callName": listed["name"]}
        return {**said, **described(listed)}

    async def inspect_tool_response(
        self, server: str, tool: str, arguments: Mapping[str, Any] | None = None, *, full: bool = False
    ) -> dict[str, Any]:
        """The shape of a real answer, for which the tool is called once (`shapes.py`).

        Args:
            server: The server.
            tool: The tool.
            arguments: Of the call.
            full: Whether the answer itself is told too.

        Raises:
            UnknownName: There is no such server or tool.
            NotReadOnly: The tool does not say that it only reads, and just such tools may be run.
            ToolFailed: It answers with an error.
        """
        lua_server, name, lua, own, listed = await self._tool(server, tool)
        if self._inspect == "readOnly" and not is_read_only(listed):
            raise NotReadOnly(
                f"tool {own!r} of server {name!r} does not say that it only reads, so it is not run for a look: "
                "'tool-details' tells its parameters",
                server=name,
                tool=own,
            )
        result = await self._behind.answer(listed["name"], arguments or {}, None, f"{lua_server}.{lua}")
        seen = await asyncio.to_thread(shape, result, full=full)
        return {"server": name, "luaServerName": lua_server, "name": own, "luaName": lua, **seen}

    async def call_names(self, server: str) -> dict[str, str]:
        """By which names the tools of a server are called: identifier -> name as it is listed.

        Raises:
            UnknownName: There is no such server.
            UpstreamUnavailable: It is not there, or does not list its tools.
        """
        _, _, tools = await self._tools_of(server)
        return {lua: tools[own]["name"] for lua, own in identifiers(tools).items()}

    def lua_servers(self) -> list[str]:
        """The Lua identifiers of all servers."""
        return list(self._servers())

    def _servers(self) -> dict[str, str]:
        return identifiers(self._behind.names, GLOBALS)

    async def _tools_of(self, server: str) -> tuple[str, str, dict[str, dict[str, Any]]]:
        """A server's identifier, its name, and its tools."""
        lua, name = found(server, self._servers(), "server")
        return lua, name, (await self._behind.tools(name))[name]

    async def _tool(self, server: str, tool: str) -> tuple[str, str, str, str, dict[str, Any]]:
        """Identifier and name of a server, likewise of its tool, and the tool as it is listed."""
        lua_server, name, tools = await self._tools_of(server)
        lua, own = found(tool, identifiers(tools), f"tool of server {name!r}")
        return lua_server, name, lua, own, tools[own]


def found(said: str, known: Mapping[str, str], what: str) -> tuple[str, str]:
    """The identifier and the name that were meant.

    Raises:
        UnknownName: None was.
    """
    if said in known:
        return said, known[said]
    lua = next((lua for lua, name in known.items() if name == said), None)
    if lua is not None:
        return lua, said
    raise UnknownName(f"{said[:80]!r} is no {what}: {instead(said, known)}", nearest=nearest(said, known))


def _text(said: Mapping[str, Any], key: str) -> str | None:
    return said[key] if isinstance(said.get(key), str) and said[key] else None


def _without_none(**said: Any) -> dict[str, Any]:
    return {key: value for key, value in said.items() if value is not None}
