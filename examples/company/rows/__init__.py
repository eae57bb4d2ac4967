"""The rows of the example database, invented with a fixed seed.

Each group of tables has its own generator and its own random numbers, so that a change to
one leaves the others as they were.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from examples.company.rows import people, shop, tracker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.company.rows.make import Row

SEED = "louver"


def content() -> Iterator[tuple[str, list[Row]]]:
    """Every table's name with its rows, in the order in which they can be inserted."""
    for group in (people, tracker, shop):
        yield from group.content(Random(f"{SEED}/{group.__name__.rpartition('.')[2]}"))
