"""The results of a run, as they stand in its JSON file.

    {"about": {"date": ..., "python": ..., "cpu": ..., "seed": ..., "rounds": ..., "versions": {...}},
     "scenarios": {"engine": [{"case": "include", "payload": "issues", "size": 1000, "unit": "s",
                               "baseline": "by hand", "rows": [{"name": "louver", "median": 1.2e-06, ...}]}]}}

A group holds what was measured side by side: all of its rows are in one unit, and comparable.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.payloads import SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

TWIN = " (twin)"
"""Ends the name of the baseline's second entry: the same code, which should take the same time."""

PACKAGES = (
    *("louver", "pydantic", "orjson", "msgspec", "jsonpath-ng", "python-jsonpath"),
    *("jmespath", "jq", "glom", "dpath", "bpe-openai"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate's figures.

    Args:
        name: The candidate.
        median: Of all rounds, in the group's unit.
        low: The first quartile of the rounds; the smallest where a row tells of many schemas.
        high: The third quartile; the largest.
    """

    name: str
    median: float
    low: float
    high: float

    @classmethod
    def exact(cls, name: str, value: float) -> Row:
        """A figure that does not vary, such as a count."""
        return cls(name, value, value, value)

    @classmethod
    def over(cls, name: str, values: Sequence[float]) -> Row:
        """The median, the smallest and the largest of figures of one kind."""
        return cls(name, median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Group:
    """What was measured side by side.

    Args:
        case: What was done, within the scenario.
        payload: To what.
        size: Of how many bytes; 0 where that says nothing.
        unit: Of the rows: `s`, `MB`, `tokens`, `share`, `score`, or what is counted.
        baseline: The row that the others are shown against; `None` where figures are absolute.
        rows: The candidates.
    """

    case: str
    payload: str
    size: int
    unit: str
    baseline: str | None
    rows: tuple[Row, ...]

    def median(self, name: str) -> float | None:
        """The median of a candidate, if it was measured."""
        return next((row.median for row in self.rows if row.name == name), None)

    @property
    def noise(self) -> float | None:
        """How far the baseline's twin is from it, as a share of it."""
        if self.baseline is None:
            return None
        same, twin = self.median(self.baseline), self.median(self.baseline + TWIN)
        return abs(twin / same - 1) if same and twin else None


Results = dict[str, list[Group]]
"""The groups of each scenario that ran."""


def about(rounds: int) -> dict[str, Any]:
    """On what machine, with what software and how the figures were made."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cpu": _cpu(),
        "system": platform.system(),
        "seed": SEED,
        "rounds": rounds,
        "versions": {name: found for name in PACKAGES if (found := _version(name)) is not None},
    }


def write(file: Path, told: dict[str, Any], results: Results) -> None:
    """Write the JSON file of a run."""
    scenarios = {name: [asdict(group) for group in groups] for name, groups in results.items()}
    file.write_text(json.dumps({"about": told, "scenarios": scenarios}, indent=1) + "\n", encoding="utf-8")


def read(file: Path) -> Results:
    """The groups of a JSON file."""
    scenarios = json.loads(file.read_text(encoding="utf-8"))["scenarios"]
    return {name: [_group(group) for group in groups] for name, groups in scenarios.items()}


def _group(told: dict[str, Any]) -> Group:
    return Group(**{**told, "rows": tuple(Row(**row) for row in told["rows"])})


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    """The model of the processor; Python itself knows it on few systems."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
