"""The rows of the database, generated with a fixed seed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from examples.company.rows import people, shop, tracker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.company.rows.make import Row

SEED = "louver"


def content() -> Iterator[tuple[str, list[Row]]]:
    """Every table's name with its rows, in the order of insertion."""
    # Each group has random numbers of its own, so that a change to one leaves the others as they were.
    for group in (people, tracker, shop):
        yield from group.content(Random(f"{SEED}/{group.__name__.rpartition('.')[2]}"))
