"""`louver saved`: what projection has saved, by the counters of `louver serve`.

louver saved                       a table by tool, and a chart of days
louver saved --by view --since 7d  by view, for the last seven days
louver saved savings.db --json     of another file, as JSON
"""

from __future__ import annotations

import sys
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from louver.cli import terminal
from louver.cli.json_streams import write
from louver.cli.parser import read_since
from louver.cli.process import SAVINGS, state
from louver.errors import InvalidInput
from louver.limits import CHARACTERS_A_TOKEN
from louver.steps.savings.report import SavingsReport

if TYPE_CHECKING:
    from argparse import Namespace

    from rich.console import Console

MAX_CHARTED_DAYS = 30
"""Days in the chart of `louver saved`: a screen of bars."""


_NAMES: Final = ("server", "tool", "view", "day")
_WIDE: Final = 110  # columns of a terminal that has room for everything
_BAR: Final = 40  # columns of the longest bar
_OTHER_COLUMNS: Final = 28  # what the rest of the chart takes

_EMPTY: Final = """\
louver: no call is counted in {file} {since}
Put the gateway before your servers, let your agent call tools, and look again:
  louver serve -- npx -y @modelcontextprotocol/server-memory"""


def run(arguments: Namespace) -> int:
    file = _file(arguments.file)
    report = SavingsReport(file, read_since(arguments.since))
    total, rows, days = report.total(), report.totals(arguments.by), report.totals("day")
    if arguments.json:
        write({"by": arguments.by, "total": total, "rows": rows})
    elif rows:
        _show(rows, total, days)
    else:
        since = "yet" if arguments.since is None else f"with --since {arguments.since}"
        print(_EMPTY.format(file=terminal.printable(str(file)), since=since), file=sys.stderr)
    return 0


def _file(name: str | None) -> Path:
    file = state(SAVINGS) if name is None else Path(name)
    if file is None:
        raise InvalidInput("there is no home folder in which savings are counted: name a FILE")
    return file


def _show(rows: list[dict[str, Any]], total: dict[str, Any], days: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console = terminal.console()
    arrow = "->" if console.options.ascii_only else "→"
    padding = 0 if console.width < _WIDE else (0, 1)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding, show_footer=True)
    names = [name for name in _NAMES if name in rows[0]]
    for name in names:
        table.add_column(name, "total" if name == names[0] else "", overflow="fold")
    for heading, cell in zip(("calls", "saved\nnothing", "tokens", "saved"), _numbers(total, arrow), strict=True):
        table.add_column(heading, cell, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(terminal.literal_text(row[name] or "-") for name in names), *_numbers(row, arrow))
    console.print(table)
    console.print(
        f"\nTokens are an estimate: characters / {CHARACTERS_A_TOKEN}, as the hosts show answers.", highlight=False
    )
    if len(days) > 1:
        _show_chart(console, days)


def _numbers(row: dict[str, Any], arrow: str) -> tuple[str, str, str, str]:
    whole, sent = row["wholeTokens"], row["sentTokens"]
    share = f"{row['savedTokens'] / whole:.1%}" if whole else "-"
    return f"{row['calls']:,}", f"{row['savedNothing']:,}", f"{whole:,} {arrow} {sent:,}", share


def _show_chart(console: Console, days: list[dict[str, Any]]) -> None:
    from rich.table import Table

    saved = {row["day"]: row["savedTokens"] for row in days}
    last = date.fromisoformat(days[-1]["day"])
    number = min(MAX_CHARTED_DAYS, (last - date.fromisoformat(days[0]["day"])).days + 1)
    shown = [(last - timedelta(days=ago)).isoformat() for ago in reversed(range(number))]
    width = max(1, min(_BAR, console.width - _OTHER_COLUMNS))
    most = max(saved.get(day, 0) for day in shown)
    chart = Table(box=None, show_header=False, pad_edge=False, title="\nsaved tokens by day", title_justify="left")
    chart.add_column(no_wrap=True)
    chart.add_column(justify="right", no_wrap=True)
    chart.add_column(width=width, no_wrap=True)
    for day in shown:
        tokens = saved.get(day, 0)
        chart.add_row(day, f"{tokens:,}", terminal.bar(console, width * tokens / most) if tokens > 0 else "")
    console.print(chart)
