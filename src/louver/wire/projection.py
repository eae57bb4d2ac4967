r"""A projection on the wire: the request in `_meta` or in an argument of the tool, and the receipt of the answer.

    params._meta.projection, params._meta["dev.louver/projection"]         {"mode": "include", "fields": ["id"]}
    params.arguments.output_fields    ["id", "user.login"]  "id, user.login"  "[\"id\"]"  {"exclude": ["email"]}  ...
    result._meta, under the key of the request    {"applied": true, "mode": "include", "fields": ["id"], ...}

`Projection.from_wire` checks the object. Source: issue #1704, sections 3 and 4; the extension key, the argument (for
models) and most members of the receipt are ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import msgspec

from louver.core.json import is_array, is_object
from louver.core.projection.request import Mode, Projection
from louver.errors import InvalidProjection
from louver.limits import MAX_PATH_CHARACTERS, MAX_PATHS
from louver.wire.model import Count, Shaped, WireModel
from louver.wire.names import COMPACT, COMPACT_LITERAL, PROJECTION, PROJECTION_LITERAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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


MAX_ARGUMENT_CHARACTERS = 45
"""Characters of field names, and of view names, in the description of the argument: models read it with every list."""


_VIEW: Final = "view:"
_FIELDS: Final = ("fields", "include")

_POSITION: Final = re.compile(r"\[-?\d+\]")
_QUOTE: Final = re.compile("[`'\"]")


def argument_schema(
    fields: Iterable[str], views: Iterable[str], default_view: str | None = None, *, learned: bool = False
) -> dict[str, Any]:
    """The argument in a tool's input schema. Fields come most useful first, and as many are named as have room."""
    known, named = _few(map(_parent_and_name, fields)), _few(("", f"{_VIEW}{name}") for name in views)
    seen = "fields seen" if learned else "some fields"
    text = f"Return only {seen}: {known}" if known else "Return only some fields, such as id, user.login"
    parts = [f"{text}; or {named}" if named else text]
    if default_view is not None:
        parts.append(f"Default {_VIEW}{default_view}; * is everything")
    return {"type": "array", "items": {"type": "string"}, "description": ". ".join(parts)}


def requested_by_argument(argument: object) -> Projection | None:
    """The request in the argument; `None` for an empty one, or null, which hosts send for an omitted one."""
    value = _parsed(argument)
    if is_object(value):
        return _of_object(value)
    if value is None or isinstance(value, str) or is_array(value):
        return _of_names(_names(value))
    raise InvalidProjection("expected a list of field names, for example ['id', 'user.login']")


def _of_object(request: dict[str, Any]) -> Projection | None:
    if "mode" in request:
        return Projection.from_wire(request)
    given = {key: value for key, value in request.items() if value not in (None, "", [], {})}
    if not given:
        return None
    options = {key: given.pop(key) for key in ("strict", "required", "schema") if key in given}
    if len(given) > 1:
        given_keys = ", ".join(repr(key[:80]) for key in given)
        raise InvalidProjection(f"give one of 'fields', 'exclude' and 'view', not {given_keys}")
    key, value = next(iter(given.items()), ("fields", None))
    if key in _FIELDS:
        found = _of_names(_names(value))
        return None if found is None else Projection.from_wire({**found.to_wire(), **options})
    if key == "exclude":
        return Projection.from_wire({"mode": "exclude", "fields": _names(value), **options})
    if key == "view":
        return Projection.from_wire({"mode": "view", "view": value, **options})
    raise InvalidProjection(f"unknown key {key[:80]!r}: expected 'fields', 'exclude' or 'view'")


def _of_names(names: list[str]) -> Projection | None:
    if not names:
        return None
    for name in names:
        if _POSITION.search(name) and not _QUOTE.search(name) and not name.startswith(("/", "$")):
            raise InvalidProjection(f"{name[:80]!r}: positions are read from the root: '$.{name[:80]}'")
    views = [name.removeprefix(_VIEW).strip() for name in names if name.startswith(_VIEW)]
    if not views:
        return Projection(include=names)
    if len(names) > 1:
        raise InvalidProjection(f"a view is sent alone, as ['{_VIEW}{views[0][:80]}']")
    return Projection(view=views[0])


