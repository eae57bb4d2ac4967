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
from louver.cli.process import CATALOGUES, state
from louver.core.json import compact
from louver.desk.doctor.answers import call_tools, harmless, named
from louver.desk.samples import tools_by_name
from louver.gateway.builtin.deferred import MIN_DEFERRED_TOOLS, SEARCH_TOOL
from louver.gateway.gateway import UpstreamState
from louver.gateway.routing.aggregate import SEPARATOR
from louver.limits import DOCTOR_START_S
from louver.wire.names import DESCRIPTIONS_TOOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp import Client
    from mcp_types import CallToolResult

    from louver.catalogue.hosts import Host
    from louver.desk.doctor.answers import AnswerCost, Calls
    from louver.desk.samples import SampledTool
    from louver.gateway.config.model import Config, DisclosureLevel, Exposure, UpstreamConfig
    from louver.gateway.gateway import Gateway

MAX_DESCRIBED_TOOLS = 16
"""Tools whose descriptions are requested to find out what one costs on average, spread evenly over all."""


# Exposure -> when a tool runs. `discovery` is missing: its price depends on the scripts that a model writes.
EXPOSURES: Final[Mapping[Exposure, DisclosureLevel]] = {
    "full": "enforce",
    "deferred": "enforce",
    "minimal": "on-error",
    "gateway": "enforce",
}

_SEARCH_LIMIT: Final = 5  # tools that a model requests from one search

# Tools of a conversation, and those among them that the conversations before it did not use.
CONVERSATION_TOOLS: Final = 8
NEW_TOOLS: Final = 2


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


async def measure(wanted: Sequence[tuple[Config, str | None]], calls: Calls, *, call_others: bool) -> list[Measurement]:
    """What the servers of each configuration cost a client of this name; `call_others`: also call tools that only read.

    The servers of the first configuration are started; each further one has some of them.
    """
    # One process of each server, whichever client lists its tools.
    configs = [
        replace(config, upstreams=tuple(replace(each, isolation="shared") for each in config.upstreams))
        for config, _ in wanted
    ]

    async def opener(gateway: Gateway) -> list[UpstreamState]:
        return list(await asyncio.gather(*(_start(gateway, upstream) for upstream in configs[0].upstreams)))

    async with upstreams.open_gateway(configs[0], opener, state(CATALOGUES)) as (gateway, states):
        tools = tools_by_name([state for state in states if state.problem is None])
        chosen = named(tools, calls) + (harmless(tools) if call_others else [])
        answers = await call_tools(gateway, tools, chosen)
        costs: dict[tuple[frozenset[str], Host], Measurement] = {}
        found: list[Measurement] = []
        for config, (_, client) in zip(configs, wanted, strict=True):
            key = frozenset(each.name for each in config.upstreams), host_of(client)
            if key not in costs:
                costs[key] = await _measured(gateway, config, client, states, answers)
            found.append(costs[key])
        return found


async def _measured(
    gateway: Gateway,
    config: Config,
    client: str | None,
    all_states: Sequence[UpstreamState],
    all_answers: Sequence[AnswerCost],
) -> Measurement:
    """What the servers of a configuration cost, of those that the gateway has started."""
    names = {each.name for each in config.upstreams}
    states = [state for state in all_states if state.name in names]
    started = [state for state in states if state.problem is None]
    if not any(state.tools for state in started):
        return Measurement(states, ListCost({state.name: 0 for state in started}), {}, [])
    available = {state.name for state in started}
    config = replace(config, upstreams=tuple(each for each in config.upstreams if each.name in available))
    answers = [answer for answer in all_answers if answer.tool.server in available]
    exposures = await _exposures(gateway, config, client, tools_by_name(started))
    return Measurement(states, _today(started), exposures, answers)


async def _exposures(
    gateway: Gateway, config: Config, client: str | None, tools: Mapping[str, SampledTool]
) -> dict[Exposure, ListCost]:
    """What the gateway lists to a client in each exposure that its host can use."""
    found: dict[Exposure, ListCost] = {}
    for exposure, disclosure in EXPOSURES.items():
        # A host that loads tools on demand needs their names in its own list, and few tools are not deferred.
        is_for_few = exposure != "deferred" or len(tools) >= CONVERSATION_TOOLS + MIN_DEFERRED_TOOLS
        if exposure == "full" or (is_for_few and not host_of(client).defers):
            await gateway.reconfigure(replace(config, exposure=exposure, disclosure=disclosure, pinned=()))
            found[exposure] = await _exposed(gateway, exposure, client, tools)
    if "deferred" in found:
        found["deferred"] = _in_use(found["deferred"], found["full"], len(tools))
    return found


def _in_use(deferred: ListCost, full: ListCost, tools: int) -> ListCost:
    """The costs where tools in use are listed, of those with no tool listed and with all."""
    share = NEW_TOOLS / CONVERSATION_TOOLS
    listed = round(full.total * CONVERSATION_TOOLS / tools)
    return replace(
        deferred,
        own=deferred.own + listed,
        describing=deferred.describing * share,
        calling=deferred.calling * share + full.calling * (1 - share),
    )


async def _start(gateway: Gateway, upstream: UpstreamConfig) -> UpstreamState:
    began = time.monotonic()
    try:
        async with asyncio.timeout(DOCTOR_START_S):
            found = await gateway.state_of(upstream)
            # The first list of `louver serve` has them too.
            await gateway.upstreams[upstream.name].catalogue_kept()
    except TimeoutError:
        problem = f"it has not listed its tools within {DOCTOR_START_S:g} s"
        found = UpstreamState(upstream.name, upstream.transport, None, [], problem)
    seconds = time.monotonic() - began
    terminal.print_stderr(f"{found.name}: {found.problem or f'{len(found.tools)} tools'}, {seconds:.1f} s")
    return found


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
    calls: list[tuple[str, dict[str, Any]]] = []
    query = name.replace("_", " ").strip()[:100] or name[:100]
    if exposure == "minimal":
        calls = [(DESCRIPTIONS_TOOL, {"tools": [name]})]
    elif exposure == "deferred":
        calls = [(SEARCH_TOOL, {"query": query})]
    elif exposure == "gateway":
        search = {"action": "search", "query": query, "limit": _SEARCH_LIMIT}
        calls = [("gateway", search), ("gateway", {"action": "get", "id": name})]
    tokens, text = 0, ""
    for call in calls:
        # The best match is described already, to models of known hosts.
        if f"{name}{{" not in text:
            text = _text_of(await connected.call_tool(*call))
            tokens += _call_tokens(*call) + terminal.list_tokens(len(text))
    return tokens


def _call_of(exposure: Exposure, name: str) -> tuple[str, dict[str, Any]]:
    match exposure:
        case "gateway":
            return "gateway", {"action": "call", "id": name, "arguments": {}}
        case "deferred":
            return SEARCH_TOOL, {"tool": name, "arguments": {}}
        case _:
            return name, {}


def _text_of(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


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
