"""The text of stubs in each language.

In Python, an interface with a member that the body of a class cannot name is a `TypedDict` in the functional form.
"""

from __future__ import annotations

import json
import re
from keyword import iskeyword
from typing import TYPE_CHECKING, Final, NamedTuple

from louver.cli.stubs.functions import one_line
from louver.core.json import parse
from louver.core.schema.outline import ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from louver.cli.stubs.functions import Function, InterfaceMember
    from louver.core.schema.outline import Type

_TYPING: Final = ("Any", "Literal", "NotRequired", "TypedDict", "Unpack")
_FIELD: Final = re.compile("(?!(?:bool|dict|float|int|list|str)$)[a-z][A-Za-z0-9_]*")
_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


class _Types(NamedTuple):
    kinds: dict[str, str]
    value: Callable[[object], str]
    separator: str  # of values that are a type together

    def union(self, types: Sequence[Type]) -> str:
        values = self.separator.join(self.value(parse(each.name)) for each in types if each.is_value)
        others = [self.text(each) for each in types if not each.is_value]
        return " | ".join(dict.fromkeys([*([self.kinds["values"].replace("?", values)] if values else []), *others]))

    def text(self, of: Type) -> str:
        text = self.kinds.get(of.name, of.name)
        return text.replace("?", self.union(of.of or (ANY,))) if "?" in text else text


_PYTHON: Final = _Types(
    {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "null": "None", "any": "Any"}
    | {"array": "list[?]", "object": "dict[str, ?]", "values": "Literal[?]"},
    repr,
    ", ",
)
_TYPESCRIPT: Final = _Types(
    {"integer": "number", "any": "unknown", "array": "Array<?>", "object": "Record<string, ?>", "values": "?"},
    json.dumps,
    " | ",
)


def python(functions: Iterable[Function]) -> Iterator[str]:
    """The parts of a `.pyi` file."""
    # Exported, so that one that is not used is no finding.
    yield f"from typing import {', '.join(f'{name} as {name}' for name in _TYPING)}\n"
    for each in functions:
        for name, members in each.interfaces.items():
            yield _typed_dict(name, members)
        comments = "".join(f"# {line}\n" for line in each.comments)
        type_ = f"Unpack[{each.parameters}]" if str(each.parameters) in each.interfaces else "Any"
        parameters = "" if each.parameters is None else f"**arguments: {type_}"
        summary = each.summary.replace("\\", "\\\\").replace('"', '\\"')
        result = _PYTHON.union(each.result)
        yield f'{comments}async def {each.name}({parameters}) -> {result}:\n    """{summary}"""\n'


def _typed_dict(name: str, members: Sequence[InterfaceMember]) -> str:
    is_class = all(_FIELD.fullmatch(each.name) and not iskeyword(each.name) for each in members)
    fields = ""
    for each in members:
        type_ = _PYTHON.union(each.types) if each.is_required else f"NotRequired[{_PYTHON.union(each.types)}]"
        # With the colon no type checker reads it.
        remark = f"  #: {one_line(each.description)}" if each.description else ""
        fields += f"    {each.name}: {type_}{remark}\n" if is_class else f"    {each.name!r}: {type_},{remark}\n"
    return f"class {name}(TypedDict):\n{fields}" if is_class else f'{name} = TypedDict("{name}", {{\n{fields}}})\n'


def typescript(functions: Iterable[Function]) -> Iterator[str]:
    """The parts of a `.d.ts` file."""
    yield "export {};\n"  # a module, also without a function
    for each in functions:
        for name, members in each.interfaces.items():
            yield f"export interface {name} {{\n{''.join(map(_property, members))}}}\n"
        comments = "".join(f"// {line}\n" for line in each.comments)
        result = _TYPESCRIPT.union(each.result)
        yield f"{comments}{_doc(each.summary)}export function {each.name}({_args(each)}): Promise<{result}>;\n"


def _args(of: Function) -> str:
    if of.parameters is None:
        return ""
    is_required = any(each.is_required for each in of.interfaces.get(of.parameters.name, ()))
    return f"args{'' if is_required else '?'}: {_TYPESCRIPT.text(of.parameters)}"


def _property(of: InterfaceMember) -> str:
    name = of.name if _NAME.fullmatch(of.name) else json.dumps(of.name)
    remark = f"  {_doc(of.description)}" if of.description else ""
    return f"{remark}  {name}{'' if of.is_required else '?'}: {_TYPESCRIPT.union(of.types)};\n"


def _doc(text: str) -> str:
    return f"/** {one_line(text).replace('*/', '* /')} */\n"


# Suffix of a file -> how a comment begins, and what makes its parts.
LANGUAGES: Final = {".pyi": ("#", python), ".d.ts": ("//", typescript)}