def _names(value: object) -> list[str]:
    found: list[str] = []
    for position, each in enumerate(cast("list[object]", value) if is_array(value) else [value]):
        if each is None:
            continue
        if not isinstance(each, str):
            message = f"every field path is a string, element {position} is not; for example ['id', 'user.login']"
            raise InvalidProjection(message, position=position)
        found += [name for part in _between_commas(each) if (name := part.strip())]
    return found


def _between_commas(text: str) -> Iterator[str]:
    """The parts between commas, but for those within brackets or quotes."""
    start, depth, quote = 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character == "`" or (depth and character in "'\""):
            quote = character
        elif character == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
        else:
            depth += (character == "[") - (character == "]")
    yield text[start:]


def _parsed(argument: object) -> object:
    """The value of JSON text, for models that send a list or an object as text."""
    if not isinstance(argument, str) or not argument.strip().startswith(("[", "{", '"')):
        return argument
    if len(argument) > MAX_PATHS * (MAX_PATH_CHARACTERS + 4):
        return argument
    try:
        return json.loads(argument)
    except (ValueError, RecursionError):
        return argument


def _parent_and_name(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition(".")
    return ("", path) if "`" in path else (parent, name)


def _few(paths: Iterable[tuple[str, str]]) -> str:
    """As many as have room, names of one parent together: `total; people: id, name, ...`."""
    shown, above, room, left = "", "", MAX_ARGUMENT_CHARACTERS, 0
    for parent, name in paths:
        begin = (
            ("; " if shown else "") + (f"{parent}: " if parent else "") if parent != above else ", " if shown else ""
        )
        if left or (room := room - len(begin) - len(name)) < 0:
            left += 1
        else:
            shown, above = f"{shown}{begin}{name}", parent
    return shown + (", ..." if left and shown else "")


# Why a projection was not applied.
Reason = Literal["error_result", "not_complete", "no_structured_output", "not_supported", "result_kept"]


class RowCount(WireModel, frozen=True, kw_only=True):
    path: str
    kept: Annotated[int, msgspec.Meta(ge=0)]
    of: Annotated[int, msgspec.Meta(ge=0)]


class Applied(WireModel, frozen=True, kw_only=True):
    applied: bool = True
    mode: Mode
    fields: list[str]  # the canonical list of what was asked for
    view: str | None = None
    excluded: list[str] | None = None  # what a view leaves out of its fields
    always: list[str] | None = None  # what the tool's author adds to every request
    shaped: Shaped | None = None  # what a view makes of what is left
    unmatched: list[str] | None = None  # paths that the tool's declared schema does not know
    suggestions: dict[str, str] | None = None  # for unmatched paths: what was meant
    rows: list[RowCount] | None = None  # for arrays with selected rows: how many elements are there
    partial: bool | None = None  # something was left out: do not write this value back
    content_dropped: Count | None = None  # blocks of `content` that are not text and were dropped
    projected_schema: dict[str, Any] | bool | None = None
    schema_precision: Literal["shape"] | None = None  # the schema only says which members there can be
    # Nothing was declared of the value: the schema comes from this answer alone.
    schema_source: Literal["inferred"] | None = None


class NotApplied(WireModel, frozen=True, kw_only=True):
    applied: bool = False
    reason: Reason


_FOR_PROGRAMS = (*("unmatched", "suggestions", "rows", "projectedSchema", "schemaPrecision", "schemaSource"),)


def brief(receipt: dict[str, Any]) -> dict[str, Any]:
    """A receipt for a model: without the schema, and without what a note in the result says."""
    return {key: value for key, value in receipt.items() if key not in _FOR_PROGRAMS}
