"""Sessions: the tokens that a model reads and writes in a recorded session with five stock servers, in each exposure.

    list            name, description and input schema of all tools
    instructions    the instructions of the servers
    calls           the calls that the model writes, including those that find and describe tools
    answers         their results, in each of the forms that hosts show: `structured`, `text`, `whole`
    total           the sum

Tokens are counted with o200k. The folder, the current day and grants are replaced by constants before counting.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TextIO

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks import exposures, figures
from benchmarks.chart import stacked
from benchmarks.exposures import AgentSession, text_of
from benchmarks.payloads import SEED
from benchmarks.proxies import LOUVER, louver
from benchmarks.recorded_session import SESSION, server_entries
from benchmarks.results import Group, Row
from louver.core.json import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_types import CallToolResult, Tool

    from benchmarks.exposures import Exposure
    from benchmarks.scenarios import Setting

PLACE = "/home/ada/garden"
"""The folder's name in the texts that are counted."""

LIST_TIMEOUT_S = 60
"""Longest wait for the tools of all servers, in seconds."""

_DAY = re.compile(r"\d{4}-\d\d-\d\dT|[A-Z][a-z]+day")


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to reach the servers.

    Args:
        name: The row's name.
        exposure: The calls that a step takes.
        settings: The gateway's settings; `None` without a gateway.
        over_http: Whether the host speaks 2026-07-28 over HTTP, which has no session, instead of 2025-11-25 over stdio.
        views: Whether the gateway has the views and schemas that `louver suggest` writes.
    """

    name: str
    exposure: Exposure
    settings: dict[str, Any] | None = field(default_factory=dict)
    over_http: bool = False
    views: bool = False


CONFIGURATIONS = (
    Configuration("direct", exposures.direct, None),
    Configuration("full", exposures.full),
    Configuration("full, views", exposures.full, views=True),
    Configuration("minimal", exposures.minimal, {"exposure": "minimal"}),
    Configuration("minimal, grants", exposures.minimal, {"exposure": "minimal"}, over_http=True),
    Configuration("minimal, on-error", exposures.on_error, {"exposure": "minimal", "disclosure": "on-error"}),
    Configuration("discovery", exposures.discovery, {"exposure": "discovery"}),
    Configuration("gateway", exposures.gateway, {"exposure": "gateway"}),
)
"""The first is the baseline."""

SHARED = ("list", "instructions", "calls")
"""The figures that are the same in all forms."""
ALL = "all"
"""The payload of those figures."""

FORMS: dict[str, Callable[[CallToolResult], str]] = {
    "structured": lambda result: (
        text_of(result) if result.structured_content is None else compact(result.structured_content)
    ),
    "text": text_of,
    "whole": lambda result: compact(result.model_dump(by_alias=True, mode="json", exclude_none=True)),
}
"""The forms in which hosts show a result to their models."""

HEADINGS = {
    "structured": "Hosts that show structured content, such as Claude Code and Codex",
    "text": "Hosts that show text, such as Gemini CLI and OpenCode",
    "whole": "Hosts that show the whole result, such as Google ADK and LlamaIndex",
}
"""Form -> the heading of its part of the chart."""


def run(setting: Setting) -> Iterator[Group]:
    """All configurations; none if the tokenizer is missing, or without peers, because the servers are downloaded."""
    if find_spec("bpe_openai") is None or not setting.peers:
        return
    import bpe_openai

    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        with (folder / "stderr").open("w", encoding="utf-8") as quiet:
            costs = {
                each.name: _costs(anyio.run(record_session, each, folder, quiet), encode) for each in CONFIGURATIONS
            }
    for figure in (*SHARED, "answers", "total"):
        for form in (ALL,) if figure in SHARED else FORMS:
            rows = tuple(Row.exact(name, cost[figure, form]) for name, cost in costs.items())
            yield Group(figure, form, 0, "tokens", CONFIGURATIONS[0].name, rows)


def table(groups: Sequence[Group]) -> list[str]:
    """The figures as lines of a Markdown table; answers and totals have one figure for each form."""
    found = {(group.case, group.payload): group for group in groups}
    lines = ["| | list | instructions | calls | answers | total | of direct |", "|---|---|---|---|---|---|---|"]
    for name in (row.name for row in groups[0].rows):

        def count(case: str, payload: str = ALL, name: str = name) -> str:
            return f"{found[case, payload].median(name):,.0f}"

        answers, totals = (" / ".join(count(case, form) for form in FORMS) for case in ("answers", "total"))
        ratios = " / ".join(figures.ratio(_ratio(found["total", form], name)) for form in FORMS)
        shared = " | ".join(count(case) for case in SHARED)
        lines.append(f"| {name} | {shared} | {answers} | {totals} | {ratios} |")
    return lines


def chart(groups: Sequence[Group]) -> str:
    """The totals as stacked bars, in each form."""
    found = {(group.case, group.payload): group for group in groups}
    panels = {
        heading: {
            row.name: {
                case: found[case, form if case == "answers" else ALL].median(row.name) or 0
                for case in (*SHARED, "answers")
            }
            for row in found["total", form].rows
        }
        for form, heading in HEADINGS.items()
    }
    return stacked("Tokens (o200k) of 16 calls to five MCP servers with 50 tools, by exposure", panels)


def _ratio(group: Group, name: str) -> float:
    [of, against] = [row.median for each in (name, group.baseline) for row in group.rows if row.name == each]
    return of / against


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a session.

    Args:
        tools: The list of each client's tools.
        instructions: The instructions of each client's server.
        calls: The calls that the model writes.
        answers: Form -> the results.
    """

    tools: list[str]
    instructions: list[str]
    calls: list[str]
    answers: dict[str, list[str]]


