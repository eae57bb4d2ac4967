"""Field paths: the dotted form of issue #1704, with the quoting of AIP-161.

    orders[*].total     `total` of every element of `orders`; also `orders.*.total`
    meta.`a.b`          a name that holds a dot; also meta['a.b']
    /meta/a.b           from the root (JSON Pointer); also $.meta['a.b'] (JSONPath)
    $.orders[0:9].id    of some elements (JSONPath, `louver.core.paths.rows`), where a projection is asked for
    *, **.email         everything; `email` at any depth (only where fields are left out)

Law: `FieldPath.parse(str(path)) == path` (`tests/core/paths/test_path.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from louver.core.paths.rows import DEEP, Pick, Step, written
from louver.errors import InvalidPath, ProjectionLimit
from louver.limits import MAX_PATH_CHARACTERS, MAX_ROW_CHARACTERS, MAX_SEGMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r"[^.\[\]*`\x00]+")
_UNSENDABLE = re.compile(r"[\x00\ud800-\udfff]")
_A_STEP = "a name, a quoted name, or '*'"
_A_BRACKET = "'*]', ']' or a quoted name with its ']'"
# A step of names alone. `jsonpath_ng` reads the same in it, in 0.5 ms.
_ID = r"[A-Za-z_\u4E00-\u9FA5\U0001F600-\U0001F64F][A-Za-z0-9_\-\u4E00-\u9FA5\U0001F600-\U0001F64F]*"
_JSONPATH_STEP = re.compile(
    rf"\.(?:(?P<wild>\*)|(?P<name>(?!(?:where|wherenot)(?:[.\[]|\Z)){_ID})|(?P<number>-?\d+))(?=[.\[]|\Z)"
    r"""|\[(?:(?P<every>\*)|'(?P<single>[^'\\\x00-\x1f]*)'|"(?P<double>[^"\\\x00-\x1f]*)")\]"""
)

_NAMES_ALONE = re.compile(rf"(?!\$[.\[])(?s:.*)|\$(?:{_JSONPATH_STEP.pattern})*")

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
    def parse(cls, text: str, *, deep: bool = False, rows: bool = False) -> FieldPath:
        """Parse any text form; `deep` allows `**.name`, `rows` a JSONPath that is more than names.

        `InvalidPath` has the offset; `ProjectionLimit`: too long.
        """
        if len(text) > MAX_PATH_CHARACTERS:
            message = f"a field path has at most {MAX_PATH_CHARACTERS} characters, this one has {len(text)}"
            raise ProjectionLimit(message, limit=MAX_PATH_CHARACTERS)
        path = _read(text, deep, rows)
        if len(path.steps) > MAX_SEGMENTS:
            message = f"field path {text[:40]!r}… has {len(path.steps)} segments, at most {MAX_SEGMENTS} are read"
            raise ProjectionLimit(message, limit=MAX_SEGMENTS)
        return path

    def __str__(self) -> str:
        """The canonical text: dotted, quoted only where needed, wildcards as `*`."""
        if not self.steps:
            return "*"
        if self.has_rows:
            return f"${written(self.steps)}"
        if self.absolute:
            return _absolute(self.steps)
        text = ".".join("*" if step is None else _quoted(step) for step in self.names)
        if self.deep:
            return f"**.{text}"
        # A first name that would be read as a pointer or a JSONPath must be quoted.
        first = self.names[0]
        if first is not None and (first.startswith("/") or first == "$"):
            return f"`{first}`{text[len(first) :]}" if _quoted(first) == first else text
        return text

    @property
    def has_rows(self) -> bool:
        """Whether a step is more than a name or a wildcard."""
        return any(isinstance(step, Pick) or step is DEEP for step in self.steps)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The steps of a path without rows."""
        return tuple(step for step in self.steps if step is None or isinstance(step, str))

    def sort_key(self) -> tuple[tuple[int, str], ...]:
        """Orders paths by code points, a wildcard before every name, and rows behind."""
        return tuple(
            (0, "") if step is None else (1, step) if isinstance(step, str) else (2, str(step)) for step in self.steps
        )

    def covers(self, other: FieldPath) -> bool:
        """Whether `other` is the same path, or one below it."""
        if self.deep or other.deep or self.absolute != other.absolute:
            return False
        return other.steps[: len(self.steps)] == self.steps


def check_rows(texts: Iterable[str]) -> None:
    """`ProjectionLimit` if there is much to read that is more than names."""
    length = sum(len(text) for text in texts if not _NAMES_ALONE.fullmatch(text))
    if length > MAX_ROW_CHARACTERS:
        message = f"field paths with rows have at most {MAX_ROW_CHARACTERS} characters in all, these have {length}"
        raise ProjectionLimit(message, limit=MAX_ROW_CHARACTERS)


def fold(paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """The canonical list: each path once, parents instead of their children, in the order of code points."""
    kept: list[FieldPath] = []
    for path in sorted(set(paths), key=lambda path: (path.deep, path.absolute, path.sort_key())):
        # In this order every parent directly precedes its children.
        if not (kept and kept[-1].covers(path)):
            kept.append(path)
    return tuple(kept)


@lru_cache(maxsize=4096)
def _read(text: str, deep: bool, rows: bool) -> FieldPath:
    if not text:
        raise InvalidPath(text, 0, "a field path", "To name everything, write '*'")
    if unsendable := _UNSENDABLE.search(text):
        what = "NUL" if unsendable.group() == "\0" else "a lone surrogate"
        raise InvalidPath(text, unsendable.start(), f"a character other than {what}")
    if text.startswith("/"):
        return FieldPath(_pointer(text), absolute=True)
    if text == "$" or text.startswith(("$.", "$[")):
        steps = _root_or(_jsonpath(text, rows))
        return FieldPath(steps, absolute=bool(steps))
    if text.startswith("**"):
        return FieldPath((_deep(text, deep),), deep=True)
    return FieldPath(_root_or(_dotted(text)))


def _root_or(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """`*` alone is everything: no steps, whether the root is an object, an array or a scalar."""
    return () if steps == (None,) else steps


def _pointer(text: str) -> tuple[str, ...]:
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


def _dotted(text: str) -> tuple[str | None, ...]:
    steps: list[str | None] = []
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


def _segment(text: str, at: int) -> tuple[str | None, int]:
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


def _bracket(text: str, at: int) -> tuple[str | None, int]:
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
    if re.match(r"\[(?:-?[\d:,]+\]|\?)", text[at:]):
        hint = "Elements are selected from the root, behind '$.': '[*]' stands for every one"
    raise InvalidPath(text, at + 1, _A_BRACKET, hint)


def _jsonpath(text: str, rows: bool) -> tuple[Step, ...]:
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _JSONPATH_STEP.match(text, at)
        if found is None:
            # Imported here: the parser costs 40 ms to import.
            from louver.core.paths.jsonpath import read

            read_steps = read(text)
            if not rows and FieldPath(read_steps).has_rows:
                raise InvalidPath(text, at, "'.name', '.*', ['name'] or [*]", "Here a path has names alone")
            return read_steps
        at = found.end()
        named = found[found.lastgroup or 0]
        is_wild = found.lastgroup in ("wild", "every")
        steps.append(None if is_wild else str(int(named)) if found.lastgroup == "number" else named)
    return tuple(steps)


def _absolute(steps: tuple[Step, ...]) -> str:
    names = [step for step in steps if isinstance(step, str)]
    if len(names) == len(steps):
        return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)
    # Only JSONPath has both a root and wildcards.
    return f"${written(steps)}"


def _quoted(name: str) -> str:
    return name if _NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
