"""The tables that `louver demo` prints, within 80 columns and 24 lines each."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from louver.cli import terminal
from louver.limits import CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.cli.commands.demo import Row

_NEXT = f"""\
Tokens are an estimate: characters / {CHARACTERS_A_TOKEN}. Each trimmed answer fits the schema
that came with it, and the stock client of the MCP SDK accepts it.

Next: one call, the gateway before a server, and what your own servers cost:
  louver call get_issue number=7 --exclude body -- louver serve --example
  louver serve -- npx -y @modelcontextprotocol/server-memory
  louver doctor"""


def show(rows: Sequence[Row]) -> None:
    """Print a table per transport and protocol revision, then what failed, or what to do next."""
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
