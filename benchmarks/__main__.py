"""`python -m benchmarks run` measures and prints; `python -m benchmarks check FILE` holds a run against the claims.

    run [--scenario NAME] [--rounds N] [--minutes N] [--json FILE]
                                                 with --json, FILE and a chart a scenario beside it
    check FILE                                   1 if a claim is missed

Peers are in the dependency group `bench`: `uv run --group bench python -m benchmarks run`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import claims, results, tables
from benchmarks.scenarios import SCENARIOS, Setting, chart, scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 15


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="How fast, how large, how safe.")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="measure, and print the figures")
    run.add_argument("--scenario", choices=SCENARIOS, help="just this one; all by default")
    run.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each candidate (default: %(default)s)")
    run.add_argument("--minutes", type=float, default=10, help="how long the soak goes on (default: %(default)s)")
    run.add_argument(
        "--json", type=Path, metavar="FILE", help="where the figures, and beside it the charts, are written"
    )
    run.set_defaults(
        command=lambda given: _run(given.scenario, Setting(given.rounds, minutes=given.minutes), given.json)
    )
    check = commands.add_parser("check", help="hold a run against the claims")
    check.add_argument("file", type=Path, metavar="FILE", help="what --json wrote")
    check.set_defaults(command=lambda given: _check(given.file))
    given = parser.parse_args(arguments)
    return given.command(given)


def _run(only: str | None, setting: Setting, file: Path | None) -> int:
    found: results.Results = {}
    for name in [only] if only else SCENARIOS:
        found[name] = list(scenario(name)(setting))
        tables.show(name, found[name])
    if file is not None:
        results.write(file, results.about(setting.rounds), found)
        for name, groups in ((name, groups) for name, groups in found.items() if groups):
            file.with_suffix(f".{name}.svg").write_text(chart(name, groups), encoding="utf-8")
    return 0


def _check(file: Path) -> int:
    verdicts = claims.judged(results.read(file))
    print(claims.HEAD, *(verdict.line for verdict in verdicts), sep="\n")
    return 0 if all(verdict.passes for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
