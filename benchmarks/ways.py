"""How a model gets at the tools of the recorded session, in each exposure: what it calls besides, and how it is called.

    direct       search_nodes {"query": "Ada"}
    full         memory__search_nodes {"query": "Ada"}
    minimal      get_tool_descriptions {"tools": ["memory__search_nodes"]}, once; memory__search_nodes {"query": "Ada"}
    on_error     memory__search_nodes {}, refused with its description, once; memory__search_nodes {"query": "Ada"}
    discovery    list-servers, list-server-tools, tool-details, once each; execute {"script": "result(...)"}
    gateway      gateway {"action": "search"}, {"action": "get"}, once each; {"action": "call"}

A way is a function of a talk and a step. What was read once in a talk is remembered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.garden import QUERIES
from louver.core.json import compact, members
from louver.protocol.names import ARGUMENT, DESCRIPTIONS_TOOL, GRANT, GRANT_ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp import Client
    from mcp_types import CallToolResult, Tool

    from benchmarks.garden import Step

    Way = Callable[["Talk", Step], Awaitable[None]]

FOUND = 5
"""How many tools a model wants to be told of when it searches."""


@dataclass
class Talk:
    """One session: who is asked, and what was said.

    Args:
        clients: By server; under `""` one that has them all.
        tools: What they list.
        views: Server and tool -> the view that is asked for.
        said: Each call, as the model writes it, and its answer.
        grants: Tool -> what must be copied into its calls.
        random: Texts that are others in each run.
    """

    clients: Mapping[str, Client]
    tools: list[Tool]
    views: Mapping[tuple[str, str], str] = field(default_factory=dict)
    said: list[tuple[str, CallToolResult]] = field(default_factory=list)
    grants: dict[str, str] = field(default_factory=dict)
    random: list[str] = field(default_factory=list)
    _read: set[str] = field(default_factory=set)

    def is_new(self, what: str) -> bool:
        """Whether that has not been read yet; from now on it has."""
        known = what in self._read
        self._read.add(what)
        return not known

    async def ask(
        self, tool: str, arguments: dict[str, Any], server: str = "", *, refused: bool = False
    ) -> CallToolResult:
        """The answer to a call, which must be an error where the call is refused, and nowhere else."""
        result = await self.clients[server].call_tool(tool, arguments)
        assert result.is_error == refused, f"{tool}: {text_of(result)}"
        self.said.append((compact({"name": tool, "arguments": arguments}), result))
        return result


def text_of(result: CallToolResult) -> str:
    """The text blocks of an answer."""
    return "\n".join(block.text for block in result.content if block.type == "text")


async def direct(talk: Talk, step: Step) -> None:
    """Each server is a server of the host's."""
    await talk.ask(step.tool, step.arguments, step.server)


async def full(talk: Talk, step: Step) -> None:
    """All tools are listed whole; where there is a view, it is asked for."""
    view = talk.views.get((step.server, step.tool))
    asked = {} if view is None else {ARGUMENT: by_view(view)}
    await talk.ask(step.listed, {**step.arguments, **asked})


def by_view(view: str) -> list[str]:
    """What the argument is given for a view."""
    return [f"view:{view}"]


async def minimal(talk: Talk, step: Step) -> None:
    """A description is read before a tool is first called; a grant that it has is copied into each call."""
    if talk.is_new(step.listed):
        result = await talk.ask(DESCRIPTIONS_TOOL, {"tools": [step.listed]})
        described = json.loads(text_of(result))[step.listed]
        grant = members(members(described["inputSchema"].get("properties")).get(GRANT_ARGUMENT)).get("const")
        if grant is not None:
            talk.grants[step.listed] = grant
        talk.random += [each for each in (grant, (result.meta or {}).get(GRANT)) if each is not None]
    granted = {GRANT_ARGUMENT: talk.grants[step.listed]} if step.listed in talk.grants else {}
    await talk.ask(step.listed, {**step.arguments, **granted})


async def on_error(talk: Talk, step: Step) -> None:
    """A tool is first called without knowing how: with nothing. The error is its description."""
    if talk.is_new(step.listed):
        await talk.ask(step.listed, {}, refused=True)
    await talk.ask(step.listed, step.arguments)


async def discovery(talk: Talk, step: Step) -> None:
    """Servers, then the tools of one, then one tool; called by a script where there are scripts."""
    server, tool = _identifier(step.server), _identifier(step.tool)
    if talk.is_new(""):
        await talk.ask("list-servers", {})
    if talk.is_new(server):
        await talk.ask("list-server-tools", {"luaServerName": server})
    if talk.is_new(step.listed):
        await talk.ask("tool-details", {"luaServerName": server, "luaToolName": tool})
    if any(tool.name == "execute" for tool in talk.tools):
        script = f"result({server}.{tool}({_lua(step.arguments)}):await())"
        await talk.ask("execute", {"script": script})
    else:
        await talk.ask(step.listed, step.arguments)


async def gateway(talk: Talk, step: Step) -> None:
    """A search, and a look at what it has found."""
    if talk.is_new(step.listed):
        found = await talk.ask("gateway", {"action": "search", "query": QUERIES[step.tool], "limit": FOUND})
        assert f'"{step.listed}"' in compact(found.structured_content), f"{QUERIES[step.tool]!r} does not find it"
        await talk.ask("gateway", {"action": "get", "id": step.listed})
    await talk.ask("gateway", {"action": "call", "id": step.listed, "arguments": step.arguments})


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _lua(value: Any) -> str:
    """A value as a script has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_lua(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(_lua, value)) + "}"
    return json.dumps(value, ensure_ascii=False)
