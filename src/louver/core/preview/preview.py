"""Previews of values that are not sent: the fields with types and sizes, and a suggested view.

{"fields": [{"path": "items.id", "types": ["integer"], "bytes": 690, "share": 0.02}, ...],
 "suggestedView": {"include": ["items.id", "items.title"]}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from louver.core.json import is_array, is_object
from louver.core.preview.field_sizes import size_of, weigh
from louver.core.wrapper import WRAPPER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.json import Json
    from louver.core.paths.path import FieldPath
    from louver.core.preview.field_sizes import Weight

MAX_SHAPE_FIELDS = 200
"""Fields that a preview lists. A value with more is a map, or is read in parts."""

HEAVY_CHARACTERS = 200
"""Longest text of a field that a suggested view keeps, in characters: a sentence or two."""

MAX_PREVIEW_BYTES = 600
MAX_SUGGESTED_BYTES = 250
"""JSON of a kept result's preview, and within it of the suggested view; a larger view is left out."""

MAX_SCALAR_BYTES = 200
"""JSON of the scalars that are shown of a kept result, in bytes."""


def preview(value: Json, size: int) -> dict[str, Any]:
    """The fields of a value of `size` bytes, `elements` if it is an array, and a suggested view; no values."""
    weights = weigh(value)
    content: dict[str, Any] = {"elements": len(value)} if is_array(value) else {}
    content["fields"] = [_field(weight, size) for weight in weights[:MAX_SHAPE_FIELDS]]
    if (kept := lean(weights)) is not None:
        content["suggestedView"] = {"include": [str(path) for path in kept]}
    return content


def fitted(content: dict[str, Any]) -> dict[str, Any]:
    """A preview within `MAX_PREVIEW_BYTES`: a short view, and the fields nearest to the root."""
    fits, left = {**content}, MAX_PREVIEW_BYTES
    if (view := size_of(content.get("suggestedView"))) <= MAX_SUGGESTED_BYTES:
        left -= view
    else:
        del fits["suggestedView"]
    fields: list[dict[str, Any]] = content["fields"]
    kept: set[int] = set()
    for at in sorted(range(len(fields)), key=lambda at: fields[at]["path"].count(".")):
        left -= size_of(fields[at]) + 1
        if left < 0:
            break
        kept.add(at)
    fits["fields"] = [field for at, field in enumerate(fields) if at in kept]
    if len(kept) < len(fields):
        fits["moreFields"] = len(fields) - len(kept)
    return fits


def scalars(value: Json, *, wrapped: bool = False) -> Json:
    """A projection to the short scalars of an object, such as totals and cursors; `[]` for an array, else `None`."""
    if not is_object(value):
        return [] if is_array(value) else None
    if wrapped and value.keys() == {WRAPPER}:
        return {WRAPPER: scalars(value[WRAPPER])}
    kept: dict[str, Json] = {}
    most = MAX_SCALAR_BYTES
    for name, member in value.items():
        if is_object(member) or is_array(member) or (isinstance(member, str) and len(member) > HEAVY_CHARACTERS):
            continue
        most -= size_of({name: member})
        if most < 0:
            break
        kept[name] = member
    return kept


def _field(weight: Weight, size: int) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": str(weight.path),
        "types": list(weight.kinds),
        "bytes": weight.bytes,
        "share": round(weight.bytes / size, 2),
    }
    if weight.seen < weight.of:
        entry["seen"] = round(weight.seen / weight.of, 2)
    if weight.is_constant:
        entry["constant"] = True
    return entry


Reason = Literal["long text", "always null", "constant"]


def reason(weight: Weight) -> Reason | None:
    if weight.longest > HEAVY_CHARACTERS:
        return "long text"
    if weight.nulls == weight.seen:
        return "always null"
    return "constant" if weight.is_constant else None


def lean(weights: Sequence[Weight]) -> tuple[FieldPath, ...] | None:
    """The paths of a view of short fields that vary; `None` if it would leave out nothing, or everything."""
    leaves = [weight for weight in weights if weight.is_leaf]
    kept = tuple(weight.path for weight in leaves if reason(weight) is None)
    return kept if kept and len(kept) < len(leaves) else None
