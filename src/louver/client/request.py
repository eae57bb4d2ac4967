"""What a call asks for, from its options to the wire.

    call_tool(..., include=["id", "user.login"], strict=True)
    -> _meta.projection = {"mode": "include", "fields": ["id", "user.login"], "strict": true, "schema": "digest"}

`strict`, `required` and `schema` are ours: they go to a server that knows them, and are kept here in any case.
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

EVERYTHING = Projection.include("*")
"""What a call asks for that names nothing."""


def asked(
    include: Sequence[str] | None, exclude: Sequence[str] | None, view: str | None, *, strict: bool, required: bool
) -> Projection | None:
    """The request of a call's options; `None` if they name nothing.

    Raises:
        InvalidProjection: More than one of them is given, a list is none of paths, or a path cannot be read.
    """
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
    # A text would be taken for a list of its letters; what is none at all is refused with the rest.
    said = [*cast("Iterable[Any]", value)] if isinstance(value, Iterable) and not isinstance(value, str) else value
    return Projection.from_wire({"mode": mode, member: said, "strict": strict, "required": required})


def wire_form(projection: Projection, schema: SchemaForm, *, knows_options: bool) -> dict[str, Any]:
    """The request as it is sent.

    Args:
        projection: What is asked for.
        schema: How the projected schema shall be told.
        knows_options: Whether the server knows more than the proposal has.
    """
    if knows_options:
        return replace(projection, schema=schema).to_wire()
    return replace(projection, strict=False, required=False, schema="inline").to_wire()
