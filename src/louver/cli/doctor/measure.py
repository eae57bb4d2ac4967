"""What the servers of one file cost: their lists, instructions and answers, alone and behind a real gateway.

The gateway runs in this process. It lists the tools in each exposure to a client with the host's name, and that client
requests descriptions as a model would. Of answers, sizes are counted; their values are kept until the command ends.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.hosts import host_of
from louver.cli import terminal, upstreams
from louver.cli.doctor.answers import call_tools, harmless, named
from louver.cli.samples import tools_by_name
from louver.core.json import compact
from louver.gateway.gateway import UpstreamState
from louver.gateway.routing.aggregate import SEPARATOR
from louver.limits import DOCTOR_START_S, MAX_DESCRIBED_TOOLS
from louver.protocol.names import DESCRIPTIONS_TOOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp import Client
    from mcp_types import CallToolResult

    from louver.catalogue.hosts import Host
    from louver.cli.doctor.answers import AnswerCost, Calls
    from louver.cli.samples import SampledTool
    from louver.gateway.config.model import Config, DisclosureLevel, Exposure, UpstreamConfig
    from louver.gateway.gateway import Gateway

# Exposure -> when a tool runs. `discovery` is missing: its price depends on the scripts that a model writes.
EXPOSURES: Final[Mapping[Exposure, DisclosureLevel]] = {
    "full": "enforce",
    "minimal": "on-error",
    "gateway": "enforce",
}

_SEARCH_LIMIT: Final = 5  # tools that a model requests from one search


@dataclass(frozen=True, slots=True)
class ListCost:
    """The tokens of the tools in a list, and of what a model needs to use them."""

    servers: Mapping[str, int]  # by server; Louver's own tools are not among them
    own: int = 0  # of the tools that Louver adds
    instructions: int = 0
    describing: float = 0  # what a model reads and writes on average before it first calls a tool
    calling: float = 0  # the form of a call on average, without its arguments

    @property
    def total(self) -> int:
        return sum(self.servers.values()) + self.own


@dataclass(frozen=True, slots=True)
class Measurement:
    states: Sequence[UpstreamState]
    today: ListCost
    exposures: Mapping[Exposure, ListCost]
    answers: Sequence[AnswerCost]

    @property
    def tools(self) -> int:
        return sum(len(state.tools) for state in self.states)

    @property
    def names(self) -> set[str]:
        """The names by which a call can be requested."""
        pairs = [(state.name, tool["name"]) for state in self.states for tool in state.tools]
        return {name for _, name in pairs} | {f"{server}{SEPARATOR}{name}" for server, name in pairs}


async def measure(
    config: Config,
    clients: Sequence[str | None],
    calls: Calls,
    *,
    call_others: bool,
) -> list[Measurement]:
    """Start the servers and count, for each client's name; `call_others`: also call tools that only read."""
    # One process of each server, whichever client lists its tools.
    config = replace(config, upstreams=tuple(replace(each, isolation="shared") for each in config.upstreams))

    async def opener(gateway: Gateway) -> list[UpstreamState]:
        return list(await asyncio.gather(*(_start(gateway, upstream) for upstream in config.upstreams)))

    async with upstreams.open_gateway(config, opener) as (gateway, states):
        available = {state.name for state in states if state.problem is None}
        config = replace(config, upstreams=tuple(each for each in config.upstreams if each.name in available))
        started = [state for state in states if state.name in available]
        if not any(state.tools for state in started):
            return [Measurement(states, ListCost({state.name: 0 for state in started}), {}, [])] * len(clients)
        tools = tools_by_name(started)
        chosen = named(tools, calls) + (harmless(tools) if call_others else [])
        answers = await call_tools(gateway, tools, chosen)
        costs: dict[Host, dict[Exposure, ListCost]] = {}
        for client in clients:
            if (host := host_of(client)) not in costs:
                costs[host] = await _exposures(gateway, config, client, tools)
    return [Measurement(states, _today(started), costs[host_of(client)], answers) for client in clients]


