"""`louver audit`: the fields of tools that were sent to each principal.

    louver audit audit.db                            a table by tool
    louver audit audit.db --by field --since 7d      by field, for the last seven days
    louver audit audit.db --principal ann --by field what one caller got
    louver audit audit.db --export                   every record, one JSON object per line

The file is opened read-only; servers may write to it meanwhile.
"""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from louver.cli import terminal
from louver.cli.json_streams import write
from louver.cli.parser import read_since
from louver.policy.principal import read_caller
from louver.steps.audit.report import AuditReport

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.policy.principal import Principal
    from louver.steps.audit.report import Total

_TEXTS: Final = ("server", "tool", "field", "principal", "last")
_DIGEST: Final = 32  # characters of a principal's digest
_OUTCOMES: Final = ("refused", "withheld", "error")  # left out in a narrow terminal, if they are 0
_WIDE: Final = 110  # columns of a terminal that has room for everything
_DAY, _MINUTE = len("2026-01-31"), len("2026-01-31T12:00")


def run(arguments: Namespace) -> int:
    since = read_since(arguments.since)
    principal = None if arguments.principal is None else _principal(arguments.principal)
    with closing(AuditReport(Path(arguments.file), since, principal)) as trail:
        if arguments.export:
            for record in trail.records():
                write(record.to_json())
            return 0
        rows = trail.totals(arguments.by)
    if arguments.json:
        write(rows)
    elif rows:
        _show(rows)
    else:
        of_principal = " of this principal, whose client counts too: subject:ann,client:desk"
        print(f"no records{of_principal if principal is not None else ''}", file=sys.stderr)
    return 0


def _principal(text: str) -> Principal | str:
    """The principal, or its digest."""
    if re.fullmatch(rf"[0-9a-f]{{{_DIGEST}}}", text):
        return text
    return read_caller("--principal", text)


def _show(rows: list[Total]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console = terminal.console()
    is_narrow = console.width < _WIDE
    cells = [{name: str(value) for name, value in row.items()} for row in rows]
    if is_narrow:
        zero = {name for name in _OUTCOMES if all(row.get(name) == "0" for row in cells)}
        cells = [{name: cell for name, cell in row.items() if name not in zero} for row in cells]
    cells = [{**row, "last": row["last"][: _DAY if is_narrow else _MINUTE]} for row in cells]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0 if is_narrow else (0, 1))
    for name in cells[0]:
        # A digest that wraps cannot be searched for.
        min_width = _DIGEST if name == "principal" else None
        table.add_column(name, justify="left" if name in _TEXTS else "right", overflow="fold", min_width=min_width)
    for row in cells:
        table.add_row(*map(terminal.literal_text, row.values()))
    console.print(table)
