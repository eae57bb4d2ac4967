"""`louver demo`: the savings of projection, shown by a stock client on a real server.

A stock `mcp.Client` calls the example server over stdio, and with `--all` also over HTTP on loopback and in both
protocol revisions: for the full output, then for a projection. Each projected answer must satisfy its
`projectedSchema`; the full output must not.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from referencing import Registry
from rich.box import SIMPLE_HEAD
from rich.table import Table

from louver.cli import terminal
from louver.core.json import compact, parse
from louver.limits import CHARACTERS_A_TOKEN
from louver.wire.names import PROJECTION_LITERAL

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator, Sequence

    from mcp_types import CallToolResult

_REVISIONS = {"2026-07-28": "auto", "2025-11-25": "legacy"}  # protocol revision -> `mode` of the stock client
_NEWEST = "2026-07-28"

_SERVE = ["-m", "louver", "serve", "--example"]
_TIMEOUT_S = 60  # for each server together with its calls

_NEXT = f"""\
Tokens are an estimate: characters / {CHARACTERS_A_TOKEN}. Each trimmed answer fits the schema
that came with it, and the stock client of the MCP SDK accepts it.

Next: one call, the gateway before a server, and what your own servers cost:
  louver call get_issue number=7 --exclude body -- louver serve --example
  louver serve -- npx -y @modelcontextprotocol/server-memory
  louver doctor"""


@dataclass(frozen=True, slots=True)
class Case:
    """One call to show."""

    tool: str
    arguments: dict[str, Any]
    request: dict[str, Any]  # the projection, as on the wire
    min_saving: float = 0.0  # least share of the estimated tokens to save

    @property
    def wish(self) -> str:
        """The projection for a person."""
        if self.request["mode"] == "view":
            return f"the view {self.request['view']}"
        fields = ", ".join(self.request["fields"])
        return fields if self.request["mode"] == "include" else f"all but {fields}"


def _include(*fields: str) -> dict[str, Any]:
    return {"mode": "include", "fields": list(fields)}


def _exclude(*fields: str) -> dict[str, Any]:
    return {"mode": "exclude", "fields": list(fields)}


CASES = (
    # The first three are the use cases of issue #1704, with the savings that it states.
    Case("get_user_profile", {"user_id": 42}, _include("name"), 0.975),
    Case("get_user_profile", {"user_id": 42}, _include("name", "email"), 0.95),
    Case("get_user_profile", {"user_id": 42}, _include("status"), 0.975),
    Case("get_user_profile", {"user_id": 42}, {"mode": "view", "view": "minimal"}),
    Case("get_user_profile", {"user_id": 42}, _exclude("**.email", "phone")),
    Case("list_issues", {"limit": 38}, _include("issues.number", "issues.title")),
    Case("get_issue", {"number": 7}, _exclude("body")),
    Case("search_orders", {"text": "a", "limit": 5}, _include("orders.items.sku")),
    Case("list_users", {}, _include("name")),
    Case("export_stats", {}, _include("users")),
)


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one projected call."""

    case: Case
    transport: str
    revision: str
    fields: list[str]
    full: str
    projected: str
    valid: bool
    applied: bool
    problem: str | None = None

    @property
    def saved(self) -> float:
        """The saved share of characters, and so of estimated tokens."""
        return 1 - len(self.projected) / len(self.full)

    @property
    def is_as_expected(self) -> bool:
        return self.problem is None and self.valid and self.applied and self.saved >= self.case.min_saving

    def to_json(self) -> dict[str, Any]:
        return {
            "tool": self.case.tool,
            "transport": self.transport,
            "era": self.revision,
            "mode": self.case.request["mode"],
            "fields": self.fields,
            "full_bytes": len(self.full.encode()),
            "projected_bytes": len(self.projected.encode()),
            "valid": self.valid,
            "applied": self.applied,
        }


def run(arguments: Namespace) -> int:
    """Make the calls and print them; return 1 if an answer is not as expected."""
    rows = anyio.run(_all_rows if arguments.all else _stdio_rows)
    if arguments.json:
        print(json.dumps([row.to_json() for row in rows], indent=1))
    else:
        _show(rows)
    return 0 if rows and all(row.is_as_expected for row in rows) else 1


