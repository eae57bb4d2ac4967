"""Sessions: the tokens that a model reads and writes in a recorded session with eight stock servers, in each exposure.

    list            name, description and input schema of all tools; where a host defers tools, of those that are used
    instructions    the instructions of the servers
    calls           the calls that the model writes, including those that find and describe tools
    answers         their results, as the host shows them
    total           the sum

Tokens are counted with o200k. The folder, the site and the current day are replaced by constants before counting.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TextIO

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from benchmarks import exposures, figures
from benchmarks.chart import stacked
from benchmarks.exposures import AgentSession, text_of
from benchmarks.proxies import LOUVER
from benchmarks.recorded_session import EARLIER, FIELDS, SESSION, SITE, server_entries
from benchmarks.results import Group, Row
from louver.catalogue.hosts import host_of
from louver.core.json import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_types import CallToolResult, Tool

    from benchmarks.exposures import Exposure
    from benchmarks.recorded_session import Step
    from benchmarks.scenarios import Setting

PLACE, PAGE = "/home/ada/garden", "http://garden.example"
"""The names of the folder and of the site in the texts that are counted."""

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
        fields: Whether the model names the fields that it needs.
        deferring: Whether it is for hosts that defer tools, too.
    """

    name: str
    exposure: Exposure
    settings: dict[str, Any] | None = field(default_factory=dict)
    fields: bool = False
    deferring: bool = False


CONFIGURATIONS = (
    Configuration("direct", exposures.direct, None, deferring=True),
    Configuration("full", exposures.full, deferring=True),
    Configuration("full, fields", exposures.full, fields=True, deferring=True),
    Configuration("deferred", exposures.deferred, {"exposure": "deferred"}),
    Configuration("deferred, fields", exposures.deferred, {"exposure": "deferred"}, fields=True),
    Configuration("minimal", exposures.minimal, {"exposure": "minimal"}),
    Configuration("minimal, on-error", exposures.on_error, {"exposure": "minimal", "disclosure": "on-error"}),
    Configuration("discovery", exposures.discovery, {"exposure": "discovery"}),
    Configuration("gateway", exposures.gateway, {"exposure": "gateway"}),
    Configuration("gateway, fields", exposures.gateway, {"exposure": "gateway"}, fields=True),
)
"""The first is the baseline."""

HOSTS = {
    "Codex": "codex-mcp-client",
    "Gemini CLI": "gemini-cli-mcp-client",
    "Claude Code": "claude-code",
    "another host": "another-host",
}
"""Host -> the name of its client."""

FIGURES = ("list", "instructions", "calls", "answers", "total")

FORMS: dict[str, Callable[[CallToolResult], str]] = {
    "structured": lambda result: (
        text_of(result) if result.structured_content is None else compact(result.structured_content)
    ),
    "text": text_of,
    # Of a host that is not known, the whole result.
    "both": lambda result: compact(result.model_dump(by_alias=True, mode="json", exclude_none=True)),
}
"""The forms in which hosts show a result to their models."""


def run(setting: Setting) -> Iterator[Group]:
    """All hosts and configurations; none if the tokenizer is missing, or without peers: the servers are downloaded."""
    if find_spec("bpe_openai") is None or not setting.peers:
        return
    import bpe_openai

    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    with tempfile.TemporaryDirectory() as made, site() as url:
        folder = Path(made).resolve()
        with (folder / "stderr").open("w", encoding="utf-8") as quiet:
            for host, client in HOSTS.items():
                defers = host_of(client).defers
                costs = {
                    each.name: _costs(anyio.run(record_session, each, client, folder, url, quiet), encode)
                    for each in CONFIGURATIONS
                    if each.deferring or not defers
                }
                for figure in FIGURES:
                    rows = tuple(Row.exact(name, cost[figure]) for name, cost in costs.items())
                    yield Group(figure, host, 0, "tokens", CONFIGURATIONS[0].name, rows)


def table(groups: Sequence[Group]) -> list[str]:
    """The figures as lines of a Markdown table."""
    found = {(group.case, group.payload): group for group in groups}
    lines = ["| | list | instructions | calls | answers | total | of direct |", "|---|---|---|---|---|---|---|"]
    for host in dict.fromkeys(group.payload for group in groups):
        for row in found["total", host].rows:
            counts = " | ".join(f"{found[figure, host].median(row.name):,.0f}" for figure in FIGURES)
            times = figures.ratio(row.median / found["total", host].median("direct"))
            lines.append(f"| {host}: {row.name} | {counts} | {times} |")
    return lines


