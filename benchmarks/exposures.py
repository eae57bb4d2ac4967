"""The calls that a model makes for one step of the recorded session, in each exposure of the gateway.

direct       search_nodes {"query": "Ada"}
full         memory__search_nodes {"query": "Ada"}, with `output_fields` where the model names fields
deferred     the same for a tool that is listed; else search_tools {"query"}, once a tool, and {"tool", "arguments"}
minimal      get_tool_descriptions, once a tool; memory__search_nodes {"query": "Ada"}
on_error     memory__search_nodes {}, once a tool: the error is the description; then as above
discovery    list-servers, list-server-tools, tool-details, once each; execute {"script": "result(...)"}
gateway      gateway {"action": "search"}, once a tool, and {"action": "get"} unless that has described it; "call"
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.recorded_session import QUERIES
from louver.core.json import compact
from louver.wire.names import ARGUMENT, DESCRIPTIONS_TOOL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

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
        fields: Tool -> the fields that the model names.
        exchanges: Each call, as the model writes it, and its result.
    """

    clients: Mapping[str, Client]
    tools: list[Tool]
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    exchanges: list[tuple[str, CallToolResult]] = field(default_factory=list)
    _used: set[str] = field(default_factory=set)

    def first_use(self, name: str) -> bool:
        """Whether this is the first time that the session uses a name."""
        known = name in self._used
        self._used.add(name)
        return not known

    def arguments(self, step: Step) -> dict[str, Any]:
        """The arguments of a step, with the fields that the model names."""
        fields = self.fields.get(step.tool)
        return step.arguments if fields is None else {**step.arguments, ARGUMENT: fields}

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
    """The gateway lists all tools whole."""
    await session.call(step.listed, session.arguments(step))


async def deferred(session: AgentSession, step: Step) -> None:
    """The gateway lists those tools whole that were in use; one tool finds and calls the others."""
    names = {tool.name for tool in session.tools}
    if step.listed in names or "search_tools" not in names:
        await session.call(step.listed, session.arguments(step))
        return
    if session.first_use(step.listed):
        matches = await session.call("search_tools", {"query": QUERIES[step.tool]})
        assert f"{step.listed}{{" in text_of(matches), f"{QUERIES[step.tool]!r} does not find it"
    await session.call("search_tools", {"tool": step.listed, "arguments": session.arguments(step)})


async def minimal(session: AgentSession, step: Step) -> None:
    """The model reads a description before it first calls a tool."""
    if session.first_use(step.listed):
        await session.call(DESCRIPTIONS_TOOL, {"tools": [step.listed]})
    await session.call(step.listed, step.arguments)


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
        matches = text_of(await session.call("gateway", search))
        assert step.listed in matches, f"{QUERIES[step.tool]!r} does not find it"
        if f"{step.listed}{{" not in matches:
            await session.call("gateway", {"action": "get", "id": step.listed})
    fields = {"fields": session.fields[step.tool]} if step.tool in session.fields else {}
    await session.call("gateway", {"action": "call", "id": step.listed, "arguments": step.arguments, **fields})


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _lua(value: Any) -> str:
    """A JSON value as a Lua literal."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_lua(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(_lua, value)) + "}"
    return json.dumps(value, ensure_ascii=False)
