"""Tools as functions with types, in Python and in TypeScript."""

from __future__ import annotations

import ast
import builtins
import re
from types import NoneType

import pytest
import typing_extensions
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from fuzz.schemas import random_schema
from louver.cli.stubs.functions import MAX_LITERAL, StubbedTool, functions, learnt_schema
from louver.cli.stubs.languages import python, typescript
from louver.core.schema.outline import MAX_OUTLINE_VALUES
from strategies import randoms


def of(**properties):
    return {"type": "object", "properties": properties}


def tool(name="t", output=None, *, takes=None, says="Does it.", origin=""):
    return StubbedTool({"name": name, "inputSchema": takes or of(), "description": says}, output, origin)


def texts(*tools):
    found = functions(tools)
    return "\n".join(python(found)), "\n".join(typescript(found))


def result(schema):
    """What a tool with the output schema returns, in each language."""
    in_python, in_typescript = texts(tool(output=schema))
    return re.search("-> (.*):\n", in_python)[1], re.search("Promise<(.*)>;\n", in_typescript)[1]


TEXT, NULL = {"type": "string"}, {"type": "null"}
KINDS = {
    "nothing known": (True, "Any", "unknown"),
    "a text": (TEXT, "str", "string"),
    "numbers": ({"type": ["integer", "number"]}, "int | float", "number"),
    "a switch or null": ({"type": ["boolean", "null"]}, "bool | None", "boolean | null"),
    "a list": ({"type": "array", "items": TEXT}, "list[str]", "Array<string>"),
    "any list": ({"type": "array"}, "list[Any]", "Array<unknown>"),
    "a tuple": ({"type": "array", "prefixItems": [TEXT, NULL]}, "list[Any]", "Array<unknown>"),
    "a map": (
        {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
        "dict[str, int | None]",
        "Record<string, number | null>",
    ),
    "a map with patterns": (
        {"type": "object", "patternProperties": {"^x": NULL}, "additionalProperties": TEXT},
        "dict[str, Any]",
        "Record<string, unknown>",
    ),
    "a list or a map": (
        {"type": ["array", "object"], "items": of(a=TEXT)},
        "list[TResult] | dict[str, Any]",
        "Array<TResult> | Record<string, unknown>",
    ),
    "values": ({"enum": ["a'b", 2, True, None]}, """Literal["a'b", 2, True] | None""", """"a'b" | 2 | true | null"""),
    "a fraction and a list": ({"enum": [1.5, ["a"], {"a": 1}]}, "float | list[Any] | dict[str, Any]", None),
    "too many values": ({"enum": ["a", *range(MAX_OUTLINE_VALUES)]}, "str | int", "string | number"),
    "a long value": ({"const": "a" * MAX_LITERAL}, "str", "string"),
    "alternatives": ({"anyOf": [{"$ref": "#/$defs/a"}, NULL], "$defs": {"a": TEXT}}, "str | None", "string | null"),
    "an interface or null": ({"oneOf": [of(a=TEXT), NULL]}, "TResult | None", "TResult | null"),
    "what is elsewhere": ({"$ref": "https://example.com/a"}, "Any", "unknown"),
    "another dialect": ({"$schema": "https://example.com/a", **of(a=TEXT)}, "Any", "unknown"),
    "another dialect within": ({"items": {"$id": "b", "$schema": "https://example.com/a"}}, "Any", "unknown"),
    "a circle": ({"$ref": "#"}, "Any", "unknown"),
    "many ways": (
        {
            "$ref": "#/$defs/0",
            "$defs": {str(n): {"anyOf": 2 * [{"$ref": f"#/$defs/{n + 1}"}]} for n in range(22)} | {"22": TEXT},
        },
        "Any",
        "unknown",
    ),
    "more members than are read": (of(**{f"a{n}": {} for n in range(20_001)}), "Any", "unknown"),
}


def test_a_schema_is_a_type_of_each_language():
    """Step 23, item 5: what is not known, or too much to read, is any."""
    for kind, (schema, in_python, in_typescript) in KINDS.items():
        found = result(schema)
        assert found == (in_python, in_typescript or found[1]), kind


def test_members_are_required_or_not_and_keep_their_names():
    """Step 23, item 5: in Python in the functional form, where the body of a class cannot name one."""
    schema = {**of(id={"type": "integer", "description": "Its\nnumber."}, note=TEXT), "required": ["id"]}
    in_python, in_typescript = texts(tool(output=schema))
    assert "class TResult(TypedDict):\n    id: int  #: Its number.\n    note: NotRequired[str]\n" in in_python
    assert "interface TResult {\n  /** Its number. */\n  id: number;\n  note?: string;\n}\n" in in_typescript
    for name in ("from", "x-y", "str", "__x", "é", ""):
        in_python, _ = texts(tool(output=of(**{name: TEXT})))
        assert f'TResult = TypedDict("TResult", {{\n    {name!r}: NotRequired[str],\n}})\n' in in_python
    _, in_typescript = texts(tool(output=of(**{"x-y": TEXT, "from": TEXT})))
    assert '  "x-y"?: string;\n  from?: string;\n' in in_typescript


def test_an_interface_is_written_once_and_can_refer_to_itself():
    """Step 23, item 5."""
    node = {**of(children={"type": "array", "items": {"$ref": "#/$defs/n"}}, up={"$ref": "#/$defs/n"})}
    in_python, in_typescript = texts(tool(output={"$ref": "#/$defs/n", "$defs": {"n": node}}))
    assert "    children: NotRequired[list[TResult]]\n    up: NotRequired[TResult]\n" in in_python
    assert "  children?: Array<TResult>;\n  up?: TResult;\n" in in_typescript
    assert (in_python.count("(TypedDict)"), in_typescript.count("interface")) == (1, 1)


def test_what_applies_together_is_one_interface():
    """Ours: `allOf`, and alternatives beside members."""
    parts = {"$defs": {"a": of(a=TEXT)}, "allOf": [{"$ref": "#/$defs/a"}, {**of(b=NULL), "required": ["b"]}]}
    beside = {"properties": {"a": TEXT, "b": NULL}, "required": ["b"], "anyOf": [{"required": ["a"]}, True]}
    for schema in (parts, beside):
        in_python, _ = texts(tool(output=schema))
        assert "class TResult(TypedDict):\n    a: NotRequired[str]\n    b: None\n" in in_python


def test_a_function_takes_what_its_tool_takes():
    """Step 23, item 5: keywords in Python, one object in TypeScript."""
    needs = {**of(id=TEXT), "required": ["id"]}
    for takes, in_python, in_typescript in (
        (of(), "", ""),
        ({"type": "object"}, "", ""),
        ({"type": "object", "additionalProperties": {}}, "**arguments: Any", "args?: Record<string, unknown>"),
        ({"type": "object", "additionalProperties": True}, "**arguments: Any", "args?: Record<string, unknown>"),
        ({"anyOf": [needs, of(a=TEXT)]}, "**arguments: Any", "args?: unknown"),
        (needs, "**arguments: Unpack[TArguments]", "args: TArguments"),
        (of(id=TEXT), "**arguments: Unpack[TArguments]", "args?: TArguments"),
    ):
        found = texts(tool(takes=takes))
        assert f"async def t({in_python}) -> Any:" in found[0]
        assert f"export function t({in_typescript}): Promise<unknown>;" in found[1]


def test_a_tool_without_a_usable_name_gets_one_and_a_comment():
    """Step 23, item 5: those that have one keep it."""
    names = ["get-user", "list", "class", "default", "", "2d", "__all__", "../é", "get_user", "x" * 200, "get user"]
    in_python, in_typescript = texts(*map(tool, names))
    found = ["get_user", "get_user_2", "list_", "class_", "default_", "tool", "tool_2d", "all", "tool_2"]
    found += ["x" * 80, "get_user_3"]
    assert re.findall(r"async def (\w+)", in_python) == re.findall(r"function (\w+)", in_typescript) == found
    comments = re.findall("# The tool '(.*)'\\.", in_python)
    assert comments == re.findall("// The tool '(.*)'\\.", in_typescript) == [*names[:8], *names[9:]]
    taken, _ = texts(tool("a", of(b=TEXT)), tool("AResult"))
    assert "async def AResult(" in taken
    assert "class AResult_2(" in taken


def test_learnt_fields_are_of_an_object_or_of_an_array_of_such():
    """HOSTS.md: paths of fields look through arrays, and say no type."""
    schema = learnt_schema([("items", "id"), ("items", "name"), ("total",)])
    in_python, in_typescript = texts(tool(output=schema, origin="Its result is learnt."))
    assert "    items: NotRequired[TResultItems | list[TResultItems]]\n    total: NotRequired[Any]\n" in in_python
    assert "    id: NotRequired[Any]\n    name: NotRequired[Any]\n" in in_python
    assert "# Its result is learnt.\nasync def t() -> TResult | list[TResult]:\n" in in_python
    assert "// Its result is learnt.\n/** Does it. */\nexport function t()" in in_typescript


STRING = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"')
COMMENT = re.compile(r"//[^\n]*\n|/\*.*?\*/", re.DOTALL)


def check(tools):
    """Both texts are well formed, have a function for each tool, and name no type that they lack."""
    in_python, in_typescript = texts(*tools)
    tree = ast.parse(in_python)
    defined = {each.name for each in tree.body if isinstance(each, ast.ClassDef)}
    defined |= {target.id for each in tree.body if isinstance(each, ast.Assign) for target in each.targets}
    named = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    imported = {alias.name for each in tree.body if isinstance(each, ast.ImportFrom) for alias in each.names}
    fields = {each.target.id for each in ast.walk(tree) if isinstance(each, ast.AnnAssign)}
    assert named - fields - defined - imported <= vars(builtins).keys()
    assert sum(isinstance(each, ast.AsyncFunctionDef) for each in tree.body) == len(tools)
    bare = COMMENT.sub("", STRING.sub('""', in_typescript))
    assert re.fullmatch(r'[\w$ \n{}();:|<>,?"]*', bare), bare
    assert all(bare.count(opened) == bare.count(closed) for opened, closed in ("{}", "()", "<>"))
    assert bare.count("export function ") == len(tools)
    assert set(re.findall(r"interface (\w+)", bare)) == defined


@given(randoms())
def test_any_schema_has_stubs(rng):
    """Ours: whatever the generator of schemas comes up with."""
    schema = random_schema(rng, rng.choice(("2020-12", "2019-09", "7")))
    check([tool(output=schema), tool("other", takes={"type": "object", "properties": {"a": schema}})])


HOSTILE = '*/ } export function stolen(): void; /* """ \'\'\' \\ \\" # \n\r\u2028import os\x85// ` $ {x} \u202e'


@given(st.text(max_size=40))
@example(HOSTILE)
@example(HOSTILE * 99)
def test_no_text_of_a_server_ends_its_comment_or_its_string(text):
    """Step 23, item 5: of a name, a description or a value."""
    schema = of(**{text: {"enum": [text], "description": text}, "a": {**of(**{f"a{text}": TEXT}), "description": text}})
    check([tool(text, schema, takes=schema, says=text, origin=text)])


def lists(inner):
    schema, values = inner
    return {"type": "array", "items": schema}, st.lists(values, max_size=2)


def maps(inner):
    schema, values = inner
    return {"type": "object", "additionalProperties": schema}, st.dictionaries(st.text(max_size=2), values, max_size=2)


def either(some):
    return {"anyOf": [schema for schema, _ in some]}, st.one_of([values for _, values in some])


def objects(drawn):
    """An object of members, those with odd numbers required."""
    members = {name: pair for name, pair, _ in drawn}
    required = [name for name, _, is_required in drawn if is_required]
    needed = {name: members[name][1] for name in required}
    others = {name: values for name, (_, values) in members.items() if name not in needed}
    schema = {**of(**{name: schema for name, (schema, _) in members.items()}), "required": required}
    return schema, st.fixed_dictionaries(needed, optional=others)


VALUES = ["a", "'\"\\", 1, True, None, 1.5]
PLAIN = st.sampled_from(
    [
        (True, st.sampled_from([*VALUES, [], {}])),
        (TEXT, st.text(max_size=2)),
        ({"type": "integer"}, st.integers()),
        ({"type": "number"}, st.floats(allow_nan=False) | st.integers()),
        ({"type": ["boolean", "null"]}, st.booleans() | st.none()),
        ({"enum": VALUES}, st.sampled_from(VALUES)),
    ]
)
NAMES = st.sampled_from(["a", "b", "from", "x-y", "list"])
PAIRS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        inner.map(lists),
        inner.map(maps),
        st.lists(inner, min_size=1, max_size=2).map(either),
        st.lists(st.tuples(NAMES, inner, st.booleans()), min_size=1, max_size=3, unique_by=lambda each: each[0]).map(
            objects
        ),
    ),
    max_leaves=6,
)


def python_type(schema):
    """The type that the stub has for a result."""
    imports, *interfaces, function = python(functions([tool(output=schema)]))
    space = {}
    exec(imports, space)
    # That of `typing` cannot be validated before Python 3.12.
    space |= {"TypedDict": typing_extensions.TypedDict, "NotRequired": typing_extensions.NotRequired}
    # Those that an interface refers to come after it.
    for part in (*reversed(interfaces), function):
        exec(compile(part, "stub.pyi", "exec", dont_inherit=True), space)
    return TypeAdapter(space["t"].__annotations__["return"] or NoneType)


@given(st.data())
def test_a_type_admits_what_its_schema_admits(data):
    """Ours: no stub refuses a right program."""
    schema, values = data.draw(PAIRS)
    python_type(schema).validate_python(data.draw(values), strict=True)


def test_a_type_refuses_what_its_schema_refuses():
    """Ours: the law above is of types that say something."""
    schema = {**of(a=TEXT, b={"enum": ["x", "y"]}), "required": ["a"]}
    for wrong in ({}, {"a": 1}, {"a": "", "b": "z"}, [{"a": ""}], None):
        with pytest.raises(ValidationError):
            python_type(schema).validate_python(wrong, strict=True)
