"""What the servers of one file cost: their lists, instructions and answers, alone and behind a real gateway.

The gateway runs in this process. It lists the tools in each exposure to a client with the host's name, and that client
requests descriptions as a model would. Of answers, sizes are counted; their values are kept until the command ends.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.hosts import host_of
from louver.catalogue.suggest_view import suggest
from louver.cli import terminal, upstreams
from louver.cli.samples import NoSample, tools_by_name
from louver.core.json import compact, members
from louver.errors import LouverError, NotReadOnly
from louver.gateway.gateway import UpstreamState
from louver.gateway.routing.aggregate import SEPARATOR
from louver.limits import DOCTOR_CALL_S, DOCTOR_START_S, MAX_DESCRIBED_TOOLS, MAX_DOCTOR_CALLS
from louver.protocol.names import DESCRIPTIONS_TOOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp import Client
    from mcp_types import CallToolResult

    from louver.catalogue.hosts import Host
    from louver.catalogue.suggest_view import Suggestion
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
class AnswerCost:
    """The answers of one tool."""

    tool: SampledTool
    structured: int  # tokens of an answer on average, in hosts that show structured content
    text: int  # the same in other hosts
    suggestion: Suggestion | None

    @property
    def name(self) -> str:
        return self.tool.definition["name"]

    def shown(self, form: str) -> int:
        return self.structured if form == "structured" else self.text

    def with_view(self, form: str) -> int:
        """The tokens of an answer that the suggested view trims; those of the answer itself if that is shorter."""
        if self.suggestion is None or not self.suggestion.include:
            return self.shown(form)
        return min(self.shown(form), terminal.tokens(self.suggestion.kept // self.suggestion.samples))


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


Calls = list[tuple[str, dict[str, Any]]]


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
        chosen = _named(tools, calls) + (_harmless(tools) if call_others else [])
        answers = await _answers(gateway, tools, chosen)
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


def _named(tools: Mapping[str, SampledTool], calls: Calls) -> Calls:
    """The calls of tools that are here, named alone or with their server."""
    names = {tool.definition["name"]: name for name, tool in tools.items()} | {name: name for name in tools}
    names |= {f"{tool.server}{SEPARATOR}{tool.definition['name']}": name for name, tool in tools.items()}
    found = [(names[name], arguments) for name, arguments in calls if name in names]
    for name, _ in found:
        if not tools[name].is_read_only:
            raise NotReadOnly(f"tool {name!r} does not say that it only reads, so it is not called: leave it out")
    return found


def _harmless(tools: Mapping[str, SampledTool]) -> Calls:
    """Calls of tools that say that they only read, and that need no arguments."""
    calls: Calls = [
        (name, {})
        for name, tool in tools.items()
        if tool.is_read_only and not members(tool.definition.get("inputSchema")).get("required")
    ]
    return calls[:MAX_DOCTOR_CALLS]


async def _answers(gateway: Gateway, tools: Mapping[str, SampledTool], calls: Calls) -> list[AnswerCost]:
    """Make the calls, all at once; report those without a usable answer."""

    async def size_of(name: str, arguments: dict[str, Any]) -> tuple[int, int] | None:
        try:
            async with asyncio.timeout(DOCTOR_CALL_S):
                result = await tools[name].result(gateway, arguments)
            if result.get("isError") is True:
                raise NoSample("the tool answers with an error")
        except TimeoutError:
            terminal.print_stderr(f"{name}: no answer within {DOCTOR_CALL_S:g} s")
            return None
        except (NoSample, LouverError) as problem:
            terminal.print_stderr(f"{name}: {problem}")
            return None
        # An answer of text has a size, and no fields.
        with suppress(NoSample):
            tools[name].add(result)
        return _shown_sizes(result)

    sizes = await asyncio.gather(*(size_of(*call) for call in calls))
    found: dict[str, list[tuple[int, int]]] = {}
    for (name, _), size in zip(calls, sizes, strict=True):
        if size is not None:
            found.setdefault(name, []).append(size)
    return [_answer(tools[name], of_tool) for name, of_tool in found.items()]


def _answer(tool: SampledTool, sizes: Sequence[tuple[int, int]]) -> AnswerCost:
    schema = tool.definition.get("outputSchema")
    suggestion = suggest(tool.definition["name"], schema, tool.samples) if tool.samples else None
    structured, text = (round(_mean([terminal.tokens(each[form]) for each in sizes])) for form in (0, 1))
    return AnswerCost(tool, structured, text, suggestion)


def _shown_sizes(result: Mapping[str, Any]) -> tuple[int, int]:
    """The characters of a result that a model sees: of its structured content if there is any, and of its text."""
    blocks: list[Any] = result.get("content") or []
    text = sum(len(str(members(block).get("text", ""))) for block in blocks)
    structured = result.get("structuredContent")
    return (text if structured is None else len(compact(structured))), text


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
