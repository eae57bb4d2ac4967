"""The scenarios: what `python -m benchmarks run` can run, each a module of its own.

    for group in scenario("engine")(Setting(rounds=15)): ...

A scenario yields its groups as they are measured. A new one is a module with such a `run`, and a name
in the list below. One whose figures add up has a `chart` of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from benchmarks.chart import svg
from benchmarks.payloads import SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.results import Group

SCENARIOS = (
    "engine",
    "plan",
    "tokens",
    "adversarial",
    "gateway",
    "serving",
    "limit",
    "search",
    "disclosure",
    "sessions",
    "lua",
    "growth",
    "soak",
    "bad_peer",
    "faults",
)
"""The modules, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How much is measured.

    Args:
        rounds: How often each candidate takes its turn.
        most_bytes: The size of the largest payload.
        peers: Whether also what must be downloaded is measured.
        minutes: How long the soak goes on.
    """

    rounds: int
    most_bytes: int = SIZES["10 MB"]
    peers: bool = True
    minutes: float = 10

    def sizes(self, most: str) -> list[int]:
        """The sizes of payloads, up to the one called `most`."""
        return [size for size in SIZES.values() if size <= min(SIZES[most], self.most_bytes)]


def scenario(name: str) -> Callable[[Setting], Iterator[Group]]:
    """What runs a scenario; imported only now, because peers take long to import."""
    return import_module(f"{__name__}.{name}").run


def chart(name: str, groups: Sequence[Group]) -> str:
    """The SVG of a scenario's figures."""
    draw: Callable[[Sequence[Group]], str] = getattr(import_module(f"{__name__}.{name}"), "chart", partial(svg, name))
    return draw(groups)
