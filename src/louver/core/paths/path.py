"""Field paths: the dotted form of issue #1704, with the quoting of AIP-161.

    orders[*].total     `total` of every element of `orders`; also `orders.*.total`
    meta.`a.b`          a name that holds a dot; also meta['a.b']
    /meta/a.b           from the root (JSON Pointer); also $.meta['a.b'] (JSONPath)
    *, **.email         everything; `email` at any depth (only where fields are left out)

Law: `FieldPath.parse(str(path)) == path` (`tests/core/paths/test_path.py`).
No filters: they read what the answer hides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from louver.errors import InvalidPath, ProjectionLimit
from louver.limits import MAX_PATH_CHARACTERS, MAX_SEGMENTS

# A property name, or `None` for the wildcard.
Step = str | None

_NAME = re.compile(r"[^.\[\]*`\x00]+")
# Without quotes, `jsonpath_ng` takes `where` and `wherenot` for operators.
_PLAIN = re.compile(r"(?!(?:where|wherenot)\Z)[A-Za-z_][A-Za-z0-9_]*")
_UNSENDABLE = re.compile(r"[\x00\ud800-\udfff]")
_A_STEP = "a name, a quoted name, or '*'"
_A_BRACKET = "'*]', ']' or a quoted name with its ']'"
_JSONPATH = re.compile(r"""\$(?:\.(?:\*|[^\s.\[\]*'"`,|&?@()$]+)|\[(?:\*|'x*'|"x*")\])*""")
# A step as `jsonpath_ng` reads it. That takes 0.5 ms for a path, 0.1 s: it says where it refuses one.
_ID = r"[A-Za-z_\u4E00-\u9FA5\U0001F600-\U0001F64F][A-Za-z0-9_\-\u4E00-\u9FA5\U0001F600-\U0001F64F]*"
_JSONPATH_STEP = re.compile(
    rf"\.(?:(?P<wild>\*)|(?P<name>(?!(?:where|wherenot)(?:[.\[]|\Z)){_ID})|(?P<number>-?\d+))(?=[.\[]|\Z)"
    r"""|\[(?:(?P<every>\*)|'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]"""
)
_DROP_DOLLAR = "Drop the '$.': a field path needs no JSONPath"


_HINTS = {
    "*": "There are no partial wildcards: write the whole name, or '*' alone",
    "`": "A name that holds a backtick is quoted, and the backtick written twice: `a``b`",
}


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The steps from the root, quoting resolved; no steps are the root. `deep`: a name at any depth (`**.name`).

    `absolute`: written from the root, so never read from within the wrapper of an output (`louver.core.wrapper`).
    """

    steps: tuple[Step, ...]
    deep: bool = False
    absolute: bool = False

    @classmethod
    def parse(cls, text: str, *, deep: bool = False) -> FieldPath:
        """Parse any text form; `deep` allows `**.name`. `InvalidPath` has the offset; `ProjectionLimit`: too long."""
        if len(text) > MAX_PATH_CHARACTERS:
            message = f"a field path has at most {MAX_PATH_CHARACTERS} characters, this one has {len(text)}"
            raise ProjectionLimit(message, limit=MAX_PATH_CHARACTERS)
        path = _read(text, deep)
        if len(path.steps) > MAX_SEGMENTS:
            message = f"field path {text[:40]!r}… has {len(path.steps)} segments, at most {MAX_SEGMENTS} are read"
            raise ProjectionLimit(message, limit=MAX_SEGMENTS)
        return path

    def __str__(self) -> str:
        """The canonical text: dotted, quoted only where needed, wildcards as `*`."""
        if not self.steps:
            return "*"
        if self.absolute:
            return _absolute(self.steps)
        text = ".".join("*" if step is None else _quoted(step) for step in self.steps)
        if self.deep:
            return f"**.{text}"
        # A first name that would be read as a pointer or a JSONPath must be quoted.
        first = self.steps[0]
        if first is not None and (first.startswith("/") or first == "$"):
            return f"`{first}`{text[len(first) :]}" if _quoted(first) == first else text
        return text

    def sort_key(self) -> tuple[tuple[int, str], ...]:
        """Orders paths by code points, a wildcard before every name."""
        return tuple((0, "") if step is None else (1, step) for step in self.steps)

    def covers(self, other: FieldPath) -> bool:
        """Whether `other` is the same path, or one below it."""
        if self.deep or other.deep or self.absolute != other.absolute:
            return False
        return other.steps[: len(self.steps)] == self.steps


def fold(paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """The canonical list: each path once, parents instead of their children, in the order of code points."""
    kept: list[FieldPath] = []
    for path in sorted(set(paths), key=lambda path: (path.deep, path.absolute, path.sort_key())):
        # In this order every parent directly precedes its children.
        if not (kept and kept[-1].covers(path)):
            kept.append(path)
    return tuple(kept)


@lru_cache(maxsize=4096)
def _read(text: str, deep: bool) -> FieldPath:
    if not text:
        raise InvalidPath(text, 0, "a field path", "To name everything, write '*'")
    if unsendable := _UNSENDABLE.search(text):
        what = "NUL" if unsendable.group() == "\0" else "a lone surrogate"
        raise InvalidPath(text, unsendable.start(), f"a character other than {what}")
    if text.startswith("/"):
        return FieldPath(_pointer(text), absolute=True)
    if text == "$" or text.startswith(("$.", "$[")):
        steps = _root_or(_jsonpath(text))
        return FieldPath(steps, absolute=bool(steps))
    if text.startswith("**"):
        return FieldPath((_deep(text, deep),), deep=True)
    return FieldPath(_root_or(_dotted(text)))


def _root_or(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """`*` alone is everything: no steps, whether the root is an object, an array or a scalar."""
    return () if steps == (None,) else steps


def _pointer(text: str) -> tuple[Step, ...]:
    if bad := re.search(r"~(?![01])", text):
        raise InvalidPath(text, bad.start(), "'~0' for '~' or '~1' for '/'")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/"))


def _deep(text: str, allowed: bool) -> str:
    if not allowed:
        hint = "'**' leaves fields out; to get fields, name them from the root"
        raise InvalidPath(text, 0, _A_STEP, hint)
    if not text.startswith("**."):
        raise InvalidPath(text, 2, "'.' and a name", "'**.name' stands for that name at any depth")
    name, end = _segment(text, 3)
    if name is None:
        raise InvalidPath(text, 3, "a name or a quoted name")
    if end < len(text):
        raise InvalidPath(text, end, "the end of the path", "Nothing may follow '**.name'")
    return name


def _dotted(text: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    at = 0
    while True:
        if text[at : at + 1] != "[":
            step, at = _segment(text, at)
            steps.append(step)
        while text[at : at + 1] == "[":
            step, at = _bracket(text, at)
            steps.append(step)
        if at == len(text):
            return tuple(steps)
        if text[at] != ".":
            raise InvalidPath(text, at, "'.', '[' or the end of the path", _HINTS.get(text[at]))
        at += 1
        if text[at : at + 1] == "[":
            raise InvalidPath(text, at, _A_STEP, "A bracket follows its name without a dot")


def _segment(text: str, at: int) -> tuple[Step, int]:
    here = text[at : at + 1]
    if here == "*":
        if text[at : at + 2] == "**":
            raise InvalidPath(text, at, _A_STEP, "'**.name' stands alone, and only where fields are left out")
        return None, at + 1
    if here == "`":
        return _backticked(text, at)
    if found := _NAME.match(text, at):
        return found.group(), found.end()
    raise InvalidPath(text, at, _A_STEP)


def _backticked(text: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    start = at + 1
    while (end := text.find("`", start)) >= 0:
        parts.append(text[start:end])
        if text[end + 1 : end + 2] != "`":
            return "`".join(parts), end + 1
        start = end + 2
    raise InvalidPath(text, len(text), "a closing '`'", "A backtick within a quoted name is written twice")


def _bracket(text: str, at: int) -> tuple[Step, int]:
    for wildcard in ("[*]", "[]"):
        if text.startswith(wildcard, at):
            return None, at + len(wildcard)
    quote = text[at + 1 : at + 2]
    if quote and quote in "'\"":
        end = text.find(quote, at + 2)
        if end < 0 or text[end + 1 : end + 2] != "]":
            raise InvalidPath(text, len(text) if end < 0 else end + 1, f"a closing {quote}]")
        return text[at + 2 : end], end + 2
    hint = None
    if re.match(r"\[-?[\d:,]+\]", text[at:]):
        hint = "There are no array positions: '[*]' stands for every element"
    elif text.startswith("[?", at):
        hint = "There are no filters: '[*]' stands for every element"
    raise InvalidPath(text, at + 1, _A_BRACKET, hint)


def _jsonpath(text: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _JSONPATH_STEP.match(text, at)
        if found is None or "\\" in found[0]:
            raise _refused_jsonpath(text)
        at = found.end()
        named = found[found.lastgroup or 0]
        is_wild = found.lastgroup in ("wild", "every")
        steps.append(None if is_wild else str(int(named)) if found.lastgroup == "number" else named)
    return tuple(steps)


def _refused_jsonpath(text: str) -> InvalidPath:
    # Imported here: the parser costs 20 ms to import.
    from jsonpath_ng.exceptions import JSONPathError  # pyright: ignore[reportMissingTypeStubs]
    from jsonpath_ng.parser import parse  # pyright: ignore[reportMissingTypeStubs]

    if "\\" in text:
        return InvalidPath(text, text.index("\\"), "a name without a backslash", _DROP_DOLLAR)
    # This pattern decides which forms are accepted, with quoted names blanked out; the library accepts more.
    blotted = re.sub(r"'[^']*'|\"[^\"]*\"", lambda name: name[0][0] + "x" * (len(name[0]) - 2) + name[0][0], text)
    read = _JSONPATH.match(blotted)
    if read is None or read.end() < len(text):
        hint = f"There are no positions, slices, filters, unions or functions. {_DROP_DOLLAR}"
        return InvalidPath(text, read.end() if read else 0, "'.name', '.*', ['name'] or [*]", hint)
    offset = len(text)
    try:
        parse(text)
    except JSONPathError as error:
        offset = min(int(found.group(1)) if (found := re.search(r"(?:col |:)(\d+)", str(error))) else offset, offset)
    return InvalidPath(text, offset, "a name that JSONPath can write", _DROP_DOLLAR)


def _absolute(steps: tuple[Step, ...]) -> str:
    if None not in steps:
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps if step is not None)
    # Only JSONPath has both a root and wildcards; it cannot write a name with both quotes.
    return "$" + "".join("[*]" if step is None else _bracketed(step) for step in steps)


def _bracketed(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return f".{name}"
    return f'["{name}"]' if "'" in name else f"['{name}']"


def _quoted(name: str) -> str:
    return name if _NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
