"""The request of a call, from its options to the wire.

call_tool(..., include=["id", "user.login"], strict=True)
-> _meta.projection = {"mode": "include", "fields": ["id", "user.login"], "strict": true, "schema": "digest"}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from louver.core.projection.request import Projection
from louver.errors import InvalidProjection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.projection.request import SchemaForm

# The request of a call that names nothing.
EVERYTHING = Projection.include("*")


def requested_projection(
    include: Sequence[str] | None, exclude: Sequence[str] | None, view: str | None, *, strict: bool, required: bool
) -> Projection | None:
    given: dict[str, Any] = {"include": include, "exclude": exclude, "view": view}
    named = {mode: value for mode, value in given.items() if value is not None}
    if not named:
        if strict or required:
            raise InvalidProjection("'strict' and 'required' go with 'include', 'exclude', 'view' or 'into'")
        return None
    if len(named) > 1:
        raise InvalidProjection(f"one of {', '.join(map(repr, (*given, 'into')))} at a time")
    [(mode, value)] = named.items()
    member = "view" if mode == "view" else "fields"
    # A string is not read as a list of its letters: `from_wire` refuses it, and whatever else is not a list.
    wire_value = (
        [*cast("Iterable[Any]", value)] if isinstance(value, Iterable) and not isinstance(value, str) else value
    )
    return Projection.from_wire({"mode": mode, member: wire_value, "strict": strict, "required": required})


def wire_form(projection: Projection, schema: SchemaForm, *, knows_options: bool) -> dict[str, Any]:
    """The request as sent: our own options only to a server that knows them. The client enforces them itself."""
    if knows_options:
        return replace(projection, schema=schema).to_wire()
    return replace(projection, strict=False, required=False, schema="inline").to_wire()
