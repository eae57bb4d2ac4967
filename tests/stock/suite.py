"""The official conformance suite: `server_score(url, "2026-07-28")` and `client_score(command, scenario, revision)`.

The suite (npm `@modelcontextprotocol/conformance`) either tries a server, scenario by scenario, or acts as a server
and starts a client. It leaves a file a scenario, which becomes a part of the score::

    {"tools-list": [Check("tools-list", "ToolsList", "SUCCESS"),
                    Check("wire-schema-valid", "WireSchemaValid", "FAILURE", "resultType is missing")], ...}

Two servers that do the same have the same score, whatever it is: so a gateway is laid beside what it stands before.
The suite is installed where the stock clients are; its version is pinned in `package.json`, because another one asks
other things.
"""

import json
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .run import StockError, node_packages

PASSED = "SUCCESS"

VERDICTS = {PASSED, "FAILURE", "WARNING", "SKIPPED"}
"""What a check can come to; the suite also notes what it saw, as `INFO`."""

SUITE_SECONDS = 300
"""For a whole run, which takes 3 s; a scenario that hangs is ended by the suite after 30 s."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it is about, what came of it, and for one not passed what is wrong."""

    id: str
    name: str
    verdict: str
    error: str | None = None


class Score(dict[str, list[Check]]):
    """The checks by scenario, in the order in which they were made."""

    @property
    def passed(self) -> int:
        return sum(check.verdict == PASSED for checks in self.values() for check in checks)

    @property
    def others(self) -> dict[str, list[Check]]:
        """What was not passed: failed, warned of or skipped."""
        rest = {scenario: [check for check in checks if check.verdict != PASSED] for scenario, checks in self.items()}
        return {scenario: checks for scenario, checks in rest.items() if checks}


def server_score(url: str, revision: str) -> Score:
    """What a server gets in all scenarios that a protocol revision has.

    Raises:
        StockError: the suite is not to be had here, or did not run.
    """
    with tempfile.TemporaryDirectory() as folder:
        ran = _suite("server", "--url", url, "--suite", "all", "--spec-version", revision, "--output-dir", folder)
        scenarios = re.findall(r"^=== Running scenario: (.+) ===$", ran.stdout, re.MULTILINE)
        if not scenarios:
            raise StockError(f"the conformance suite ran nothing: {ran.stderr.strip()}")
        return Score((scenario, _checks(Path(folder), f"server-{scenario}")) for scenario in scenarios)


def client_score(command: list[str], scenario: str, revision: str | None) -> Score:
    """What a client gets in one scenario.

    Args:
        command: starts the client; the suite adds the URL of its server, and tells the rest by the environment:
            see `fixtures/suite_client.py`.
        scenario: such as `sse-retry`; `conformance list --client` names them all.
        revision: what the suite's server speaks; one that the scenario has. `None` for an extension's scenario.

    Raises:
        StockError: the suite is not to be had here or did not run, or the client did not end well; what it wrote
            on its standard error is in the message.
    """
    with tempfile.TemporaryDirectory() as folder:
        version = [] if revision is None else ["--spec-version", revision]
        options = ["--scenario", scenario, *version, "--output-dir", folder]
        ran = _suite("client", "--command", shlex.join(command), *options)
        if "SKIPPED" in ran.stdout or "CLIENT EXITED WITH ERROR" in ran.stderr or "CLIENT TIMED OUT" in ran.stderr:
            raise StockError(f"{scenario} on {revision}: {ran.stdout.strip()} {ran.stderr.strip()}")
        return Score({scenario: _checks(Path(folder), scenario)})


def _suite(*arguments):
    node, home = node_packages()
    script = home / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    try:
        # It exits with 1 when a check failed, which is a score like any other.
        return subprocess.run(
            [node, script, *arguments], capture_output=True, encoding="utf-8", timeout=SUITE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise StockError(f"the conformance suite: not done after {SUITE_SECONDS} s") from None


def _checks(folder, scenario):
    """The checks of a scenario's file, whose folder is named by it and by the time."""
    files = list(folder.glob(f"{scenario}-[0-9][0-9][0-9][0-9]-*/checks.json"))
    if not files:
        return [Check("ran", "Ran", "FAILURE", "the scenario broke off and left no checks")]
    noted = json.loads(files[0].read_text("utf-8"))
    return [_check(entry) for entry in noted if entry["status"] in VERDICTS]


def _check(entry):
    return Check(entry["id"], entry["name"], entry["status"], entry.get("errorMessage"))
