"""JSONPath (RFC 9535) as the steps of a field path, read by jsonpath-ng.

    $.items[?@.state == 'open' && @.comments > 3].title    $.items[0:10]    $..price    $.items[*]['id','name']

The library reads more than the RFC has, and some of it otherwise. So it gets the signs of the RFC alone, with names and
constants taken out. The functions of the RFC are refused.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from jsonpath_ng import Child, Descendants, Fields, Index, Root, Slice, This  # pyright: ignore[reportMissingTypeStubs]
from jsonpath_ng.exceptions import JSONPathError  # pyright: ignore[reportMissingTypeStubs]
from jsonpath_ng.ext import filter as tests  # pyright: ignore[reportMissingTypeStubs]
from jsonpath_ng.ext.parser import parse  # pyright: ignore[reportMissingTypeStubs]
from jsonpath_ng.jsonpath import Wildcard  # pyright: ignore[reportMissingTypeStubs]

from louver.core.paths.predicate import AllOf, AnyOf, Comparison, Constant, Exists, Not, Query, RowTest
from louver.core.paths.rows import DEEP, Cut, Pick
from louver.errors import InvalidPath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.paths.predicate import Condition
    from louver.core.paths.rows import Step

MAX_NESTED_BRACKETS = 24
"""Brackets and parentheses within one another in a path with rows."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\n\r]+)|(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_\x80-\U0010FFFF][\w\x80-\U0010FFFF-]*)"""
    r"""|(?P<sign>&&|\|\||[=!<>]=|\.\.|[<>!()\[\].*?@$,:])"""
)
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_POSITION = re.compile(r"0|-?[1-9][0-9]{0,15}")
MAX_POSITION = 2**53
_EXPECTED = "a JSONPath of names, positions, slices and tests"
_HINTS = (
    (
        re.compile(r"\b(?:length|count|match|search|value)\s*\("),
        "Functions are not read: compare members, as in [?@.size > 3]",
    ),
    (re.compile(r"@\.length\b"), "Positions from the end are negative: [-1]"),
    (re.compile(r"=~"), "There are no patterns: compare whole texts by '=='"),
    (re.compile(r"(?<![=!<>])=(?!=)"), "'==' compares"),
    (re.compile(r"(?<!&)&(?!&)|(?<!\|)\|(?!\|)|[\s?(](?:and|or|not)\s"), "'&&', '||' and '!' join tests"),
    (re.compile(r"\[\s*[\\/]"), "Rows keep their order"),
    (re.compile(r"[\\`]"), "Other names stand in quotes: ['a`b']"),
    (re.compile(r"\?[^\]?]*(?:\+|\s[-*/]\s)"), "Tests compare members and constants, without arithmetic"),
    (re.compile(r"!\s*\("), "'!' stands before one member; a comparison has '!=', '<=' or '>='"),
    (re.compile(r"[=<>]\s*[A-Za-z_]"), "Texts stand in quotes: == 'open'"),
    (re.compile(r"\[[^\[\]]*,"), "A list has names alone, or positions alone: ['a','b'] or [0,2]"),
)


def read(text: str) -> tuple[Step, ...]:
    """The steps of a JSONPath; `InvalidPath` for what RFC 9535 has not, for its functions, and for deep nesting."""
    found = _Tokens(text)
    try:
        return _Converter(found).steps(parse(found.replaced))
    except JSONPathError as error:
        at = re.search(r"(?:col |:)(\d+)", str(error))
        raise _refused(text, found.offset(int(at[1]) if at else len(text))) from None


