"""`louver report`: what projection has saved, by the counters of `louver serve`; of audit records, what went to whom.

    louver report                               a table of savings by tool, and a chart of days
    louver report --by view --since 7d          by view, for the last seven days
    louver report audit.db                      of a file of audit records: the callers, and the fields they were sent
    louver report audit.db --principal ann      what one caller got
    louver report audit.db --export             every record, one JSON object per line

Files are opened read-only; servers may write to them meanwhile.
"""

from __future__ import annotations

import re
import sys
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from louver.cli import terminal
from louver.cli.json_streams import write
from louver.cli.parser import read_since
from louver.cli.process import SAVINGS, state
from louver.core.nearest import instead
from louver.errors import InvalidInput
from louver.limits import CHARACTERS_A_TOKEN
from louver.policy.principal import read_caller
from louver.steps.audit.database import KIND
from louver.steps.audit.report import RECORDS_BY, AuditReport
from louver.steps.database_file import FAILURES, WrongFile, failure_reason
from louver.steps.savings.report import By, SavingsReport

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from louver.policy.principal import Principal

MAX_CHARTED_DAYS = 30
"""Days in the chart of `louver report`: a screen of bars."""

_DEFAULT_RECORDS_BY: Final = ("principal", "field")
_TEXTS: Final = ("server", "tool", "view", "day", "field", "principal", "last")
_DIGEST: Final = 32  # characters of a principal's digest
_OUTCOMES: Final = ("refused", "withheld", "error")  # left out in a narrow terminal, if they are 0
_WIDE: Final = 110  # columns of a terminal that has room for everything
_DAY, _MINUTE = len("2026-01-31"), len("2026-01-31T12:00")
_BAR: Final = 40  # columns of the longest bar
_OTHER_COLUMNS: Final = 28  # what the rest of the chart takes

_EMPTY: Final = """\
louver: no call is counted in {file} {since}
Put the gateway before your servers, let your agent call tools, and look again:
  louver serve -- npx -y @modelcontextprotocol/server-memory"""


def run(arguments: Namespace) -> int:
    file = state(SAVINGS) if arguments.file is None else Path(arguments.file)
    if file is None:
        raise InvalidInput("there is no home folder in which savings are counted: name a FILE")
    if arguments.file is not None and _holds_records(file):
        by = _DEFAULT_RECORDS_BY if arguments.by is None else (arguments.by,)
        _check_by(by[0], RECORDS_BY, "audit records")
        _report_records(file, by, arguments)
        return 0
    if arguments.principal is not None or arguments.export:
        raise InvalidInput("--principal and --export go with a file of audit records")
    by = arguments.by or "tool"
    _check_by(by, get_args(By), "savings")
    _report_savings(file, by, arguments)
    return 0


def _holds_records(file: Path) -> bool:
    try:
        KIND.open(file, "ro").close()
    except WrongFile:
        return False
    except FAILURES as error:
        raise InvalidInput(f"{str(file)!r} cannot be read: {failure_reason(error)}") from None
    return True


def _check_by(by: str, known: tuple[str, ...], what: str) -> None:
    if by not in known:
        raise InvalidInput(f"{what} are not told by {by!r}: {instead(by, known)}")


def _report_savings(file: Path, by: By, arguments: Namespace) -> None:
    report = SavingsReport(file, read_since(arguments.since))
    total, rows, days = report.total(), report.totals(by), report.totals("day")
    if arguments.json:
        write({"by": by, "total": total, "rows": rows})
    elif rows:
        _show_savings(rows, total, days)
    else:
        since = "yet" if arguments.since is None else f"with --since {arguments.since}"
        print(_EMPTY.format(file=terminal.printable(str(file)), since=since), file=sys.stderr)


def _report_records(file: Path, by: Sequence[str], arguments: Namespace) -> None:
    principal = None if arguments.principal is None else _principal(arguments.principal)
    with closing(AuditReport(file, read_since(arguments.since), principal)) as trail:
        if arguments.export:
            for record in trail.records():
                write(record.to_json())
            return
        tables = [trail.totals(each) for each in by]
    if arguments.json:
        write(tables[0] if len(by) == 1 else dict(zip(by, tables, strict=True)))
    elif any(tables):
        for number, rows in enumerate(filter(None, tables)):
            print(end="\n" if number else "")
            _show_records(rows)
    else:
        of_principal = " of this principal, whose client counts too: subject:ann,client:desk"
        print(f"no records{of_principal if principal is not None else ''}", file=sys.stderr)


def _principal(text: str) -> Principal | str:
    """The principal, or its digest."""
    if re.fullmatch(rf"[0-9a-f]{{{_DIGEST}}}", text):
        return text
    return read_caller("--principal", text)


def _table(console: Console, **settings: Any) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    padding = 0 if console.width < _WIDE else (0, 1)
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding, **settings)


def _show_records(rows: list[dict[str, Any]]) -> None:
    console = terminal.console()
    is_narrow = console.width < _WIDE
    cells = [{name: str(value) for name, value in row.items()} for row in rows]
    if is_narrow:
        zero = {name for name in _OUTCOMES if all(row.get(name) == "0" for row in cells)}
        cells = [{name: cell for name, cell in row.items() if name not in zero} for row in cells]
    cells = [{**row, "last": row["last"][: _DAY if is_narrow else _MINUTE]} for row in cells]
    table = _table(console)
    for name in cells[0]:
        # A digest that wraps cannot be searched for.
        min_width = _DIGEST if name == "principal" else None
        table.add_column(name, justify="left" if name in _TEXTS else "right", overflow="fold", min_width=min_width)
    for row in cells:
        table.add_row(*map(terminal.literal_text, row.values()))
    console.print(table)


def _show_savings(rows: list[dict[str, Any]], total: dict[str, Any], days: list[dict[str, Any]]) -> None:
    console = terminal.console()
    arrow = "->" if console.options.ascii_only else "→"
    table = _table(console, show_footer=True)
    names = [name for name in _TEXTS if name in rows[0]]
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
