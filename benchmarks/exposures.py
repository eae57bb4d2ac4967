"""The calls that a model makes for one step of the recorded session, in each exposure of the gateway.

direct       search_nodes {"query": "Ada"}
full         memory__search_nodes {"query": "Ada"}
minimal      get_tool_descriptions, once a tool; memory__search_nodes {"query": "Ada"}
on_error     memory__search_nodes {}, once a tool: the error is the description; then as above
discovery    list-servers, list-server-tools, tool-details, once each; execute {"script": "result(...)"}
gateway      gateway {"action": "search"}, {"action": "get"}, once a tool; {"action": "call"}
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.recorded_session import QUERIES
from louver.core.json import compact, members
from louver.protocol.names import ARGUMENT, DESCRIPTIONS_TOOL, GRANT, GRANT_ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp import Client
    from mcp_types import CallToolResult, Tool

    from benchmarks.recorded_session import Step

    Exposure = Callable[["AgentSession", Step], Awaitable[None]]

SEARCH_LIMIT = 5
"""Tools that a model requests from one search."""


@dataclass
class AgentSession:
    """The clients of one host, and the calls made so far.

    Args:
        clients: By server; the key is `""` if one client reaches all servers.
        tools: The tools that the clients list.
        views: Server and tool -> the view that the model requests.
        exchanges: Each call, as the model writes it, and its result.
        grants: Tool -> the grant that its calls carry.
        volatile: Texts that differ from run to run.
    """

    clients: Mapping[str, Client]
    tools: list[Tool]
    views: Mapping[tuple[str, str], str] = field(default_factory=dict)
    exchanges: list[tuple[str, CallToolResult]] = field(default_factory=list)
    grants: dict[str, str] = field(default_factory=dict)
    volatile: list[str] = field(default_factory=list)
    _used: set[str] = field(default_factory=set)

    def first_use(self, name: str) -> bool:
        """Whether this is the first time that the session uses a name."""
        known = name in self._used
        self._used.add(name)
        return not known

    async def call(
        self, tool: str, arguments: dict[str, Any], server: str = "", *, fails: bool = False
    ) -> CallToolResult:
        """Call a tool and record the result; an unexpected error stops the benchmark."""
        result = await self.clients[server].call_tool(tool, arguments)
        assert result.is_error == fails, f"{tool}: {text_of(result)}"
        self.exchanges.append((compact({"name": tool, "arguments": arguments}), result))
        return result


def text_of(result: CallToolResult) -> str:
    """The text blocks of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


async def direct(session: AgentSession, step: Step) -> None:
    """The host connects to each server itself."""
    await session.call(step.tool, step.arguments, step.server)


async def full(session: AgentSession, step: Step) -> None:
    """The gateway lists all tools whole; the model requests the tool's view, if it has one."""
    view = session.views.get((step.server, step.tool))
    requested = {} if view is None else {ARGUMENT: [f"view:{view}"]}
    await session.call(step.listed, {**step.arguments, **requested})


async def minimal(session: AgentSession, step: Step) -> None:
    """The model reads a description before it first calls a tool, and copies the grant, if there is one."""
    if session.first_use(step.listed):
        result = await session.call(DESCRIPTIONS_TOOL, {"tools": [step.listed]})
        description = json.loads(text_of(result))[step.listed]
        grant = members(members(description["inputSchema"].get("properties")).get(GRANT_ARGUMENT)).get("const")
        if grant is not None:
            session.grants[step.listed] = grant
        session.volatile += [each for each in (grant, (result.meta or {}).get(GRANT)) if each is not None]
    granted = {GRANT_ARGUMENT: session.grants[step.listed]} if step.listed in session.grants else {}
    await session.call(step.listed, {**step.arguments, **granted})


async def on_error(session: AgentSession, step: Step) -> None:
    """The model first calls a tool without arguments, and the error describes it."""
    if session.first_use(step.listed):
        await session.call(step.listed, {}, fails=True)
    await session.call(step.listed, step.arguments)


async def discovery(session: AgentSession, step: Step) -> None:
    """The model looks at the servers, a server's tools and a tool's details; scripts call tools, if they can."""
    server, tool = _identifier(step.server), _identifier(step.tool)
    if session.first_use("list-servers"):
        await session.call("list-servers", {})
    if session.first_use(server):
        await session.call("list-server-tools", {"luaServerName": server})
    if session.first_use(step.listed):
        await session.call("tool-details", {"luaServerName": server, "luaToolName": tool})
    if any(tool.name == "execute" for tool in session.tools):
        script = f"result({server}.{tool}({_lua(step.arguments)}):await())"
        await session.call("execute", {"script": script})
    else:
        await session.call(step.listed, step.arguments)


async def gateway(session: AgentSession, step: Step) -> None:
    """The model searches for a tool and looks at it before it first calls it."""
    if session.first_use(step.listed):
        search = {"action": "search", "query": QUERIES[step.tool], "limit": SEARCH_LIMIT}
        matches = await session.call("gateway", search)
        assert f'"{step.listed}"' in compact(matches.structured_content), f"{QUERIES[step.tool]!r} does not find it"
        await session.call("gateway", {"action": "get", "id": step.listed})
    await session.call("gateway", {"action": "call", "id": step.listed, "arguments": step.arguments})


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _lua(value: Any) -> str:
    """A JSON value as a Lua literal."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_lua(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(_lua, value)) + "}"
    return json.dumps(value, ensure_ascii=False)
