"""Sessions: what a whole session costs a model, with five stock servers and 16 calls of 8 of their tools.

    list            name, description and input schema of all tools, which is what hosts show of them
    instructions    what the servers say of themselves
    calls           what the model writes, the calls by which it finds and reads descriptions among them
    answers         what it is shown of all answers, of those too
    total           all of that

Hosts show answers in three forms, and each is counted::

    structured      the structured content; where there is none, the texts
    text            the text blocks alone
    whole           the whole result as JSON, its `_meta` among it

Beside the servers without Louver stands `louver serve` in each exposure, and with the views and schemas that `louver
suggest` writes of the session's own calls. Tokens are of o200k. What differs from run to run is counted as if it did
not: the folder, the day, and grants.
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

from benchmarks import figures, ways
from benchmarks.garden import SESSION, entries
from benchmarks.payloads import SEED
from benchmarks.proxies import LOUVER, louver
from benchmarks.results import Group, Row
from benchmarks.ways import Talk, text_of
from louver.core.json import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_types import CallToolResult, Tool

    from benchmarks.scenarios import Setting
    from benchmarks.ways import Way

PLACE = "/home/ada/garden"
"""What counts in place of the folder."""

COME_S = 60
"""How long servers may take until all their tools are listed, in seconds."""

_DAY = re.compile(r"\d{4}-\d\d-\d\dT|[A-Z][a-z]+day")


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to have the servers.

    Args:
        name: As it stands in the tables.
        way: How a model gets at their tools.
        settings: Of the gateway; `None` where there is none.
        over_http: Whether the host speaks 2026-07-28 over HTTP, where no session remembers; else 2025-11-25 over stdio.
        views: Whether the servers have what `louver suggest` writes.
    """

    name: str
    way: Way
    settings: dict[str, Any] | None = field(default_factory=dict)
    over_http: bool = False
    views: bool = False


CONFIGURATIONS = (
    Configuration("direct", ways.direct, None),
    Configuration("full", ways.full),
    Configuration("full, views", ways.full, views=True),
    Configuration("minimal", ways.minimal, {"exposure": "minimal"}),
    Configuration("minimal, grants", ways.minimal, {"exposure": "minimal"}, over_http=True),
    Configuration("minimal, on-error", ways.on_error, {"exposure": "minimal", "disclosure": "on-error"}),
    Configuration("discovery", ways.discovery, {"exposure": "discovery"}),
    Configuration("gateway", ways.gateway, {"exposure": "gateway"}),
)
"""The first is what the others are compared with."""

SHARED = ("list", "instructions", "calls")
"""The figures that do not depend on what a host shows of answers."""
ALL = "all"
"""Their payload."""

FORMS: dict[str, Callable[[CallToolResult], str]] = {
    "structured": lambda result: (
        text_of(result) if result.structured_content is None else compact(result.structured_content)
    ),
    "text": text_of,
    "whole": lambda result: compact(result.model_dump(by_alias=True, mode="json", exclude_none=True)),
}
"""What a host shows of an answer."""


def run(setting: Setting) -> Iterator[Group]:
    """All configurations; nothing without the tokenizer, or where nothing is downloaded."""
    if find_spec("bpe_openai") is None or not setting.peers:
        return
    import bpe_openai

    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        with (folder / "stderr").open("w", encoding="utf-8") as quiet:
            costs = {each.name: _costs(anyio.run(had, each, folder, quiet), encode) for each in CONFIGURATIONS}
    for figure in (*SHARED, "answers", "total"):
        for form in (ALL,) if figure in SHARED else FORMS:
            rows = tuple(Row.exact(name, cost[figure, form]) for name, cost in costs.items())
            yield Group(figure, form, 0, "tokens", CONFIGURATIONS[0].name, rows)


def table(groups: Sequence[Group]) -> list[str]:
    """The figures as a Markdown table, a line a configuration; answers and totals in each form."""
    found = {(group.case, group.payload): group for group in groups}
    lines = ["| | list | instructions | calls | answers | total | of direct |", "|---|---|---|---|---|---|---|"]
    for name in (row.name for row in groups[0].rows):

        def told(case: str, payload: str = ALL, name: str = name) -> str:
            return f"{found[case, payload].median(name):,.0f}"

        answers, totals = (" / ".join(told(case, form) for form in FORMS) for case in ("answers", "total"))
        ratios = " / ".join(figures.ratio(_ratio(found["total", form], name)) for form in FORMS)
        shared = " | ".join(told(case) for case in SHARED)
        lines.append(f"| {name} | {shared} | {answers} | {totals} | {ratios} |")
    return lines