def chart(groups: Sequence[Group]) -> str:
    """The totals as stacked bars, for each host."""
    found = {(group.case, group.payload): group for group in groups}
    panels = {
        host: {
            row.name: {case: found[case, host].median(row.name) or 0 for case in FIGURES[:-1]}
            for row in found["total", host].rows
        }
        for host in dict.fromkeys(group.payload for group in groups)
    }
    return stacked(f"Tokens (o200k) of {len(SESSION)} calls to eight MCP servers, by host and exposure", panels)


@contextmanager
def site() -> Iterator[str]:
    """The URL of the session's site, while it is served."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in SITE.items():
            (Path(folder) / name).write_text(content, encoding="utf-8")
        with site_of(folder) as url:
            yield url


@contextmanager
def site_of(folder: str | Path) -> Iterator[str]:
    """The URL of the files of a folder, while they are served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: the benchmark prints its own lines."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a session.

    Args:
        tools: What the list costs: each tool, or its name where it is deferred.
        instructions: The instructions of each client's server.
        calls: The calls that the model writes.
        answers: The results.
    """

    tools: list[str]
    instructions: list[str]
    calls: list[str]
    answers: list[str]


def _costs(texts: Texts, encode: Callable[[str], list[int]]) -> dict[str, int]:
    """The tokens of a session, by figure."""
    parts = (texts.tools, texts.instructions, texts.calls, texts.answers)
    counts = [sum(len(encode(text)) for text in each) for each in parts]
    return dict(zip(FIGURES, (*counts, sum(counts)), strict=True))


async def record_session(configuration: Configuration, client: str, folder: Path, url: str, quiet: TextIO) -> Texts:
    """Run the session with one configuration.

    Args:
        configuration: The configuration.
        client: The name of the host's client.
        folder: An existing folder for all files.
        url: The site.
        quiet: Receives the servers' standard error.
    """
    place = folder / "place"
    (folder / "savings.db").unlink(missing_ok=True)
    if configuration.settings is not None:
        # What was counted in an earlier session chooses what is listed.
        await _played(configuration, client, folder, url, quiet, SESSION[:EARLIER])
    session, tools, instructions = await _played(configuration, client, folder, url, quiet, SESSION)

    def constant(text: str) -> str:
        text = text.replace(str(place / "garden"), PLACE).replace(url, PAGE)
        return _DAY.sub(lambda day: "Friday" if day[0].endswith("day") else "2026-06-19T", text)

    host = host_of(client)
    called = {json.loads(call)["name"] for call, _ in session.exchanges}
    shown = [tool if not host.defers or tool["name"] in called else tool["name"] for tool in map(_visible, tools)]
    return Texts(
        tools=[constant(compact(shown))],
        instructions=[constant(text) for text in instructions],
        calls=[constant(call) for call, _ in session.exchanges],
        answers=[constant(FORMS[host.shown](result)) for _, result in session.exchanges],
    )


async def _played(
    configuration: Configuration, name: str, folder: Path, url: str, quiet: TextIO, steps: Sequence[Step]
) -> tuple[AgentSession, list[Tool], list[str]]:
    """The session after some steps, the tools that its clients list, and their instructions."""
    place = folder / "place"
    info = Implementation(name=name, version="1")
    async with AsyncExitStack() as stack:
        clients = {
            server: await stack.enter_async_context(
                Client(stdio_client(target, errlog=quiet), mode="legacy", client_info=info)
            )
            for server, target in _targets(configuration, place, folder).items()
        }
        tools = [tool for client in clients.values() for tool in await _all_tools(client, configuration)]
        session = AgentSession(clients, tools, FIELDS if configuration.fields else {})
        for step in steps:
            await configuration.exposure(session, step.within(place / "garden", url))
        return session, tools, [client.instructions for client in clients.values() if client.instructions]


def _targets(configuration: Configuration, place: Path, folder: Path) -> dict[str, StdioServerParameters]:
    """The commands that a host starts: the servers, or one gateway."""
    servers = server_entries(place)
    if configuration.settings is None:
        return {name: StdioServerParameters(**entry) for name, entry in servers.items()}
    file = folder / "mcp.json"
    settings = {"savings": "savings.db", **configuration.settings}
    file.write_text(json.dumps({"mcpServers": servers, "louver": settings}), encoding="utf-8")
    return {"": StdioServerParameters(command=LOUVER[0], args=[*LOUVER[1:], "--config", str(file)])}


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
