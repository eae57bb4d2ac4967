"""How much work a walk over a schema may do.

Schemas come from servers that nobody vouches for: one of 600 bytes can have
2^22 ways through it, one of 10 kB can be nested a thousand deep. A walk counts
its steps (never the clock, so that equal schemas are treated alike) and gives
up over the bound; the caller then answers with the shape, which is always
sound.
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
    """A walk did more steps, or went deeper, than is allowed."""


class Budget:
    """Counts the steps of one walk and the depth at which it is."""

    __slots__ = ("depth", "steps")

    def __init__(self, steps: int = MAX_SCHEMA_STEPS) -> None:
        self.steps = steps
        self.depth = MAX_SCHEMA_DEPTH

    def step(self, steps: int = 1) -> None:
        """Count steps.

        Raises:
            OverBudget: They are too many.
        """
        self.steps -= steps
        if self.steps < 0:
            raise OverBudget

    @contextmanager
    def deeper(self) -> Generator[None]:
        """Count one step, and one level around what is done inside.

        Raises:
            OverBudget: It is one step too many, or nested too deep.
        """
        self.step()
        self.depth -= 1
        if self.depth < 0:
            raise OverBudget
        try:
            yield
        finally:
            self.depth += 1

    def weigh(self, value: Json) -> None:
        """Count one step for every part of a constant.

        Raises:
            OverBudget: It is too large, or nested too deep to be written.
        """
        for depth, level in enumerate(levels(value)):
            self.step(len(level))
            if depth == MAX_WRITTEN_DEPTH:
                raise OverBudget