def _ratio(group: Group, name: str) -> float:
    [of, against] = [row.median for each in (name, group.baseline) for row in group.rows if row.name == each]
    return of / against


@dataclass(frozen=True, slots=True)
class Texts:
    """What a session consists of.

    Args:
        tools: What hosts show of them, a text a server.
        instructions: Likewise.
        calls: What the model writes.
        answers: Form -> what it is shown of each.
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


async def had(configuration: Configuration, folder: Path, quiet: TextIO) -> Texts:
    """The session with one configuration; what servers tell on standard error goes to a file."""
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
        talk = Talk(clients, [tool for listed in tools for tool in listed], views)
        for step in SESSION:
            await configuration.way(talk, step.within(place / "garden"))

        def told(text: str) -> str:
            for number, random in enumerate(talk.random):
                text = text.replace(random, _as_if(random, number))
            text = text.replace(str(place / "garden"), PLACE)
            return _DAY.sub(lambda day: "Friday" if day[0].endswith("day") else "2026-06-19T", text)

        return Texts(
            tools=[told(compact([_shown(tool) for tool in listed])) for listed in tools],
            instructions=[told(client.instructions) for client in clients.values() if client.instructions],
            calls=[told(call) for call, _ in talk.said],
            answers={name: [told(form(result)) for _, result in talk.said] for name, form in FORMS.items()},
        )


def _targets(configuration: Configuration, place: Path, folder: Path) -> dict[str, StdioServerParameters]:
    """What a host starts: the servers, or one gateway before them."""
    if configuration.settings is None:
        return {name: StdioServerParameters(**entry) for name, entry in entries(place).items()}
    command, *arguments = [*LOUVER, "--config", str(_config(configuration, place, folder))]
    return {"": StdioServerParameters(command=command, args=arguments)}


def _config(configuration: Configuration, place: Path, folder: Path) -> Path:
    """The gateway's configuration."""
    servers = entries(place)
    if configuration.views:
        for name, entry in servers.items():
            (made := folder / "suggested" / name).mkdir(parents=True, exist_ok=True)
            entry["louver"] = {"views": str(made), "schemas": str(made)}
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers, "louver": configuration.settings}), encoding="utf-8")
    return file


def _suggested(place: Path, out: Path) -> dict[tuple[str, str], str]:
    """The views that `louver suggest` writes of the session's own calls, one a tool that it writes one for."""
    file = place.with_name("suggest.json")
    file.write_text(json.dumps({"mcpServers": entries(place)}), encoding="utf-8")
    found: dict[tuple[str, str], str] = {}
    for server, tool in dict.fromkeys((step.server, step.tool) for step in SESSION):
        steps = [step.within(place / "garden") for step in SESSION if (step.server, step.tool) == (server, tool)]
        command = [sys.executable, "-m", "louver", "suggest", "--config", str(file), "--upstream", server]
        calls = [argument for step in steps for argument in ("--call", tool, compact(step.arguments))]
        # It ends with an error where answers are no JSON, and then there is nothing to suggest.
        subprocess.run([*command, "--run-anyway", "--out", str(out / server), *calls], capture_output=True, check=False)
        written = out / server / f"{tool}.views.json"
        if written.exists():
            [found[server, tool]] = json.loads(written.read_text(encoding="utf-8"))["views"]
    assert found, "nothing is suggested"
    return found


async def _all_tools(client: Client, configuration: Configuration) -> list[Tool]:
    """The tools of all pages, and of all servers, which a gateway may still be waiting for."""
    lists_all = configuration.way in (ways.full, ways.minimal, ways.on_error)
    wanted = {step.listed for step in SESSION} if lists_all else set[str]()
    with anyio.fail_after(COME_S):
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


def _shown(tool: Tool) -> dict[str, Any]:
    """What a model sees of a tool."""
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}


def _as_if(random: str, number: int) -> str:
    """Another text of that length, always the same one."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return "".join(Random(f"{SEED} {number}").choices(letters, k=len(random)))
