"""The payloads: what a value looks like, what is asked of it, and the same by hand.

    issues     a page of issues, 30 fields each, with users, labels and long texts
    profile    one wide object with a long text and a history
    rows       a table of 60 columns
    tree       objects nested 20 levels deep

The same name and size is the same value, on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks import handwritten, models, shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from benchmarks.handwritten import Hand
    from louver.core.json import Json

SEED = 20251107
SIZES = {"1 kB": 1_000, "100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}


@dataclass(frozen=True, slots=True)
class Payload:
    """One shape and its requests.

    Args:
        name: What it is called in tables.
        shape: Makes a value of so many bytes.
        model: What the author of a server would declare.
        hand: What is asked for, written by hand.
        include: The paths that are asked for.
        exclude: The paths that are left out.
    """

    name: str
    shape: Callable[[Random, int], Json]
    model: type[BaseModel]
    hand: Hand
    include: tuple[str, ...]
    exclude: tuple[str, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the values."""
        return self.model.model_json_schema(mode="serialization")

    def make(self, size: int) -> Json:
        """The value of `size` bytes."""
        return self.shape(Random(f"{SEED} {self.name} {size}"), size)


ISSUES = Payload(
    "issues",
    shapes.issue_page,
    models.Issues,
    handwritten.ISSUES,
    tuple(f"items.{path}" for path in "id number title user.login labels.name state created_at".split()),
    tuple(
        f"items.{path}"
        for path in "body reactions url timeline_url user.url user.avatar_url labels.description".split()
    ),
)
PROFILE = Payload(
    "profile",
    shapes.profile,
    models.Profile,
    handwritten.PROFILE,
    ("id", "login", "name", "contact.email", "address.city", "history.at", "history.action"),
    ("bio", "badges", "contact.phone", "address.street", "history.note"),
)
ROWS = Payload(
    "rows",
    shapes.table,
    models.Rows,
    handwritten.ROWS,
    ("total", *(f"rows.{name}" for name in "count_00 label_00 flag_03 ratio_07 count_11 label_13".split())),
    tuple(f"rows.label_{number:02}" for number in (14, 12, 10, 8, 6, 4, 2)),
)
TREE = Payload(
    "tree",
    shapes.tree,
    models.Node,
    handwritten.TREE,
    (
        *("id", "name", "children.id", "children.name"),
        *("children.children.id", "children.children.name", "children.children.children.name"),
    ),
    ("**.note",),
)
PAYLOADS = (ISSUES, PROFILE, ROWS, TREE)
