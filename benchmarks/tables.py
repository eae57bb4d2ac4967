"""The figures of a run on the terminal: a table a case, a line a payload and size.

    payload  size    by hand   louver   noise
    issues   100 kB  10.2 µs   1.03x    0.4%

The baseline is told as it is, the others as how many times that. Noise is how far the baseline
and its twin, the same code, are apart.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks import figures
from benchmarks.results import TWIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.results import Group

WIDTH = 150
"""Where standard output is not a terminal, in columns."""


def show(scenario: str, groups: Sequence[Group]) -> None:
    """Print the tables of a scenario."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    for case, of_case in groupby(groups, key=lambda group: group.case):
        console.print(_table(f"{scenario}: {case}", list(of_case)))


def _table(title: str, groups: list[Group]) -> Table:
    table = Table("payload", title=title, title_justify="left", title_style="bold")
    names = list(dict.fromkeys(row.name for group in groups for row in group.rows if not row.name.endswith(TWIN)))
    for name in ("size", *names, "noise"):
        table.add_column(name, justify="right")
    for group in groups:
        noise = "" if group.noise is None else f"{group.noise:.1%}"
        table.add_row(group.payload, figures.size(group.size), *(_cell(group, name) for name in names), noise)
    return table


def _cell(group: Group, name: str) -> str:
    row = next((row for row in group.rows if row.name == name), None)
    if row is None:
        return ""
    base = None if group.baseline in (None, name) else group.median(group.baseline)
    if base:
        return figures.ratio(row.median / base)
    told = figures.figure(row.median, group.unit)
    if group.baseline is not None or row.low == row.high:
        return told
    return f"{told} ({figures.figure(row.low, group.unit)} to {figures.figure(row.high, group.unit)})"
