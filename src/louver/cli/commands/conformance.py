"""`louver conformance`: whether a server conforms to the specification.

    louver conformance --fixture arguments.json -- python server.py
    louver conformance --era 2026-07-28 --group projection --junit report.xml --url http://127.0.0.1:8080/mcp

With a file of servers, the gateway in front of them is checked. The suite is a distribution of its own,
`louver-conformance`; this module prints what it reports.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from louver.cli import process, servers, terminal
from louver.cli.json_streams import write
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import Namespace

    from louver_conformance.run import Outcome, Report

_PACKAGE = "louver_conformance"
_NOT_INSTALLED = (
    "the conformance suite is not installed: it is the package 'louver-conformance'. Install it with "
    "'pip install louver-conformance', or run 'uv run --with louver-conformance louver conformance ...'"
)
_STYLES = {"pass": "green", "fail": "red", "warn": "yellow", "known": "yellow"}


def run(arguments: Namespace) -> int:
    """Print the outcome of each check; return 1 if a check fails that the baseline does not list."""
    if find_spec(_PACKAGE) is None:
        raise InvalidInput(_NOT_INSTALLED)
    # Here, for the suite need not be installed.
    from louver_conformance import baseline
    from louver_conformance.fixture import Fixture
    from louver_conformance.report import as_json, as_junit
    from louver_conformance.run import run as check
    from louver_conformance.run import with_baseline
    from louver_conformance.session import Target

    (server,) = servers.read_for_client(arguments).upstreams
    target = Target(url=server.url, headers=server.headers, command=server.command)
    fixture = Fixture.read(Path(arguments.fixture)) if arguments.fixture is not None else Fixture()
    known_failures = baseline.read(Path(arguments.baseline)) if arguments.baseline is not None else []
    report = with_baseline(
        process.run(check(target, revisions=arguments.era, groups=arguments.group, fixture=fixture)), known_failures
    )
    if arguments.json:
        write(as_json(report))
    else:
        _show(report)
    # Last, so that the report is printed even if the file cannot be written.
    if arguments.junit is not None:
        _write(Path(arguments.junit), as_junit(report))
    for line in report.fixed:
        terminal.print_stderr(f"the baseline lists '{line}', which passes")
    return 0 if report.is_passed else 1


def _write(path: Path, report: bytes) -> None:
    try:
        path.write_bytes(report)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from None


def _show(report: Report) -> None:
    console = terminal.console()
    for revision in dict.fromkeys(outcome.revision for outcome in report.outcomes):
        console.print(_table(revision, [outcome for outcome in report.outcomes if outcome.revision == revision]))
    for revision, reason in report.unsupported.items():
        console.print(terminal.literal_text(f"{revision} is not spoken: {reason}"))
    counts = {outcome.status: report.count(outcome.status) for outcome in report.outcomes}
    console.print(", ".join(f"{count} {status}" for status, count in counts.items()))
    for outcome in report.outcomes:
        if outcome.status == "fail":
            failure = terminal.literal_text(f"{outcome.line}: {outcome.detail}")
            console.print("[red]fail[/red]", failure, f"[dim]{', '.join(outcome.check.requirements)}[/dim]")


def _table(revision: str, outcomes: list[Outcome]) -> Table:
    table = Table(title=f"protocol {revision}", title_justify="left", title_style="bold")
    table.add_column("group")
    table.add_column("check", overflow="fold")
    table.add_column("")
    table.add_column("", overflow="fold")
    for outcome in _collapsed(outcomes):
        style = _STYLES.get(outcome.status, "dim")
        text = terminal.literal_text(outcome.detail or outcome.check.says, "dim")
        table.add_row(outcome.check.group, outcome.check.id, terminal.literal_text(outcome.status, style), text)
    return table


def _collapsed(outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes, with a single row for each group that the server does not offer."""
    rows: list[Outcome] = []
    for group in dict.fromkeys(outcome.check.group for outcome in outcomes):
        in_group = [outcome for outcome in outcomes if outcome.check.group == group]
        is_missing = all(outcome.status == "not offered" for outcome in in_group)
        rows += [replace(in_group[0], check=replace(in_group[0].check, id="*"))] if is_missing else in_group
    return rows
