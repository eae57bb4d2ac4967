"""Tools as functions of a language, with the types of what they take and return.

An object with named members is an interface, which can refer to itself. What is not known, or too much to read, is
`any`. A tool whose name is no identifier of Python and TypeScript gets another one: `get-user` is `get_user`.
"""

from __future__ import annotations

import re
from itertools import chain, count
from keyword import kwlist
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.catalogue.summary import summary
from louver.cli.terminal import printable
from louver.core.json import members, parse
from louver.core.schema.outline import ANY, OutlinedMember, OutlineReader, Type, parts_of
from louver.core.schema.references import UnknownDialect, document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from louver.core.json import Schema
    from louver.core.paths.path import Step
    from louver.core.schema.references import Place

MAX_IDENTIFIER = 80
MAX_LITERAL = 200
MAX_REMARK = 300
"""Characters of a name, of the JSON of a value that is a type, and of a comment."""

_USABLE: Final = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{MAX_IDENTIFIER - 1}}}")
_WORD: Final = re.compile("[A-Za-z0-9]+")
_IN_TYPESCRIPT: Final = (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends"
    " false finally for function if implements import in instanceof interface let new null package private protected"
    " public return static super switch this throw true try typeof undefined var void while with yield"
)
_IN_STUBS: Final = "Any Literal NotRequired TypedDict Unpack bool dict float int list str"
_RESERVED: Final = frozenset((*_IN_TYPESCRIPT.split(), *_IN_STUBS.split(), *kwlist))

_MORE: Final = Type("...", is_value=True)
_KINDS: Final = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class StubbedTool(NamedTuple):
    definition: dict[str, Any]  # as a caller is listed it
    output: Schema | None
    origin: str = ""  # of this schema, if the server does not declare it


class InterfaceMember(NamedTuple):
    name: str
    types: tuple[Type, ...]  # alternatives, interfaces among them by their names
    is_required: bool
    description: str


class Function(NamedTuple):
    name: str
    comments: list[str]
    summary: str
    parameters: Type | None  # of all arguments together
    result: tuple[Type, ...]
    interfaces: dict[str, list[InterfaceMember]]


def functions(tools: Sequence[StubbedTool]) -> list[Function]:
    """A function for each tool, those that keep their names first."""
    wanted, taken = [(identifier(each.definition["name"], "tool"), each) for each in tools], set[str]()
    wanted.sort(key=lambda each: each[0] != each[1].definition["name"])
    named = [(unique(name, taken), tool) for name, tool in wanted]
    return [_function(name, tool, taken) for name, tool in named]


def identifier(text: str, kind: str) -> str:
    """The text, if it is a usable name in both languages; else one that is like it."""
    if _USABLE.fullmatch(text) and text not in _RESERVED:
        return text
    words = "_".join(_WORD.findall(text))[:MAX_IDENTIFIER].rstrip("_")
    name = words if words[:1].isalpha() else f"{kind}_{words}".rstrip("_")
    return f"{name}_" if name in _RESERVED else name


def unique(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken; it is taken from then on."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    taken.add(found := next(each for each in names if each not in taken))
    return found


def learnt_schema(paths: Iterable[Sequence[Step]]) -> Schema:
    """A schema of learnt fields, whose paths are the same for an object and for an array of such objects."""
    below: dict[Step, list[Sequence[Step]]] = {}
    for name, *rest in filter(None, paths):
        below.setdefault(name, []).append(rest)
    one = {"type": "object", "properties": {name: learnt_schema(inner) for name, inner in below.items()}}
    return {"anyOf": [one, {"type": "array", "items": one}]} if below else True


def one_line(text: str) -> str:
    """Foreign text for a comment: printable, on one line, and short."""
    return printable(" ".join(text.split())[:MAX_REMARK])


def _function(name: str, tool: StubbedTool, taken: set[str]) -> Function:
    own: str = tool.definition["name"]
    schema: Schema = tool.definition["inputSchema"]
    of_parameters, of_result = _InterfaceReader(taken), _InterfaceReader(taken)
    [parameters, *others] = of_parameters.read(schema, f"{_pascal(name)}Arguments")
    takes_none = parameters == Type("object") and members(schema).get("additionalProperties", False) is False
    return Function(
        name,
        [one_line(each) for each in ("" if own == name else f"The tool {own!r}.", tool.origin) if each],
        one_line(summary(tool.definition.get("description"), own)),
        ANY if others else None if takes_none else parameters,
        of_result.read(True if tool.output is None else tool.output, f"{_pascal(name)}Result"),
        {**of_parameters.interfaces, **of_result.interfaces},
    )


class _InterfaceReader(OutlineReader):
    looks_through_arrays = False

    def __init__(self, taken: set[str]) -> None:
        super().__init__()
        self.interfaces: dict[str, list[InterfaceMember]] = {}
        self._taken = taken
        self._name = ""  # of the next interface
        self._known: dict[tuple[int, int], str] = {}  # by the key of its place
        self._unread: list[tuple[str, dict[str, OutlinedMember]]] = []

    def read(self, schema: Schema, name: str) -> tuple[Type, ...]:
        try:
            root = document(schema)
        except UnknownDialect:
            return (ANY,)
        types = self._member(name, "", OutlinedMember(root, required=True)).types
        # It grows meanwhile.
        for interface, found in self._unread:
            self.interfaces[interface] = [self._member(interface, *member) for member in found.items()]
        return types

    def _member(self, above: str, name: str, known: OutlinedMember) -> InterfaceMember:
        self._name = f"{above}{_pascal(name)}"[:MAX_IDENTIFIER]
        try:
            types, description = self.described(known)
        except UnknownDialect:
            types, description = (ANY,), ""
        return InterfaceMember(name, types, known.required, description)

    def types(self, place: Place, seen: frozenset[tuple[int, int]] = frozenset()) -> list[Type]:
        is_open = "type" not in place.words and ("properties" in place.words or len(parts_of(place)) > 1)
        is_object = is_open and self.named(place)
        found = [self.of_kind("object", place, seen)] if is_object else super().types(place, seen)
        return [*dict.fromkeys(_literal(each, has_more=_MORE in found) for each in found if each != _MORE)]

    def of_kind(self, kind: str, place: Place, seen: frozenset[tuple[int, int]]) -> Type:
        if kind == "object" and place.key not in self._known and (found := self.named(place)):
            self.budget.step(sum(1 + len(name) // MAX_LITERAL for name in found))
            self._known[place.key] = unique(self._name, self._taken)
            self._unread.append((self._known[place.key], found))
        interface = self._known.get(place.key) if kind == "object" else None
        return super().of_kind(kind, place, seen) if interface is None else Type(interface)


def _literal(of: Type, *, has_more: bool) -> Type:
    """A type of both languages: a value that is no short text, integer or boolean becomes its kind."""
    if not of.is_value:
        return of
    value: object = parse(of.name)
    kind = next((kind for type_, kind in _KINDS.items() if isinstance(value, type_)), "null")
    is_literal = kind in ("string", "integer", "boolean") and len(of.name) <= MAX_LITERAL
    return of if is_literal and not has_more else Type(kind)


def _pascal(name: str) -> str:
    return "".join(word[0].upper() + word[1:] for word in _WORD.findall(name))
