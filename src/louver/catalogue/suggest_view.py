"""A view for a tool, made from what it has answered: for its author to begin with.

    {"$schema": "...", "tool": "list_issues", "views": {"compact": {"include": ["issues.number", "issues.title"]}}}

Several answers of one tool are weighed together, so that what is constant or null in one of them need not be so in all.
Of their values nothing is kept but sizes. Law: the file can be used with the schema that the tool lists
(`test_a_suggested_file_fits_the_tool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.shipped_views import COMPACT
from louver.core.paths.path import FieldPath
from louver.core.preview.field_sizes import size_of, weigh
from louver.core.preview.preview import lean, reason
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import View, Views
from louver.core.schema import known_fields
from louver.core.wrapper import text_wrapper, within
from louver.errors import InvalidPath, ProjectionLimit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.core.json import Json, Schema
    from louver.core.preview.field_sizes import Weight

_SCHEMA = "https://louver.dev/schemas/view-file.schema.json"
_UNKNOWN = "not in the schema"
_UNNAMED = "no path names it"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What the answers of one tool weigh, and a view that leaves out the heavy part.

    Args:
        tool: The tool's name.
        samples: How many answers were weighed.
        weights: Their fields, each before those that stand in it.
        left_out: Path of a leaf -> why the view leaves it out, or would.
        include: What the view keeps; empty if there is nothing to leave out, or nothing else.
        full: The bytes of the answers.
        kept: The bytes of what the view keeps of them.
    """

    tool: str
    samples: int
    weights: Sequence[Weight]
    left_out: Mapping[FieldPath, str]
    include: tuple[FieldPath, ...]
    full: int
    kept: int

    @property
    def leaves(self) -> list[Weight]:
        """The fields in which no other stands."""
        return [weight for weight in self.weights if weight.is_leaf]

    @property
    def saved(self) -> float:
        """The share of the bytes that the view leaves out, 0 to 1."""
        return 1 - self.kept / self.full

    def file(self) -> dict[str, Any] | None:
        """The content of a file of views; `None` if there is no view."""
        if not self.include:
            return None
        views = {COMPACT: {"include": [str(path) for path in self.include]}}
        return {"$schema": _SCHEMA, "tool": self.tool, "views": views}


def suggest(tool: str, schema: Schema | None, values: Sequence[Json]) -> Suggestion | None:
    """The suggestion for a tool; `None` if its answers hold no object that has members.

    Args:
        tool: Its name.
        schema: Its output schema, if it has one.
        values: Some of its answers, at least one.
    """
    weights = weigh([*values])
    if not weights:
        return None
    unusable = _unusable(schema, [weight.path for weight in weights if weight.is_leaf])
    why = {weight.path: unusable.get(weight.path) or reason(weight) for weight in weights if weight.is_leaf}
    include = lean([weight for weight in weights if weight.path not in unusable]) or ()
    full = sum(map(size_of, values))
    kept = _kept(include, values) if include else full
    if kept >= full:
        # Where some elements of an array are no objects, `null` stands in for each.
        include, kept = (), full
    left_out = {path: said for path, said in why.items() if said is not None}
    return Suggestion(tool, len(values), weights, left_out, include, full, kept)


def _unusable(schema: Schema | None, paths: Sequence[FieldPath]) -> dict[FieldPath, str]:
    """The paths that cannot stand in a view of the tool, and why."""
    named = tuple(path for path in paths if _is_written(path))
    found = {path: _UNNAMED for path in paths if path not in named}
    # Of JSON text in a string nothing is known.
    if schema is not None and text_wrapper(schema) is None:
        found |= dict.fromkeys(known_fields.unmatched(schema, within(schema, named), ()), _UNKNOWN)
    return found


def _is_written(path: FieldPath) -> bool:
    """Whether the path can be read again: a name may be too long for one, or hold what no path can."""
    try:
        return FieldPath.parse(str(path)) == path
    except (InvalidPath, ProjectionLimit):
        return False


def _kept(include: tuple[FieldPath, ...], values: Sequence[Json]) -> int:
    views = Views({COMPACT: View(include)})
    plan = compile_projection(Projection.view(COMPACT), views=views)
    return sum(size_of(plan(value)) for value in values)
