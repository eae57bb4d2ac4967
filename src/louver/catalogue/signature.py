r"""A tool as text for a model, in about half the tokens of its JSON Schemas.

    list_issues{state?: "open" | "closed" = "open", labels?: string[], page?: {number: int}}
      List the issues of a repository.
      - labels: Only with all of these.
      - page.number: From 1. (maximum 100)

Four levels deep: the schemas have the rest.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.lean_schema import lean
from louver.catalogue.summary import summary
from louver.core.json import compact, members
from louver.core.schema.outline import MAX_OUTLINE_MEMBERS, outline
from louver.wire.hint import read_hint
from louver.wire.names import HINT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.core.schema.outline import Member, Type

MAX_SIGNATURE_DEPTH = 4
"""Levels of names in a signature."""

MAX_DEFAULT_CHARACTERS = 60
"""Characters of the JSON of a default that a signature shows."""

_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*")
_SHORT: Final = {"integer": "int", "boolean": "bool"}
# What a line cannot show follows as JSON.
_COMBINING: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas")


def outlined(tool: Mapping[str, Any]) -> str:
    """The signature and a sentence, on a line each."""
    parameters = outline(lean(tool["inputSchema"]), MAX_SIGNATURE_DEPTH)
    return f"{_line(tool['name'] + _object(parameters))}\n  {summary(tool.get('description'), tool['name'])}"


def described(tool: Mapping[str, Any], *, output: bool = False) -> str:
    """The signature, the description and what is said of each argument; with `output` also of each output field.

    Only a signature begins at the margin, so that no description passes for another tool.

    Args:
        tool: The tool, as on the wire.
        output: Whether its answers are described too.
    """
    parameters = outline(schema := lean(tool["inputSchema"]), MAX_SIGNATURE_DEPTH)
    lines = [_line(tool["name"] + _object(parameters))]
    if isinstance(text := tool.get("description"), str):
        lines += [f"  {line}".rstrip() for line in text.strip().splitlines()]
    lines += _descriptions(parameters)
    if combined := {keyword: schema[keyword] for keyword in _COMBINING if keyword in schema}:
        lines.append(_line(f"  and {compact(combined)}"))
    hint = members(members(tool.get("_meta")).get(HINT))
    schema = hint.get("outputSchema", tool.get("outputSchema"))
    if output and schema is not None and (fields := outline(schema, MAX_SIGNATURE_DEPTH)):
        lines += [_line(f"  -> {_object(fields)}"), *_descriptions(fields)]
    if output and (views := read_hint(tool.get("_meta"))[0].named):
        lines.append(f"  views: {', '.join(views)}")
    return "\n".join(lines)


def _descriptions(found: Sequence[Member]) -> list[str]:
    notes = [(each.path, " ".join(each.description.split()), _limits(each)) for each in found]
    return [
        _line(f"  - {path}: {' '.join(filter(None, (text, limits)))}") for path, text, limits in notes if text or limits
    ]


def _limits(member: Member) -> str:
    return (
        f"({', '.join(f'{keyword} {compact(limit)}' for keyword, limit in member.limits.items())})"
        if member.limits
        else ""
    )


def _line(text: str) -> str:
    """A text on one line."""
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    return character if character.isprintable() else f"\\u{ord(character):04x}"


def _object(found: Sequence[Member]) -> str:
    more = ", ..." if len(found) == MAX_OUTLINE_MEMBERS else ""
    return f"{_members(found, 1)[:-1]}{more}}}"


def _members(found: Sequence[Member], depth: int) -> str:
    """The members at one depth, each followed in the list by those below it."""
    starts = [at for at, each in enumerate(found) if len(each.path.steps) == depth]
    parts = [_member(found[start], found[start + 1 : end]) for start, end in pairwise([*starts, len(found)])]
    return f"{{{', '.join(parts)}}}"


def _member(member: Member, below: Sequence[Member]) -> str:
    name = str(member.path.steps[-1])
    shown = name if _NAME.fullmatch(name) else compact(name)
    default = "" if member.default is None else f" = {compact(member.default)}"
    if len(default) > MAX_DEFAULT_CHARACTERS:
        default = ""
    body = _members(below, len(member.path.steps) + 1) if below else ""
    types = [_type(each, body) for each in member.types]
    # Of a schema that says members, and no type.
    text = body if types == ["any"] and body else " | ".join(types)
    return f"{shown}{'' if member.required else '?'}: {text}{default}"


def _type(of: Type, body: str) -> str:
    """One type; `body` has the members of objects in it."""
    if of.is_value:
        return of.name
    inner = " | ".join(_type(each, body) for each in of.of)
    if of.name == "array":
        elements = inner or body
        return "array" if not elements else f"({elements})[]" if len(of.of) > 1 else f"{elements}[]"
    if of.name == "object":
        return body or (f"{{*: {inner}}}" if inner else "object")
    return _SHORT.get(of.name, of.name)