class _Tokens:
    """The tokens of a path; in `replaced`, names and constants are `s0`, `s1`, ... of `values`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: list[Any] = []
        self._starts: list[tuple[int, int]] = []  # in `replaced`, in `text`
        found = [*self._split()]
        parts: list[str] = []
        length = depth = 0
        for position, (kind, token, start) in enumerate(found):
            before = found[position - 1][1] if position else ""
            if before in (".", "..") and (text[start - 1] != "." or kind == "number" or token in ("$", "@")):
                raise _refused(text, start)
            after = found[position + 1][1] if position + 1 < len(found) else ""
            depth += (token in ("[", "(")) - (token in ("]", ")"))
            if depth > MAX_NESTED_BRACKETS:
                raise InvalidPath(text, start, f"at most {MAX_NESTED_BRACKETS} brackets within one another")
            # What stands apart stays so: `0 2` is not 2.
            space = " " if position and text[start - 1].isspace() else ""
            self._starts.append((length + len(space), start))
            parts.append(space + self._replacement(kind, token, start, before, after))
            length += len(parts[-1])
        self.replaced = "".join(parts)

    def _split(self) -> Iterator[tuple[str, str, int]]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise _refused(self.text, at)
            if match.lastgroup != "space":
                yield match.lastgroup or "", match[0], at
            at = match.end()

    def _replacement(self, kind: str, token: str, start: int, before: str, after: str) -> str:
        is_compared = before in _COMPARISONS or after in _COMPARISONS
        if kind == "sign" or (kind == "number" and not is_compared):
            if kind == "number" and not (_POSITION.fullmatch(token) and abs(int(token)) < MAX_POSITION):
                raise _refused(self.text, start)
            return token
        if kind == "name" and before not in (".", ".."):
            if token not in _WORDS or not is_compared:
                raise _refused(self.text, start)
            value: Any = _WORDS[token]
        elif kind == "string":
            value = self._string(token, start)
        elif kind == "number":
            value = json.loads(token) if re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE].*)?", token) else None
            if value is None or not isfinite(value):
                raise _refused(self.text, start)
        else:
            value = token
        self.values.append(value)
        name = f"s{len(self.values) - 1}"
        return name if kind == "name" and before in (".", "..") else f"'{name}'"

    def _string(self, token: str, start: int) -> str:
        inside = token[1:-1].replace("\\'", "'").replace('"', '\\"') if token[0] == "'" else token[1:-1]
        try:
            value = json.loads(f'"{inside}"')
            value.encode()
        except ValueError:
            raise InvalidPath(self.text, start, "a string of JSON, between these quotes") from None
        return value

    def offset(self, at: int) -> int:
        """The place in the text of one in `replaced`."""
        return max((source for start, source in self._starts if start <= at), default=len(self.text))


class _Converter:
    """The library's tree as steps."""

    def __init__(self, tokens: _Tokens) -> None:
        self._tokens = tokens

    def steps(self, node: Any) -> tuple[Step, ...]:
        match node:
            case Root() | This():
                return ()
            case Child(left=left, right=right):
                return self.steps(left) + self.steps(right)
            case Descendants(left=left, right=right):
                return (*self.steps(left), DEEP, *self.steps(right))
            case Wildcard() | Fields(fields=("*",)):
                return (None,)
            case Fields(fields=fields):
                names = tuple(map(self._value, fields))
                return (names[0] if len(names) == 1 else Pick(names=names),)
            case Index(indices=indices):
                return (Pick(rows=tuple(indices)),)
            case Slice(start=start, end=end, step=step):
                return (Pick(rows=(Cut(start, end, step),)),)
            case _:
                return (Pick(rows=(RowTest(self._all(self._expressions(node))),)),)

    def _expressions(self, node: Any) -> list[Any]:
        if type(node) is not tests.Filter:
            raise _refused(self._tokens.text, 0)
        return [*node.expressions]  # pyright: ignore[reportUnknownMemberType]

    def _all(self, expressions: list[Any]) -> Condition:
        parts = tuple(map(self._condition, expressions))
        return parts[0] if len(parts) == 1 else AllOf(parts)

    def _condition(self, node: Any) -> Condition:
        if type(node) is tests.Or:
            return AnyOf(tuple(map(self._condition, node.operands)))
        if type(node) is tests.And:
            return self._all(node.operands)
        expression: Any = node
        if expression.op in (None, "!"):
            exists = Exists(self._query(expression.target))
            return exists if expression.op is None else Not(exists)
        return Comparison(expression.op, self._side(expression.target), self._side(expression.value))

    def _side(self, node: Any) -> Query | Constant:
        if isinstance(node, str):
            return Constant(self._value(node))
        if isinstance(node, Fields) and len(node.fields) == 1:
            return Constant(self._value(node.fields[0]))
        query = self._query(node)
        if not query.is_singular:
            raise InvalidPath(
                self._tokens.text, 0, "a test that compares single members", "Compare one place: [0], not [*]"
            )
        return query

    def _query(self, node: Any) -> Query:
        first = node
        while isinstance(first, Child | Descendants):
            first = first.left
        if not isinstance(first, Root | This):
            raise _refused(self._tokens.text, 0)
        query = Query(self.steps(node), isinstance(first, Root))
        if DEEP in query.steps or (query.from_root and not query.is_singular):
            raise InvalidPath(
                self._tokens.text, 0, "a test that reads few places", "A test has no '..', and '$' names one place"
            )
        return query

    def _value(self, name: str) -> Any:
        return self._tokens.values[int(name[1:])]


def _refused(text: str, offset: int) -> InvalidPath:
    hint = next((hint for pattern, hint in _HINTS if pattern.search(text)), None)
    return InvalidPath(text, offset, _EXPECTED, hint)