def _costs(texts: Texts, encode: Callable[[str], list[int]]) -> dict[tuple[str, str], int]:
    """The tokens of a session: figure and form -> how many."""

    def tokens(parts: list[str]) -> int:
        return sum(len(encode(part)) for part in parts)

    shared = [tokens(parts) for parts in (texts.tools, texts.instructions, texts.calls)]
    found = {(name, ALL): count for name, count in zip(SHARED, shared, strict=True)}
    for form, answers in texts.answers.items():
        found["answers", form] = tokens(answers)
        found["total", form] = sum(shared) + found["answers", form]
    return found


async def record_session(configuration: Configuration, folder: Path, quiet: TextIO) -> Texts:
    """Run the session with one configuration.

    Args:
        configuration: The configuration.
        folder: An existing folder for all files.
        quiet: Receives the servers' standard error.
    """
    place = folder / "place"
    views = _suggested(place, folder / "suggested") if configuration.views else {}
    async with AsyncExitStack() as stack:
        if configuration.over_http:
            gateway = stack.enter_context(louver("--config", str(_config(configuration, place, folder))))
            clients = {"": await stack.enter_async_context(Client(gateway.url))}
        else:
            clients = {
                name: await stack.enter_async_context(Client(stdio_client(target, errlog=quiet), mode="legacy"))
                for name, target in _targets(configuration, place, folder).items()
            }
        tools = [await _all_tools(client, configuration) for client in clients.values()]
        session = AgentSession(clients, [tool for listed in tools for tool in listed], views)
        for step in SESSION:
            await configuration.exposure(session, step.within(place / "garden"))

        def constant(text: str) -> str:
            for number, volatile in enumerate(session.volatile):
                text = text.replace(volatile, _stand_in(volatile, number))
            text = text.replace(str(place / "garden"), PLACE)
            return _DAY.sub(lambda day: "Friday" if day[0].endswith("day") else "2026-06-19T", text)

        return Texts(
            tools=[constant(compact([_visible(tool) for tool in listed])) for listed in tools],
            instructions=[constant(client.instructions) for client in clients.values() if client.instructions],
            calls=[constant(call) for call, _ in session.exchanges],
            answers={name: [constant(form(result)) for _, result in session.exchanges] for name, form in FORMS.items()},
        )


def _targets(configuration: Configuration, place: Path, folder: Path) -> dict[str, StdioServerParameters]:
    """The commands that a host starts: the servers, or one gateway."""
    if configuration.settings is None:
        return {name: StdioServerParameters(**entry) for name, entry in server_entries(place).items()}
    command, *arguments = [*LOUVER, "--config", str(_config(configuration, place, folder))]
    return {"": StdioServerParameters(command=command, args=arguments)}


def _config(configuration: Configuration, place: Path, folder: Path) -> Path:
    """Write the gateway's configuration."""
    servers = server_entries(place)
    if configuration.views:
        for name, entry in servers.items():
            (made := folder / "suggested" / name).mkdir(parents=True, exist_ok=True)
            entry["louver"] = {"views": str(made), "schemas": str(made)}
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers, "louver": configuration.settings}), encoding="utf-8")
    return file


def _suggested(place: Path, out: Path) -> dict[tuple[str, str], str]:
    """Run `louver suggest` on the session's own calls; server and tool -> the view that it has written."""
    file = place.with_name("suggest.json")
    file.write_text(json.dumps({"mcpServers": server_entries(place)}), encoding="utf-8")
    found: dict[tuple[str, str], str] = {}
    for server, tool in dict.fromkeys((step.server, step.tool) for step in SESSION):
        steps = [step.within(place / "garden") for step in SESSION if (step.server, step.tool) == (server, tool)]
        command = [sys.executable, "-m", "louver", "suggest", "--config", str(file), "--server", server]
        calls = [argument for step in steps for argument in ("--call", tool, compact(step.arguments))]
        # Fails for tools whose answers are not JSON: they have no fields to choose from.
        subprocess.run([*command, "--run-anyway", "--out", str(out / server), *calls], capture_output=True, check=False)
        written = out / server / f"{tool}.views.json"
        if written.exists():
            [found[server, tool]] = json.loads(written.read_text(encoding="utf-8"))["views"]
    assert found, "`louver suggest` has written no view"
    return found


async def _all_tools(client: Client, configuration: Configuration) -> list[Tool]:
    """The tools of all pages; waits until the gateway lists those of all servers."""
    lists_all = configuration.exposure in (exposures.full, exposures.minimal, exposures.on_error)
    wanted = {step.listed for step in SESSION} if lists_all else set[str]()
    with anyio.fail_after(LIST_TIMEOUT_S):
        while True:
            tools: list[Tool] = []
            cursor = None
            while True:
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                if (cursor := page.next_cursor) is None:
                    break
            if wanted <= {tool.name for tool in tools}:
                return tools
            await anyio.sleep(0.5)


def _visible(tool: Tool) -> dict[str, Any]:
    """The members of a tool that hosts show to their models."""
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}


def _stand_in(volatile: str, number: int) -> str:
    """A constant text of the same length."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return "".join(Random(f"{SEED} {number}").choices(letters, k=len(volatile)))
