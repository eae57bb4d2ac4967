"""The `$defs` of a schema that is being written: parts, put where they are used.

While a schema is written, a reference is a `Link` to a part that may not be
written yet, which is what lets a recursive schema end. `Definitions.finish`
turns the parts into one self-contained document: parts that nothing reaches are
gone, parts used once stand in place, the rest are named `1`, `2`, ... in the
order in which they are met, and all keys are in the order of code points. Each
part is walked once, so this is linear.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.schema.budget import OverBudget
from louver.limits import MAX_APPLIED, MAX_INLINE_DEPTH, MAX_WRITTEN_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.core.json import Schema


_ALONE = frozenset("type required enum const minItems maxItems minProperties maxProperties not".split())
"""Keywords that mean the same whatever stands beside them, and of which no other takes notice."""

COMBINING = _ALONE | {"$ref", "allOf", "anyOf", "oneOf"}
"""Likewise, but `unevaluated*` beside them sees what they evaluate."""


class Link:
    """A reference to a part, standing as the value of `$ref`."""

    __slots__ = ("part",)

    def __init__(self, part: int) -> None:
        self.part = part


class Definitions:
    """The parts of one schema, each written once for its key."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, int] = {}
        self._bodies: list[Schema] = []
        self._todo: list[tuple[int, Callable[[], Schema]]] = []

    def link(self, key: Hashable, write: Callable[[], Schema]) -> dict[str, Any]:
        """A reference to the part for `key`, which `write` will write if it is the first."""
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = len(self._bodies)
            self._bodies.append(True)
            self._todo.append((part, write))
        return {"$ref": Link(part)}

    def finish(self, root: Schema, most: int | None, *, sort: bool = True) -> Schema:
        """The whole document of which `root` is the root.

        Args:
            root: Refers to the parts.
            most: Its largest size.
            sort: Whether keys stand in the order of code points; else as they were written.

        Raises:
            OverBudget: What is written in one place is nested too deep, the whole is larger than `most`, or there are
                too many ways through it.
        """
        while self._todo:
            part, write = self._todo.pop()
            self._bodies[part] = write()
        return _Writer(self._bodies, most, sort).document(root)


class _Writer:
    """Puts the parts together: one walk counts the uses, one writes."""

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
        # Few parts are referred to more than once, so that this alone says nearly always that all is well.
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
        """How often each part is referred to; the size of what is written."""
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
        """See that who applies the document, and takes every way through it, comes to an end.

        A part counts each time that it is referred to, for it is applied each time. What leads back counts once: how
        often that is taken is up to the value.

        Raises:
            OverBudget: There are more than `MAX_APPLIED` ways.
        """
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
    """The size of what is written in one place, and the parts that it refers to, each as often as it does."""
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
