"""Projection of JSON text: what the interpreter keeps of the parsed text, with numbers as they were spelled.

The first line is a form and paths, as `+a b.c`; each other line is a text, of the same plan. Each is projected twice,
since a plan learns from the first ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.project import project
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.errors import InvalidProjection
from louver.limits import MAX_JSON_DEPTH

from . import second_reader
from .second_reader import Refused

# In another order than that of names.
_SCHEMA = {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {}, "a": {}}}, "a": {}}}
_WRAPPED = {
    "type": "object",
    "properties": {"result": {"type": "array", "items": _SCHEMA}},
    "required": ["result"],
    "x-fastmcp-wrap-result": True,
}
_SCHEMAS = {"+": None, "-": None, ">": _SCHEMA, "<": _SCHEMA, "w": _WRAPPED, "x": _WRAPPED}


@dataclass(frozen=True)
class Number:
    """A number as it is spelled."""

    spelled: str


def check(data: bytes) -> None:
    line, _, rest = data.partition(b"\n")
    form, *paths = line[:1].decode("latin-1"), *line[1:].decode(errors="replace").split()
    if form not in _SCHEMAS:
        return
    make = Projection.include if form in "+>w" else Projection.exclude
    try:
        request = make(*paths)
        plan = compile_projection(request, _SCHEMAS[form])
        mask = (include_mask if form in "+>w" else exclude_mask)(request.fields)
    except InvalidProjection:
        return
    texts = rest.split(b"\n")[:8]
    for text in texts * 2:
        expected = _read(text)
        try:
            kept = plan.project_json(text)
        except ValueError:
            is_deep = expected is not Refused and second_reader.depth(expected) > MAX_JSON_DEPTH
            assert expected is Refused or is_deep or not _is_utf8(text)
            continue
        assert expected is not Refused
        found = second_reader.read(kept, repeats=True, numbers=Number)
        # Undescribed, a member `result` may be a wrapper: the plan then looks within it too.
        if form in "+-" and not (isinstance(expected, dict) and "result" in expected):
            assert second_reader.same(found, project(expected, mask))
        assert second_reader.same(found, plan(expected))


def _is_utf8(text: bytes) -> bool:
    return text.decode(errors="replace").encode() == text


def _read(text: bytes):
    try:
        # What is skipped need not be UTF-8, and is no name in a path.
        return second_reader.read(text.decode(errors="surrogateescape"), repeats=True, numbers=Number)
    except Refused:
        return Refused
