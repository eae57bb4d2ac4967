"""A request for a projection: a JSON object under `_meta.projection` of a `tools/call`, parsed before the tool runs.

{"mode": "include", "fields": ["id", "user.login"]}
{"mode": "exclude", "fields": ["**.email"], "strict": true}
{"mode": "view", "view": "minimal", "required": true, "schema": "none"}
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypedDict, Unpack, cast

from louver.core.paths.path import FieldPath, check_rows, fold
from louver.errors import InvalidProjection, ProjectionLimit
from louver.limits import MAX_PATHS

MAX_REMEMBERED_PATHS = 32
"""Field paths of a request that is cached once parsed. The cache has 512 requests; longer ones are parsed each time."""


Mode = Literal["include", "exclude", "view"]
SchemaForm = Literal["inline", "none"]
Paths = list[str] | tuple[str, ...]
"""Field paths; not any sequence of strings, since a string is one."""

_MODES = ("include", "exclude", "view")
_FORMS = ("inline", "none")
_KEYS = ("mode", "fields", "view", "strict", "required", "schema")


class _Options(TypedDict, total=False):
    strict: bool
    required: bool
    schema: SchemaForm


@dataclass(frozen=True, slots=True, init=False)
class Projection:
    """What a client requests: one of `include`, `exclude` and `view`.

    Args:
        include: Paths of the fields to keep.
        exclude: Paths of the fields to leave out.
        view: The name of a view of the tool.
        strict: Refuse the call if the tool's schema does not know a field.
        required: Answer with an error, never with the full output, where no projection is possible.
        schema: How the answer carries the projected schema: inline, or not at all.

    Attributes:
        mode: Which of the three it is.
        fields: The canonical list of paths: each once, a parent instead of its children.
        name: The view's name, in mode `view`.

    Raises:
        InvalidProjection: It is none of the three or several, or a path cannot be parsed.
        ProjectionLimit: There are too many paths, or one is too long.
    """

    mode: Mode
    fields: tuple[FieldPath, ...]
    name: str | None
    strict: bool
    required: bool
    schema: SchemaForm

    def __init__(
        self,
        *,
        include: Paths | None = None,
        exclude: Paths | None = None,
        view: str | None = None,
        strict: bool = False,
        required: bool = False,
        schema: SchemaForm = "inline",
    ) -> None:
        given = {"include": include, "exclude": exclude, "view": view}
        named = [(mode, value) for mode, value in given.items() if value is not None]
        if len(named) != 1:
            raise InvalidProjection("a projection has one of 'include', 'exclude' and 'view'")
        [(mode, value)] = named
        written = {"view" if mode == "view" else "fields": [*value] if isinstance(value, tuple) else value}
        self._read({"mode": mode, **written, "strict": strict, "required": required, "schema": schema})

    @classmethod
    def from_wire(cls, obj: object) -> Projection:
        """The request of a wire form.

        Args:
            obj: The value of `_meta.projection`.

        Raises:
            InvalidProjection: It is not a valid request; the message says what is expected.

        Source: issue #1704, section 3; `strict`, `required` and `schema` are ours.
        """
        if not isinstance(obj, dict):
            raise InvalidProjection("a projection is an object, for example {'mode': 'include', 'fields': ['id']}")
        made = object.__new__(cls)
        made._read(cast("dict[Any, Any]", obj))
        return made

    def _read(self, request: dict[Any, Any]) -> None:
        for key in request:
            if key not in _KEYS:
                raise InvalidProjection(
                    f"unknown key {str(key)[:80]!r} in a projection: expected one of {_listed(_KEYS)}"
                )
        mode = request.get("mode")
        if not isinstance(mode, str) or mode not in _MODES:
            shown = f", not {mode[:80]!r}" if isinstance(mode, str) else ""
            raise InvalidProjection(f"a projection's 'mode' is one of {_listed(_MODES)}{shown}", expected=list(_MODES))
        name, fields = None, ()
        if mode == "view":
            name = _name(request)
        else:
            if "view" in request:
                raise InvalidProjection(f"'view' goes with mode 'view', not with mode {mode!r}")
            if "fields" not in request:
                raise InvalidProjection(f"a projection of mode {mode!r} has a list of field paths in 'fields'")
            fields = _read_paths(mode, request["fields"])
        strict, required = (_flag(request, key) for key in ("strict", "required"))
        schema = request.get("schema", "inline")
        if schema not in _FORMS:
            raise InvalidProjection(f"a projection's 'schema' is one of {_listed(_FORMS)}", expected=list(_FORMS))
        self._set(mode=mode, fields=fields, name=name, strict=strict, required=required, schema=schema)

    def _set(self, **members: object) -> None:
        for name, value in members.items():
            object.__setattr__(self, name, value)

    def to_wire(self) -> dict[str, Any]:
        """The wire form, canonical: equal requests have equal wire forms."""
        wire: dict[str, Any] = {"mode": self.mode}
        if self.mode == "view":
            wire["view"] = self.name
        else:
            wire["fields"] = [str(path) for path in self.fields]
        for key in ("strict", "required"):
            if getattr(self, key):
                wire[key] = True
        if self.schema != "inline":
            wire["schema"] = self.schema
        return wire

    def with_fields(self, fields: tuple[FieldPath, ...]) -> Projection:
        """The same request for other fields."""
        return self._changed(fields=fold(fields))

    def with_options(self, **options: Unpack[_Options]) -> Projection:
        """The same request with other options: `strict`, `required`, `schema`."""
        return self._changed(**options)

    def _changed(self, **changes: object) -> Projection:
        made = copy(self)
        made._set(**changes)
        return made


def _read_paths(mode: str, fields: object) -> tuple[FieldPath, ...]:
    if not isinstance(fields, list):
        raise InvalidProjection("a projection's 'fields' is a list of field paths, for example ['id', 'user.login']")
    texts = cast("list[object]", fields)
    if not texts:
        raise InvalidProjection("a projection's 'fields' has at least one field path; '*' is everything")
    if len(texts) > MAX_PATHS:
        raise ProjectionLimit(
            f"a projection has at most {MAX_PATHS} field paths, this one has {len(texts)}", limit=MAX_PATHS
        )
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            message = f"every field path is a string, element {position} of 'fields' is not"
            raise InvalidProjection(message, position=position)
    read = _folded if len(texts) <= MAX_REMEMBERED_PATHS else _folded.__wrapped__
    return read(tuple(cast("list[str]", texts)), mode == "exclude")


@lru_cache(maxsize=512)
def _folded(texts: tuple[str, ...], deep: bool) -> tuple[FieldPath, ...]:
    check_rows(texts)
    return fold(tuple(FieldPath.parse(text, deep=deep, rows=True) for text in texts))


def _name(request: dict[Any, Any]) -> str:
    if "fields" in request:
        raise InvalidProjection("a projection has either 'fields' or, in mode 'view', a 'view'; not both")
    name = request.get("view")
    if not isinstance(name, str) or not name:
        raise InvalidProjection("a projection of mode 'view' has the view's name in 'view'")
    return name


def _flag(request: dict[Any, Any], key: str) -> bool:
    value = request.get(key, False)
    if not isinstance(value, bool):
        raise InvalidProjection(f"a projection's {key!r} is true or false")
    return value


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names)
