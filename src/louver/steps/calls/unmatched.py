"""Notes for models on fields that a request names and the output does not have.

some exist      NOTE: the output has no field 'nmae'; did you mean 'name'?
none exists     an error, as a model would take `{}` for the whole output; it lists the existing fields
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import members, strings
from louver.core.paths.path import FieldPath
from louver.core.paths.rows import Pick
from louver.core.preview.field_sizes import weigh
from louver.core.schema.infer import infer
from louver.core.schema.known_fields import unmatched
from louver.core.wrapper import from_root
from louver.errors import UnknownField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.catalogue.entry import Entry
    from louver.core.json import Json
    from louver.core.projection.plan import Plan
    from louver.core.projection.request import Projection

MAX_NAMED_FIELDS = 60
"""Fields that an error lists if a request names no existing field."""

MAX_EXPLAINED_PATHS = 5
"""Unknown fields that a message explains one by one; the receipt lists all."""


def unmatched_in(receipt: Mapping[str, Any]) -> list[str]:
    """A clause for each of the first unmatched fields in a receipt on the wire."""
    names, suggestions = strings(receipt.get("unmatched")), members(receipt.get("suggestions"))
    return _clauses(names, suggestions)


def note_by_schema(entry: Entry, projection: Projection) -> str | None:
    """The note by the tool's output schema, if it has one; UnknownField if no included field exists."""
    if entry.output_schema is None or entry.text_wrapper is not None:
        return None
    plan = entry.plan(projection).plan
    if projection.mode == "include" and len(plan.unmatched) == len(plan.fields):
        raise _no_match_error(plan.unmatched, plan.suggestions, entry.leaf_fields)
    return _note(plan.unmatched, plan.suggestions)


def note_by_value(value: Json, plan: Plan) -> str | None:
    """The note by an output without schema; UnknownField if no included field exists."""
    if plan.request.mode != "include":
        return None
    requested = [from_root(FieldPath.parse(field, rows=True)) for field in plan.fields]
    fields = {_of_all_rows(path): path for path in requested}
    missing = unmatched(infer([value]), fields, ())
    names = [str(fields[path]) for path in missing]
    suggestions = {
        str(fields[path]): str(_with_tests(meant, fields[path])) for path, meant in missing.items() if meant is not None
    }
    if len(names) == len(fields):
        leaves = sorted((weight for weight in weigh(value) if weight.is_leaf), key=lambda weight: -weight.bytes)
        raise _no_match_error(names, suggestions, [str(weight.path) for weight in leaves])
    return _note(names, suggestions)


def _of_all_rows(path: FieldPath) -> FieldPath:
    """A path without its tests: a member that no row of an answer has may be one that the test is about."""
    return FieldPath(tuple(None if isinstance(step, Pick) and step.tests else step for step in path.steps), path.deep)


def _with_tests(path: FieldPath, requested: FieldPath) -> FieldPath:
    steps = zip(path.steps, requested.steps, strict=False)
    return FieldPath(tuple(own if isinstance(own, Pick) and step is None else step for step, own in steps), path.deep)


def _note(names: Sequence[str], suggestions: Mapping[str, str]) -> str | None:
    return f"NOTE: {'; '.join(_clauses(names, suggestions))}" if names else None


def _no_match_error(names: Sequence[str], suggestions: Mapping[str, str], fields: Sequence[str]) -> UnknownField:
    listed = ", ".join(fields[:MAX_NAMED_FIELDS])
    more = f" and {len(fields) - MAX_NAMED_FIELDS} more" if len(fields) > MAX_NAMED_FIELDS else ""
    text = "; ".join(_clauses(names, suggestions))
    end = "" if text.endswith("?") else "."
    return UnknownField(f"{text}{end} Its fields: {listed}{more}" if fields else f"{text}, nor any other")


def _clauses(names: Sequence[str], suggestions: Mapping[str, str]) -> list[str]:
    clauses = [
        f"the output has no field {name!r}{_suggestion(suggestions.get(name))}" for name in names[:MAX_EXPLAINED_PATHS]
    ]
    more = len(names) - len(clauses)
    return [*clauses, *([f"nor {more} more that were asked for"] if more else [])]


def _suggestion(name: str | None) -> str:
    return "" if name is None else f"; did you mean {name!r}?"
