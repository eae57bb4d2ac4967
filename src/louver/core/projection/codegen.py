"""Generated Python source for one mask and one shape: the fastest compiled form.

Where all values seen are alike, the code is a single expression; where they differ, statements check first::

    {"issues": [{"id": e1["id"], "title": e1["title"]} for e1 in v["issues"]]}

An unexpected value raises, and goes to the closures. Names of members enter the source only through `repr` of a string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.schema import type_bounds
from louver.limits import MAX_GENERATED_DEPTH, MAX_GENERATED_LINES, MAX_GENERATED_LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.core.json import Json
    from louver.core.projection.shape import Shape


class NotSpecial(Exception):
    """A mask and a shape have no special form: the general form does as well."""


def generated(
    order: Mapping[Mask, tuple[str, ...]], shape: Shape, unexpected: Callable[[Json], Json], *, is_first: bool = True
) -> Callable[[Json], Json]:
    """Compile the function for one shape; other values go to `unexpected`. `NotSpecial`: deep, wide or wildcards.

    `is_first`: tests of rows expect what they read in each row.
    """
    writer = _Source(order, is_first)
    source = writer.function(shape)
    names: dict[str, Any] = {
        **writer.of_tests,
        "root": None,
        "unexpected": _unexpected,
        "missing": object(),
        "errors": (LookupError, TypeError, AttributeError),
        "otherwise": unexpected,
    }
    exec(compile(source, "<louver plan>", "exec"), names)
    return names["keep"]


def _unexpected() -> Any:
    raise TypeError("a value is not as expected")


class _Source:
    def __init__(self, order: Mapping[Mask, tuple[str, ...]], is_first: bool) -> None:
        self._order = order
        self._is_first = is_first
        self.of_tests: dict[str, Any] = {}
        self._lines: list[str] = []
        self._names = 0
        self._parts = 0
        self._loops = 0

    def function(self, shape: Shape) -> str:
        if self._is_plain(shape):
            self._line(2, f"return {self._expression(shape, 'value', 0)}")
        else:
            self._statements(shape, "value", "kept", 2)
            self._line(2, "return None if kept is missing else kept")
        # `otherwise` runs outside of the handler: there is no exception pending.
        ending = ["    except errors:", "        pass", "    return otherwise(value)"]
        return "\n".join(["def keep(value):", "    try:", *self._lines, *ending])

    def _line(self, indent: int, text: str) -> None:
        if len(self._lines) == MAX_GENERATED_LINES or indent > 2 * MAX_GENERATED_DEPTH:
            raise NotSpecial
        self._lines.append("    " * indent + text)

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _children(self, mask: Mask) -> list[tuple[str, Mask]]:
        names = self._order.get(mask, tuple(mask.children))
        return [(name, mask.children[name]) for name in names]

    def _is_plain(self, shape: Shape) -> bool:
        """Whether all values seen are alike, so that a single expression can keep them."""
        if shape.mask.exclude or shape.kinds not in (type_bounds.OBJECT, type_bounds.ARRAY):
            return False
        if shape.kinds == type_bounds.ARRAY:
            return shape.mask.elem is ALL or (shape.elements is not None and self._is_plain(shape.elements))
        return shape.mask.other is NONE and all(
            shape.is_certain(name) and (below is ALL or self._is_plain(shape.members[name]))
            for name, below in shape.mask.children.items()
        )

    def _expression(self, shape: Shape, source: str, depth: int, clauses: list[str] | None = None) -> str:
        """The expression for `source`, which is used once; `clauses` bind names in the comprehension around it."""
        if depth > MAX_GENERATED_DEPTH:
            raise NotSpecial
        if shape.kinds == type_bounds.ARRAY:
            # Only an array needs a class check: a value that is not an object fails by itself.
            first, bound = self._bound(source, clauses)
            if shape.elements is None and not shape.mask.rows:
                return f"({bound} if {first}.__class__ is list else unexpected())"
            element, inner = self._name(), list[str]()
            test = self._test(shape.mask, element)
            kept = element if shape.elements is None else self._expression(shape.elements, element, depth + 1, inner)
            loop = f"for {element} in {bound}{test}{''.join(inner)}"
            return f"([{kept} {loop}] if {first}.__class__ is list else unexpected())"
        children = self._children(shape.mask)
        self._parts += len(children)
        if self._parts > MAX_GENERATED_LINES:
            raise NotSpecial
        # Used once, it needs no name.
        first, bound = self._bound(source, clauses) if len(children) > 1 else (source, source)
        parts: list[str] = []
        for member, below in children:
            value = f"{bound if parts else first}[{member!r}]"
            kept = value if below is ALL else self._expression(shape.members[member], value, depth + 1, clauses)
            parts.append(f"{member!r}: {kept}")
        return "{" + ", ".join(parts) + "}"

    def _test(self, mask: Mask, element: str) -> str:
        """The clause of a loop that only rows of a test pass; empty where all elements do."""
        if not mask.drops:
            return ""
        if len(mask.rows) == 1 and mask.elems[0] is NONE and len(mask.rows[0].rows) == 1:
            for test in mask.rows[0].tests:
                return f" if {test.source(element, self.of_tests, is_expected=self._is_first)}"
        raise NotSpecial

    def _bound(self, source: str, clauses: list[str] | None) -> tuple[str, str]:
        """An expression bound to a name: how to write it the first time, and after that."""
        if source.isidentifier():
            return source, source
        name = self._name()
        if clauses is None:
            return f"({name} := {source})", name
        # A walrus would bind outside of the comprehension, which is slower; this is an assignment within it.
        clauses.append(f" for {name} in ({source},)")
        return name, name

    def _statements(self, shape: Shape, value: str, target: str, indent: int) -> None:
        """The lines that set `target` to the kept part of the variable `value`, or to `missing`."""
        if self._is_plain(shape):
            self._line(indent, f"{target} = {self._expression(shape, value, indent)}")
            return
        self._line(indent, f"if {value}.__class__ is dict:")
        if shape.mask.exclude:
            self._rest(shape, value, target, indent + 1)
        elif shape.mask.other is NONE:
            self._members(shape, value, target, indent + 1)
        else:
            raise NotSpecial
        self._line(indent, f"elif {value}.__class__ is list:")
        self._elements(shape, value, target, indent + 1)
        if shape.mask.exclude:
            self._line(indent, f"elif isinstance({value}, (dict, list)):")
            self._line(indent + 1, "unexpected()")
            self._line(indent, "else:")
            self._line(indent + 1, f"{target} = {value}")
        else:
            self._line(indent, f"elif {value} is None:")
            self._line(indent + 1, f"{target} = None")
            self._line(indent, f"elif isinstance({value}, (dict, list)):")
            self._line(indent + 1, "unexpected()")
            self._line(indent, "else:")
            self._line(indent + 1, f"{target} = missing")

    def _members(self, shape: Shape, value: str, target: str, indent: int) -> None:
        self._line(indent, f"{target} = {{}}")
        for member, below in self._children(shape.mask):
            inside = indent
            if not shape.is_certain(member):
                self._line(indent, f"if {member!r} in {value}:")
                inside = indent + 1
            self._member(shape, member, below, value, target, inside)

    def _member(self, shape: Shape, member: str, below: Mask, value: str, target: str, indent: int) -> None:
        if below is ALL:
            self._line(indent, f"{target}[{member!r}] = {value}[{member!r}]")
            return
        inner = shape.members.get(member)
        if inner is None:
            # No sample had it, so there is no code for it.
            self._line(indent, "unexpected()")
            return
        part, kept = self._name(), self._name()
        self._line(indent, f"{part} = {value}[{member!r}]")
        self._statements(inner, part, kept, indent)
        if below.exclude or self._is_plain(inner):
            self._line(indent, f"{target}[{member!r}] = {kept}")
        else:
            self._line(indent, f"if {kept} is not missing:")
            self._line(indent + 1, f"{target}[{member!r}] = {kept}")

    def _rest(self, shape: Shape, value: str, target: str, indent: int) -> None:
        if shape.mask.other is NONE:
            self._line(indent, f"{target} = {{}}")
            return
        if shape.mask.other is not ALL:
            raise NotSpecial
        self._line(indent, f"{target} = {value}.copy()")
        for member, below in shape.mask.children.items():
            if below is NONE:
                certain = shape.objects and shape.is_certain(member)
                self._line(indent, f"del {target}[{member!r}]" if certain else f"{target}.pop({member!r}, None)")
            else:
                self._line(indent, f"if {member!r} in {value}:")
                self._member(shape, member, below, value, target, indent + 1)

    def _elements(self, shape: Shape, value: str, target: str, indent: int) -> None:
        element, kept = self._name(), self._name()
        if test := self._test(shape.mask, element):
            value = f"[{element} for {element} in {value}{test}]"
        if shape.mask.elem is NONE:
            self._line(indent, f"{target} = []")
        elif shape.elements is None:
            self._line(
                indent,
                f"{target} = {value}" if shape.mask.elem is ALL else f"{target} = [] if not {value} else unexpected()",
            )
        else:
            self._line(indent, f"{target} = []")
            self._line(indent, f"for {element} in {value}:")
            self._loops += 1
            if self._loops > MAX_GENERATED_LOOPS:
                raise NotSpecial
            self._statements(shape.elements, element, kept, indent + 1)
            self._loops -= 1
            missing = not (shape.mask.exclude or self._is_plain(shape.elements))
            if missing and test:
                self._line(indent + 1, f"if {kept} is not missing:")
                self._line(indent + 2, f"{target}.append({kept})")
            else:
                self._line(
                    indent + 1, f"{target}.append({f'None if {kept} is missing else {kept}' if missing else kept})"
                )
