"""Where a request for a projection stands, and its wire form as a model.

On `tools/call`, under either key, or by the reserved argument where a tool has it::

    params._meta.projection                     {"mode": "include", "fields": ["id"]}
    params._meta["dev.louver/projection"]       the same
    params.arguments._projection                the same, or just ["id"]

The receipt comes back under the key that the request used. What the object may
hold is said by `Projection.from_wire`, whose refusals say what would have been right.
Source: issue #1704, section 3; the extension key and the argument are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from louver.core.json import is_array, is_object
from louver.core.projection import Projection, SchemaForm
from louver.errors import InvalidProjection
from louver.limits import MAX_PATH_CHARACTERS, MAX_PATHS
from louver.protocol.model import WireModel
from louver.protocol.names import ARGUMENT, COMPACT, COMPACT_LITERAL, PROJECTION, PROJECTION_LITERAL

Paths = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARACTERS)]],
    Field(min_length=1, max_length=MAX_PATHS),
]


class _Options(WireModel):
    strict: bool = False
    required: bool = False
    schema_form: SchemaForm = Field(default="inline", alias="schema")


class FieldsRequest(_Options):
    """A request that names fields."""

    mode: Literal["include", "exclude"]
    fields: Paths


class ViewRequest(_Options):
    """A request that names a view."""

    mode: Literal["view"]
    view: Annotated[str, Field(min_length=1)]


ProjectionRequest = Annotated[FieldsRequest | ViewRequest, Field(discriminator="mode")]
"""A request on the wire."""


def requested(meta: object) -> tuple[Projection, str] | None:
    """The request in a call's `_meta`, and the key under which it stands; `None` if there is none.

    Raises:
        InvalidProjection: It is not a projection, or the two keys hold different ones.
    """
    if not isinstance(meta, Mapping):
        return None
    found: dict[str, Any] = {key: meta[key] for key in (PROJECTION_LITERAL, PROJECTION) if key in meta}
    if not found:
        return None
    projections = {key: Projection.from_wire(value) for key, value in found.items()}
    if len(set(projections.values())) > 1:
        raise InvalidProjection(
            f"'_meta' holds two different projections, under {PROJECTION_LITERAL!r} and {PROJECTION!r}: send one"
        )
    key = next(iter(projections))
    return projections[key], key


def is_compact(meta: object) -> bool:
    """Whether a call takes the default view of its tool, if that has one.

    Raises:
        InvalidProjection: What `_meta` says of it is neither true nor false.
    """
    if not is_object(meta):
        return True
    said = [meta.get(key, True) for key in (COMPACT_LITERAL, COMPACT)]
    if not all(isinstance(each, bool) for each in said):
        raise InvalidProjection(f"{COMPACT_LITERAL!r} in '_meta' is true or false")
    return all(said)


def requested_by_argument(argument: object) -> Projection:
    """The request in the reserved argument: the object, or a list of paths for mode `include`.

    Raises:
        InvalidProjection: It is neither.
    """
    if is_array(argument):
        return Projection.from_wire({"mode": "include", "fields": argument})
    if not is_object(argument):
        message = f"{ARGUMENT!r} is a list of field paths, for example ['id', 'user.login'], or a projection"
        raise InvalidProjection(message)
    return Projection.from_wire(argument)
