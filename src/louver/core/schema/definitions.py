"""The `$defs` of a schema that is being written.

A reference is a `Link` to a part that may not be written yet, so that recursive schemas end. `Definitions.finish` makes
one self-contained document in linear time: unreachable parts are gone, parts used once are inlined, and the others are
named `1`, `2`, ... in the order of their first use.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.schema.budget import OverBudget
from louver.limits import MAX_WRITTEN_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.core.json import Schema

MAX_APPLIED = 500_000
"""Parts of a derived schema, counted for each reference: 30 schemas that refer twice to the next have 2^30."""

MAX_INLINE_DEPTH = 40
"""Depth to which single-use definitions are inlined, in levels of JSON."""


# Keywords that mean the same whatever is next to them, and that no other keyword depends on.
_ALONE = frozenset("type required enum const minItems maxItems minProperties maxProperties not".split())

# The same, but `unevaluated*` next to them depends on what they evaluate.
COMBINING = _ALONE | {"$ref", "allOf", "anyOf", "oneOf"}


class Link:
    """A reference to a part: the value of `$ref`."""

    __slots__ = ("part",)

    def __init__(self, part: int) -> None:
        self.part = part


class Definitions:
    def __init__(self) -> None:
        self._parts: dict[Hashable, int] = {}
        self._bodies: list[Schema] = []
        self._todo: list[tuple[int, Callable[[], Schema]]] = []

    def link(self, key: Hashable, write: Callable[[], Schema]) -> dict[str, Any]:
        """A reference to the part of `key`; the first reference makes `write` write it."""
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = len(self._bodies)
            self._bodies.append(True)
            self._todo.append((part, write))
        return {"$ref": Link(part)}

    def finish(self, root: Schema, most: int | None, *, sort: bool = True) -> Schema:
        """The whole document, at most of size `most`, keys sorted by code points. `OverBudget`: too large or deep."""
        while self._todo:
            part, write = self._todo.pop()
            self._bodies[part] = write()
        return _Writer(self._bodies, most, sort).document(root)


class _Writer:
    """Assembles the parts: one walk counts the uses, one writes."""

    def __init__(self, bodies: list[Schema], most: int | None, sort: bool) -> None:
        self.bodies = bodies
        self.sorted: Callable[[dict[str, Any]], list[str]] = sorted if sort else list
        self.most = most
        self.size = 0
        self.uses = [0] * len(bodies)
        self.names: dict[int, str] = {}
        self.unwritten: list[int] = []

    def document(self, root: Schema) -> Schema:
        size = self._count(root)
        # An upper bound, which nearly always suffices: few parts are used more than once.
        if self.most is not None and size * prod(uses for uses in self.uses if uses > 1) > MAX_APPLIED:
            self._check_ways(root)
        written = self._written(root, 0)
        parts: dict[str, Any] = {}
        while self.unwritten:
            part = self.unwritten.pop(0)
            parts[self.names[part]] = self._written(self.bodies[part], 0)
        if not parts or isinstance(written, bool):
            return written
        document = {**written, "$defs": parts}
        return {key: document[key] for key in self.sorted(document)}

    def _count(self, root: Schema) -> int:
        """Count how often each part is used; returns the size of what is written."""
        todo: list[Any] = [root]
        counted = 0
        while todo:
            value = todo.pop()
            counted += 1
            if self.most is not None and counted > self.most:
                raise OverBudget
            if isinstance(value, Link):
                self.uses[value.part] += 1
                if self.uses[value.part] == 1:
                    todo.append(self.bodies[value.part])
            elif is_object(value):
                todo.extend(value.values())
            elif is_array(value):
                todo.extend(value)
        return counted

    def _check_ways(self, root: Schema) -> None:
        """Raise `OverBudget` over `MAX_APPLIED` ways through the document: a validator may take all of them."""
        # A part counts each time it is used, as a validator applies it each time. A circle counts once: how often it is
        # taken depends on the value.
        ways: dict[int | None, int] = {}
        entered: dict[int | None, tuple[int, list[int]]] = {}
        todo: list[int | None] = [None]
        while todo:
            part = todo[-1]
            if part not in entered:
                entered[part] = _links(root if part is None else self.bodies[part])
                todo += {below for below in entered[part][1] if below not in entered}
                continue
            todo.pop()
            if part not in ways:
                size, links = entered[part]
                ways[part] = size + sum(ways.get(below, 0) for below in links)
                if ways[part] > MAX_APPLIED:
                    raise OverBudget

    def _written(self, value: Any, depth: int) -> Any:
        self.size += 1 + (len(value) // 100 if isinstance(value, str) else 0)
        if depth > MAX_WRITTEN_DEPTH or (self.most is not None and self.size > self.most):
            raise OverBudget
        if is_object(value):
            self.size += sum(len(key) // 100 for key in value)
            link = value.get("$ref")
            if isinstance(link, Link):
                return self._reference(value, link.part, depth)
            return {key: self._written(value[key], depth + 1) for key in self.sorted(value)}
        if is_array(value):
            return [self._written(element, depth + 1) for element in value]
        return value

    def _reference(self, value: dict[str, Any], part: int, depth: int) -> Any:
        body = self.bodies[part]
        if is_object(body) and (self.uses[part] > 1 or depth > MAX_INLINE_DEPTH):
            if part not in self.names:
                self.names[part] = str(len(self.names) + 1)
                self.unwritten.append(part)
            body = {"$ref": f"#/$defs/{self.names[part]}"}
        rest = {key: argument for key, argument in value.items() if key != "$ref"}
        if not rest:
            return self._written(body, depth)
        alone = is_object(body) and (_ALONE.issuperset(rest) or COMBINING.issuperset(body))
        if is_object(body) and alone and rest.keys().isdisjoint(body):
            return self._written({**body, **rest}, depth)
        return self._written({**rest, "allOf": [*rest.get("allOf", []), body]}, depth)


def _links(body: Schema) -> tuple[int, list[int]]:
    todo: list[Any] = [body]
    size, links = 0, list[int]()
    while todo:
        value = todo.pop()
        size += 1
        if isinstance(value, Link):
            links.append(value.part)
        elif is_object(value):
            todo.extend(value.values())
        elif is_array(value):
            todo.extend(value)
    return size, links