async def _exposures(
    gateway: Gateway, config: Config, client: str | None, tools: Mapping[str, SampledTool]
) -> dict[Exposure, ListCost]:
    """What the gateway lists to a client in each exposure that its host can use."""
    found: dict[Exposure, ListCost] = {}
    for exposure, disclosure in EXPOSURES.items():
        # A host that loads tools on demand needs their names in its own list.
        if exposure == "full" or not host_of(client).defers:
            await gateway.reconfigure(replace(config, exposure=exposure, disclosure=disclosure))
            found[exposure] = await _exposed(gateway, exposure, client, tools)
    return found


async def _start(gateway: Gateway, upstream: UpstreamConfig) -> UpstreamState:
    began = time.monotonic()
    try:
        async with asyncio.timeout(DOCTOR_START_S):
            state = await gateway.state_of(upstream)
    except TimeoutError:
        problem = f"it has not listed its tools within {DOCTOR_START_S:g} s"
        state = UpstreamState(upstream.name, upstream.transport, None, [], problem)
    seconds = time.monotonic() - began
    terminal.print_stderr(f"{state.name}: {state.problem or f'{len(state.tools)} tools'}, {seconds:.1f} s")
    return state


def _today(states: Sequence[UpstreamState]) -> ListCost:
    names = [tool["name"] for state in states for tool in state.tools]
    return ListCost(
        {state.name: sum(_tokens_of(tool) for tool in state.tools) for state in states},
        instructions=sum(terminal.list_tokens(len(state.instructions)) for state in states),
        calling=_mean([_call_tokens(name, {}) for name in names]),
    )


async def _exposed(
    gateway: Gateway, exposure: Exposure, client: str | None, tools: Mapping[str, SampledTool]
) -> ListCost:
    # Imported here: only this needs the SDK's client.
    from mcp import Client
    from mcp_types import Implementation

    info = Implementation(name=client or "louver-doctor", version="1")
    async with Client(gateway.server, client_info=info, mode="legacy") as connected:
        servers = dict.fromkeys((tool.server for tool in tools.values()), 0)
        own = 0
        cursor = None
        while True:
            page = await connected.list_tools(cursor=cursor)
            for listed in page.tools:
                size = _tokens_of(
                    {"name": listed.name, "description": listed.description, "inputSchema": listed.input_schema}
                )
                if listed.name in tools:
                    servers[tools[listed.name].server] += size
                else:
                    own += size
            if (cursor := page.next_cursor) is None:
                break
        names = _spread([*tools])
        describing = [await _describe(connected, exposure, name) for name in names]
        calling = [_call_tokens(*_call_of(exposure, name)) for name in tools]
        instructions = terminal.list_tokens(len(connected.instructions or ""))
        return ListCost(servers, own, instructions, _mean(describing), _mean(calling))


async def _describe(connected: Client, exposure: Exposure, name: str) -> int:
    """The tokens of the calls with which a model finds and reads about a tool, and of their results."""
    requests: list[tuple[str, dict[str, Any]]] = []
    if exposure == "minimal":
        requests = [(DESCRIPTIONS_TOOL, {"tools": [name]})]
    elif exposure == "gateway":
        query = name.replace("_", " ").strip()[:100] or name[:100]
        search = {"action": "search", "query": query, "limit": _SEARCH_LIMIT}
        requests = [("gateway", search), ("gateway", {"action": "get", "id": name})]
    return sum([_call_tokens(*each) + _text_tokens(await connected.call_tool(*each)) for each in requests])


def _call_of(exposure: Exposure, name: str) -> tuple[str, dict[str, Any]]:
    return ("gateway", {"action": "call", "id": name, "arguments": {}}) if exposure == "gateway" else (name, {})


def _text_tokens(result: CallToolResult) -> int:
    return terminal.list_tokens(sum(len(block.text) for block in result.content if block.type == "text"))


def _tokens_of(tool: Mapping[str, Any]) -> int:
    """The tokens of a tool as a model sees it."""
    shown = {key: tool[key] for key in ("name", "description", "inputSchema") if tool.get(key) is not None}
    return terminal.list_tokens(len(compact(shown)))


def _call_tokens(name: str, arguments: Mapping[str, Any]) -> int:
    return terminal.tokens(len(compact({"name": name, "arguments": arguments})))


def _spread(names: Sequence[str]) -> Sequence[str]:
    """At most `MAX_DESCRIBED_TOOLS` names, from beginning to end."""
    count = min(len(names), MAX_DESCRIBED_TOOLS)
    return [names[position * len(names) // count] for position in range(count)]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0
