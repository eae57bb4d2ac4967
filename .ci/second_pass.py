#!/usr/bin/env python3
"""Try once more, alone, what has just failed: `uv run pytest OPTIONS || uv run python .ci/second_pass.py OPTIONS`.

A test that passes then is printed as `unsteady: NAME`. The exit status is 0 if all do, and if they are few.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
"""So many may be tried again: where more have failed, something is wrong with them all."""

REPORT = Path(".pytest_cache/second_pass.xml")


def main(options: list[str]) -> int:
    """Run the second pass in this folder; the exit status."""
    failed = _failed()
    if not 0 < len(failed) <= MOST:
        return _say(f"{len(failed)} tests have failed, where 1 to {MOST} are tried once more")
    if gone := [name for name in failed if not Path(name.partition("::")[0]).is_file()]:
        return _say(f"no test is called {', '.join(sorted(gone))}")
    again = ["--last-failed", "--last-failed-no-failures=none", "--numprocesses=0", f"--junitxml={REPORT}", *options]
    status = subprocess.run([sys.executable, "-m", "pytest", *again], check=False).returncode
    if 'skipped="0"' not in REPORT.read_text("utf-8"):
        return _say("what failed was skipped then")
    left = _failed()
    for name in sorted(failed - left):
        print(f"unsteady: {name}")
    if status or left:
        return _say(f"failed again: {', '.join(sorted(left))}")
    return 0


def _failed() -> set[str]:
    file = Path(".pytest_cache/v/cache/lastfailed")
    return set(json.loads(file.read_text("utf-8"))) if file.exists() else set()


def _say(text: str) -> int:
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
