r"""The tool argument by which a model requests a projection, in every form that models send.

"output_fields": {"type": "array", "items": {"type": "string"},
                  "description": "Return only some fields: id, name, address.city; or view:minimal"}
["id", "user.login"]  "id, user.login"  "[\"id\"]"  {"fields": ["id"]}  {"exclude": ["email"]}  {"view": "minimal"}
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

from louver.core.json import is_array, is_object
from louver.core.projection.request import Projection
from louver.errors import InvalidProjection
from louver.limits import MAX_ARGUMENT_CHARACTERS, MAX_PATH_CHARACTERS, MAX_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterable

_VIEW: Final = "view:"
_FIELDS: Final = ("fields", "include")

# Names between commas; a quoted name may hold a comma.
_NAMES: Final = re.compile(r"(?:`(?:[^`]|``)*`|\['(?:[^']|'')*'\]|[^,])+")


def argument_schema(
    fields: Iterable[str], views: Iterable[str], default_view: str | None = None, *, learned: bool = False
) -> dict[str, Any]:
    """The argument in a tool's input schema. Fields come most useful first, and as many are named as have room."""
    known, named = _few(fields), _few(f"{_VIEW}{name}" for name in views)
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
    views = [name.removeprefix(_VIEW).strip() for name in names if name.startswith(_VIEW)]
    if not views:
        return Projection.include(*names)
    if len(names) > 1:
        raise InvalidProjection(f"a view is sent alone, as ['{_VIEW}{views[0][:80]}']")
    return Projection.view(views[0])


def _names(value: object) -> list[str]:
    found: list[str] = []
    for position, each in enumerate(cast("list[object]", value) if is_array(value) else [value]):
        if each is None:
            continue
        if not isinstance(each, str):
            message = f"every field path is a string, element {position} is not; for example ['id', 'user.login']"
            raise InvalidProjection(message, position=position)
        found += [name for part in _NAMES.findall(each) if (name := part.strip())]
    return found


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


def _few(names: Iterable[str]) -> str:
    shown: list[str] = []
    room, left = MAX_ARGUMENT_CHARACTERS, 0
    for name in names:
        if left or (room := room - len(name) - 2) < 0:
            left += 1
        else:
            shown.append(name)
    return ", ".join(shown) + (", ..." if left and shown else "")
