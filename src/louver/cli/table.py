"""The table that `louver demo` prints."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group
from rich.json import JSON
from rich.panel import Panel
from rich.table import Table

from louver.cli import terminal
from louver.core.json import compact
from louver.limits import CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from louver.cli.commands.demo import Row


def show(rows: Sequence[Row]) -> None:
    """Print a table per transport and protocol revision, then one answer with its receipt."""
    console = terminal.console()
    for (transport, revision), group in groupby(rows, key=lambda row: (row.transport, row.revision)):
        console.print(_table(f"{transport}, protocol {revision}", list(group)))
    console.print(f"Tokens are an estimate: characters / {CHARACTERS_A_TOKEN}.")
    console.print("Valid: the kept value satisfies the schema in its receipt, and the full value does not.\n")
    _answer(console, rows[1])
    failed = [row for row in rows if not row.is_as_expected]
    for row in failed:
        label = f"{row.case.tool} ({row.case.purpose}) over {row.transport}, {row.revision}"
        console.print(
            "[red]not as it should be:[/red]", terminal.literal_text(f"{label}: {row.problem or 'see its row'}")
        )
    if not failed:
        console.print(f"All {len(rows)} answers are as they should be, and a stock client accepted each.")


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("tool")
    table.add_column("request", overflow="fold")
    table.add_column("bytes", justify="right")
    table.add_column("tokens (est.)", justify="right")
    table.add_column("saved", justify="right")
    table.add_column("valid")
    table.add_column("ms", justify="right")
    for row in rows:
        values = row.to_json()
        request = row.case.request
        selection = request["view"] if request["mode"] == "view" else ", ".join(request["fields"])
        table.add_row(
            row.case.tool,
            f"{request['mode']} {selection}  [dim]{row.case.purpose}[/dim]",
            f"{values['full_bytes']:,} → {values['projected_bytes']:,}",
            f"{terminal.tokens(len(row.full)):,} → {terminal.tokens(len(row.projected)):,}",
            f"{row.saved:.1%}",
            "yes" if row.valid and row.applied else "[red]NO[/red]",
            f"{row.milliseconds:.1f}",
        )
    return table


def _answer(console: Console, row: Row) -> None:
    case = row.case
    title = f"{case.tool} {compact(case.arguments)}, _meta.projection {compact(case.request)}"
    body = Group("structuredContent", JSON(row.projected), "_meta.projection", JSON(compact(row.receipt)))
    console.print(Panel(body, title=title, title_align="left"))
