"""`louver report`."""

import json
import time

import pytest
from rich.console import Console

from fixtures.command import louver
from louver.cli import terminal
from louver.cli.process import SAVINGS, state
from louver.steps.savings.database import SavingsKey, add
from louver.steps.savings.report import SavingsReport

DAYS = ["2026-11-01", "2026-11-02", "2026-11-05"]


@pytest.fixture
def file(tmp_path):
    """A tool that saves much, and one that costs more than it saves."""
    path = tmp_path / "savings.db"
    for number, day in enumerate(DAYS, 1):
        rows = {
            SavingsKey(day, "tracker", "list_[b]issues[/b]", "brief"): [4, 0, 8000 * number, 1000, 7000 * number, 700],
            SavingsKey(day, "memory", "read_graph", ""): [2, 2, 350, 385, 350, 385],
        }
        add(path, rows, "2000-01-01")
    return path


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("tool", [("tracker", "list_[b]issues[/b]", 12), ("memory", "read_graph", 6)]),
        ("server", [("tracker", 12), ("memory", 6)]),
        ("view", [("tracker", "list_[b]issues[/b]", "brief", 12), ("memory", "read_graph", "", 6)]),
        ("day", [(day, 6) for day in DAYS]),
    ],
)
def test_totals_are_printed_as_json(file, by, expected):
    """The issue, B: by tool, server, view and day; the most saved first."""
    printed = json.loads(louver("report", file, "--by", by, "--json").stdout)
    names = ("server", "tool", "view", "day", "calls")
    assert [tuple(row[name] for name in names if name in row) for row in printed["rows"]] == expected
    assert printed["total"] == SavingsReport(file).total()
    assert printed["total"]["savedTokens"] == round(43_050 / 3.5) - round(3_255 / 3.5)
    assert sum(row["savedBytes"] for row in printed["rows"]) == printed["total"]["savedBytes"]


@pytest.mark.parametrize("by", ["tool", "server", "view", "day"])
def test_the_table_and_the_chart_fit_80_columns(file, monkeypatch, by):
    """The issue, B: table and terminal chart; a name is no markup, and a day without a call has its place."""
    monkeypatch.setattr(terminal, "console", lambda: Console(width=80))
    done = louver("report", file, "--by", by)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert ("list_[b]issues[/b]" in done.stdout) == (by in ("tool", "view"))
    (total,) = [line for line in lines if line.startswith("total")]
    assert total.split() == ["total", "18", "6", "12,300", "→", "930", "92.4%"]
    chart = lines[lines.index(next(line for line in lines if "saved tokens by day" in line)) + 1 :]
    assert [line.split()[0] for line in chart] == [f"2026-11-0{day}" for day in range(1, 6)]
    assert [line.count("█") for line in chart] == [12, 26, 0, 0, 40]


def test_a_terminal_without_unicode_gets_ascii(file, monkeypatch):
    """Ours: as `louver suggest`."""
    plain = Console(width=80, legacy_windows=False)
    monkeypatch.setattr(type(plain.options), "ascii_only", property(lambda _: True))
    monkeypatch.setattr(terminal, "console", lambda: Console(width=80))
    done = louver("report", file)
    assert done.stdout.isascii()
    assert "12,300 -> 930" in done.stdout
    assert "#" * 40 in done.stdout


def test_a_tool_that_costs_more_is_shown_so(file):
    """TEAM.md, "Savings, honestly"."""
    (line,) = [line for line in louver("report", file).stdout.splitlines() if "read_graph" in line]
    assert "300 → 330" in line
    assert "-10.0%" in line


def test_older_days_are_left_out(file):
    """Ours: `--since` as of audit records."""
    printed = json.loads(louver("report", file, "--since", "2026-11-02", "--by", "day", "--json").stdout)
    assert [row["day"] for row in printed["rows"]] == DAYS[1:]
    done = louver("report", file, "--since", "2999-01-01")
    assert f"no call is counted in {file} with --since 2999-01-01" in done.stderr


def test_an_empty_file_says_what_to_do():
    """The issue, B; without a FILE it is that of `louver serve`."""
    done = louver("report")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"no call is counted in {state(SAVINGS)} yet\n" in done.stderr
    assert "louver serve -- " in done.stderr
    printed = json.loads(louver("report", "--json").stdout)
    assert (printed["rows"], printed["total"]["calls"]) == ([], 0)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    add(state(SAVINGS), {SavingsKey(today, "a", "b", ""): [1, 0, 0, 7, 0, 7]}, today)
    done = louver("report", "--since", "1d")
    assert "0 → 2" in done.stdout
    assert "saved tokens by day" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([__file__], "it is no file of savings"),
        (["{file}", "--by", "field"], "savings are not told by 'field': there are 'tool', 'server'"),
        (["{file}", "--principal", "ann"], "--principal and --export go with a file of audit records"),
        (["--export"], "--principal and --export go with a file of audit records"),
    ],
)
def test_what_cannot_be_told_is_refused(file, arguments, told):
    """Ours: 2 where the input is refused."""
    done = louver("report", *(argument.format(file=file) for argument in arguments))
    assert done.returncode == 2
    assert told in done.stderr
