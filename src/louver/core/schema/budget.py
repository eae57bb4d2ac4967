"""A budget of steps and depth for walks over schemas.

Schemas come from untrusted servers: one of 600 bytes can have 2^22 ways through it. A walk counts steps, never time, so
that equal schemas are treated alike. Over the budget the caller answers with the shape, which is always sound.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from louver.core.json import levels
from louver.limits import MAX_SCHEMA_DEPTH, MAX_SCHEMA_STEPS, MAX_WRITTEN_DEPTH

if TYPE_CHECKING:
    from collections.abc import Generator

    from louver.core.json import Json


class OverBudget(Exception):
    """A walk takes more steps, or goes deeper, than it may."""


class StepBudget:
    __slots__ = ("depth", "steps")

    def __init__(self, steps: int = MAX_SCHEMA_STEPS) -> None:
        self.steps = steps
        self.depth = MAX_SCHEMA_DEPTH

    def step(self, steps: int = 1) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise OverBudget

    @contextmanager
    def deeper(self) -> Generator[None]:
        self.step()
        self.depth -= 1
        if self.depth < 0:
            raise OverBudget
        try:
            yield
        finally:
            self.depth += 1

    def weigh(self, value: Json) -> None:
        """Count one step for every part of a constant, which must not be too deep to be written."""
        for depth, level in enumerate(levels(value)):
            self.step(len(level))
            if depth == MAX_WRITTEN_DEPTH:
                raise OverBudget
