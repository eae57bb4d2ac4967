"""Room for a text in a schema, where another text can come to stand than the one that was there.

A text that may be JSON is pruned, or a note stands in its place. What its own schema says of it (a constant, a
pattern) is then no longer so, and an include of fields leaves no string at all. So the schema of what is visible
admits any text where the output may be one::

    source   {"type": "object", "properties": {"result": {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}}, ...}
    visible  {"type": "object", "properties": {"result": {"type": ["null", "string"]}}, ...}

What stands deeper than the root's own `properties` is left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core import kinds as kind
from louver.core.budget import Budget, OverBudget
from louver.core.combine import either, typed
from louver.core.json import is_object, members, strings
from louver.core.kinds import Kinds
from louver.core.references import UnknownDialect, document

if TYPE_CHECKING:
    from louver.core.json import Schema

_TEXT: Schema = {"type": "string"}


def with_texts(visible: Schema, source: Schema, names: list[str]) -> Schema:
    """`visible` with room for any text at the root, or as the one member that has one of some names.

    Args:
        visible: What is left of the schema.
        source: The schema, which says whether there may be a text.
        names: The names.
    """
    try:
        root = document(source)
        kinds = Kinds(Budget()).of
        if not kinds(root) & ~(kind.STRING | kind.NULL):
            return _with_text(visible, kinds(root))
        required = {*strings(root.words.get("required"))}
        lone = [name for name in names if required <= {name}]
        may = {name: kinds(place) for name in lone if (place := root.member("properties", name)) is not None}
    except (OverBudget, UnknownDialect):
        return visible
    held: Any = members(visible).get("properties")
    if not is_object(visible) or not is_object(held):
        return visible
    room = {name: _with_text(held[name], may[name]) for name in may if name in held}
    return {**visible, "properties": {**held, **room}}


def _with_text(schema: Schema, kinds: int) -> Schema:
    if not kinds & kind.STRING:
        return schema
    if not kinds & ~(kind.STRING | kind.NULL):
        return typed(kinds)
    parts: list[Schema] = schema["anyOf"] if is_object(schema) and schema.keys() == {"anyOf"} else [schema]
    return schema if _TEXT in parts else either([*parts, _TEXT])
