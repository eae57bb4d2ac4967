"""A projection request in `tools/call`, and its wire form. Models use an argument (`louver.protocol.argument`).

    params._meta.projection                     {"mode": "include", "fields": ["id"]}
    params._meta["dev.louver/projection"]       the same

The receipt comes back under the key of the request. `Projection.from_wire` checks the object.
Source: issue #1704, section 3; the extension key is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from louver.core.projection.request import Projection, SchemaForm
from louver.errors import InvalidProjection
from louver.limits import MAX_PATH_CHARACTERS, MAX_PATHS
from louver.protocol.model import WireModel
from louver.protocol.names import COMPACT, COMPACT_LITERAL, PROJECTION, PROJECTION_LITERAL

Paths = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARACTERS)]],
    Field(min_length=1, max_length=MAX_PATHS),
]


class _Options(WireModel):
    strict: bool = False
    required: bool = False
    schema_form: SchemaForm = Field(default="inline", alias="schema")


class FieldsRequest(_Options):
    mode: Literal["include", "exclude"]
    fields: Paths


class ViewRequest(_Options):
    mode: Literal["view"]
    view: Annotated[str, Field(min_length=1)]


ProjectionRequest = Annotated[FieldsRequest | ViewRequest, Field(discriminator="mode")]


def requested(meta: object) -> tuple[Projection, str] | None:
    """The request in a call's `_meta`, and its key; `None` if there is none."""
    keys = requested_keys(meta)
    if not keys:
        return None
    projections = {key: Projection.from_wire(cast("Mapping[str, Any]", meta)[key]) for key in keys}
    if len(set(projections.values())) > 1:
        raise InvalidProjection(
            f"'_meta' holds two different projections, under {PROJECTION_LITERAL!r} and {PROJECTION!r}: send one"
        )
    key = next(iter(projections))
    return projections[key], key


def requested_keys(meta: object) -> tuple[str, ...]:
    if not isinstance(meta, Mapping):
        return ()
    entries = cast("Mapping[str, object]", meta)
    return tuple(key for key in (PROJECTION_LITERAL, PROJECTION) if key in entries and not _is_hint(entries[key]))


def _is_hint(value: object) -> bool:
    """Whether the client sent the tool's hint back: no request."""
    return isinstance(value, dict) and "supported" in value and "mode" not in value


def is_compact(meta: object) -> bool:
    """Whether a call takes the default view of its tool, if there is one."""
    if not isinstance(meta, dict):
        return True
    flags = [cast("dict[str, Any]", meta).get(key, True) for key in (COMPACT_LITERAL, COMPACT)]
    if not all(isinstance(each, bool) for each in flags):
        raise InvalidProjection(f"{COMPACT_LITERAL!r} in '_meta' is true or false")
    return all(flags)
