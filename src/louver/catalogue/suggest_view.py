"""A suggested view for a tool, made from sample results: a start for its author.

    {"$schema": "...", "tool": "list_issues", "views": {"compact": {"include": ["issues.number", "issues.title"]}}}

Samples are weighed together: a field that is constant or null in one may differ in another. Only sizes are kept.
Law: the file is valid for the schema that the tool lists (`test_a_suggested_file_fits_the_tool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.views import COMPACT, SCHEMA
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

_UNKNOWN = "not in the schema"
_UNNAMED = "no path names it"


@dataclass(frozen=True, slots=True)
class Suggestion:
    tool: str
    samples: int  # number of results
    weights: Sequence[Weight]  # each field before those within it
    left_out: Mapping[FieldPath, str]  # path of a leaf -> why the view omits it, or would
    include: tuple[FieldPath, ...]  # empty if there is nothing to omit, or nothing else
    full: int  # bytes of the results
    kept: int  # bytes that the view keeps

    @property
    def leaves(self) -> list[Weight]:
        return [weight for weight in self.weights if weight.is_leaf]

    @property
    def saved(self) -> float:
        return 1 - self.kept / self.full

    def file(self) -> dict[str, Any] | None:
        if not self.include:
            return None
        views = {COMPACT: {"include": [str(path) for path in self.include]}}
        return {"$schema": SCHEMA, "tool": self.tool, "default": COMPACT, "views": views}


def suggest(tool: str, schema: Schema | None, values: Sequence[Json]) -> Suggestion | None:
    """The suggestion for a tool from one or more results; `None` if they hold no object with members."""
    weights = weigh([*values])
    if not weights:
        return None
    unusable = _unusable(schema, [weight.path for weight in weights if weight.is_leaf])
    why = {weight.path: unusable.get(weight.path) or reason(weight) for weight in weights if weight.is_leaf}
    include = lean([weight for weight in weights if weight.path not in unusable]) or ()
    full = sum(map(size_of, values))
    kept = _kept(include, values) if include else full
    if kept >= full:
        # Array elements that are not objects become `null`, which may be longer.
        include, kept = (), full
    left_out = {path: cause for path, cause in why.items() if cause is not None}
    return Suggestion(tool, len(values), weights, left_out, include, full, kept)


def _unusable(schema: Schema | None, paths: Sequence[FieldPath]) -> dict[FieldPath, str]:
    named = tuple(path for path in paths if _is_written(path))
    found = {path: _UNNAMED for path in paths if path not in named}
    # A string may hold any JSON text.
    if schema is not None and text_wrapper(schema) is None:
        found |= dict.fromkeys(known_fields.unmatched(schema, within(schema, named), ()), _UNKNOWN)
    return found


def _is_written(path: FieldPath) -> bool:
    """Whether the path can be written and parsed again: a name may be too long, or impossible in a path."""
    try:
        return FieldPath.parse(str(path)) == path
    except (InvalidPath, ProjectionLimit):
        return False


def _kept(include: tuple[FieldPath, ...], values: Sequence[Json]) -> int:
    views = Views({COMPACT: View(include)})
    plan = compile_projection(Projection(view=COMPACT), views=views)
    return sum(size_of(plan(value)) for value in values)