async def _all_rows() -> list[Row]:
    rows: list[Row] = []
    for revision in _REVISIONS:
        rows += await _stdio_rows(revision)
        with anyio.fail_after(_TIMEOUT_S):
            async with _http_server() as url:
                rows += await _rows_of(url, "http", revision)
    return rows


async def _stdio_rows(revision: str = _NEWEST) -> list[Row]:
    with anyio.fail_after(_TIMEOUT_S):
        return await _rows_of(StdioServerParameters(command=sys.executable, args=_SERVE), "stdio", revision)


async def _rows_of(server: Any, transport: str, revision: str) -> list[Row]:
    async with Client(server, mode=_REVISIONS[revision]) as client:
        rows = [await _row(client, case, transport) for case in CASES]
    if rows[0].revision != revision:
        raise RuntimeError(f"the server does not speak {revision}")
    return rows


@asynccontextmanager
async def _http_server() -> AsyncGenerator[str]:
    """Start a server process on a free port of loopback; yield its URL."""
    command = [sys.executable, *_SERVE, "--http", "127.0.0.1:0", "--no-auth"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    async with await anyio.open_process(
        command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, env=environment
    ) as process:
        try:
            if process.stderr is None:
                raise RuntimeError("the server has no standard error")
            line = await BufferedByteReceiveStream(process.stderr).receive_until(b"\n", 65_536)
            yield line.decode().rpartition(" ")[2].strip()
        finally:
            process.terminate()


async def _row(client: Client, case: Case, transport: str) -> Row:
    try:
        return await _call(client, case, transport)
    except (MCPError, RuntimeError, ValueError) as error:
        # RuntimeError: the answer does not satisfy the listed schema. ValueError: it is no JSON.
        problem = f"{type(error).__name__}: {error}"
        return Row(case, transport, client.protocol_version, [], "-", "-", False, False, problem)


async def _call(client: Client, case: Case, transport: str) -> Row:
    full = _output(await client.call_tool(case.tool, case.arguments))
    answer = await client.call_tool(case.tool, case.arguments, meta={PROJECTION_LITERAL: case.request})
    receipt: dict[str, Any] = (answer.meta or {}).get(PROJECTION_LITERAL) or {}
    kept = _output(answer)
    schema = receipt.get("projectedSchema", False)
    check: Any = Draft202012Validator(schema, registry=Registry())
    return Row(
        case=case,
        transport=transport,
        revision=client.protocol_version,
        fields=receipt.get("fields", []),
        full=compact(full),
        projected=compact(kept),
        valid=check.is_valid(kept) and not check.is_valid(full),
        applied=receipt.get("applied") is True,
    )


def _output(answer: CallToolResult) -> Any:
    """The structured content, or else the JSON of the only text block."""
    if answer.structured_content is not None:
        return answer.structured_content
    (block,) = answer.content
    return parse(block.text) if block.type == "text" else None


def _show(rows: Sequence[Row]) -> None:
    """Print a table per transport and revision, of 80 columns and 24 lines, then what failed, or what to do next."""
    console = terminal.console()
    for (transport, revision), group in groupby(rows, key=lambda row: (row.transport, row.revision)):
        console.print(_table(f"The example server over {transport}, MCP {revision}", list(group)))
    failed = [row for row in rows if not row.is_as_expected]
    for row in failed:
        label = f"{row.case.tool} over {row.transport}, {row.revision}"
        console.print("[red]failed:[/red]", terminal.literal_text(f"{label}: {row.problem or 'see its row'}"))
    if not failed:
        console.print(f"\n{_NEXT}", highlight=False, soft_wrap=True)


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.show_edge, table.show_footer = False, True
    full, kept = sum(len(row.full) for row in rows), sum(len(row.projected) for row in rows)
    table.add_column("tool", "total", no_wrap=True)
    table.add_column("the call asks for", no_wrap=True)
    table.add_column("tokens", _tokens(full, kept), justify="right", no_wrap=True)
    table.add_column("saved", f"{1 - kept / full:.1%}", justify="right")
    for row in rows:
        is_valid = row.valid and row.applied
        saved = f"{row.saved:.1%}" if is_valid else "[red]invalid[/red]"
        table.add_row(row.case.tool, row.case.wish, _tokens(len(row.full), len(row.projected)), saved)
    return table


def _tokens(full: int, kept: int) -> str:
    return f"{terminal.tokens(full):,} → {terminal.tokens(kept):,}"
