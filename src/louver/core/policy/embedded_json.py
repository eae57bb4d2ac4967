r"""JSON within strings: a denied field is taken out there too, or the string is withheld.

    deny **.ssn   {"note": "{\"id\": 1, \"ssn\": 2}"}      ->   {"note": "{\"id\":1}"}
                  {"note": "200 OK: {\"ssn\": 2}"}         ->   {"note": "200 OK: {}"}
                  {"note": "```json\n{\"ssn\": 2}\n```"}   ->   {"note": "[withheld: ...]"}

A path leads through a string, and what a path names at a place it also names in all JSON text below. All takes linear
time, whatever the text. Source: TRUST.md, "Linear in the text", rows 4 and 7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final, Literal

from louver.core.json import Json, NotJson, compact, is_array, is_object, parse, parse_at
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.policy.masking import HIDDEN
from louver.core.policy.name_variants import without_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MAX_JSON_TEXTS = 50_000
"""Strings of JSON and objects in prose that a policy looks into in one answer: some 1 s. Further ones are withheld."""


# JSON in a text

# What parsers of JSON and of its dialects read as a value without names.
_SCALAR = r"(?:[+-]?\.?\d[\w.+-]*+|true|false|null|[+-]?(?:NaN|nan|Infinity|inf)|undefined|None|True|False)"
_SPACE = r"[\s\x00-\x1f\x7f]*+"
_END = r"[\s\x00-\x1f\x7f\"'\\]*+\Z"  # of the text, or of a text within it

# What may stand before JSON. Prose may also begin with a bracket:
# `[Bug] ...`, `[1] ...`, `[ ] ...`, `[name](url)`, `{name} ...`.
_BEFORE: Final = re.compile(
    rf"""(?>
        //[\x20\t]*+(?=\w)[^\n\r\u2028\u2029]*+                       # a comment, whose words are not looked at
      | /\*++\s*+(?=\w)(?:[^*]|\*(?!/))*+\*/
      | [^\w{{\[\\`~/]++ | /                                        # white space, marks, quotes
      | \[{_SPACE}(?:{_SCALAR}{_SPACE}(?:,{_SPACE}{_SCALAR}{_SPACE})*+)?+\](?!{_END})
      | \{{[\w\x20.-]++\}}                                          # a placeholder
    )++
    | (?P<fence>(?:[`~]++[\w+.\#-]*+[^\w{{\[\\`~/\n]*+)++)           # of code; the rest of its line may be a title
    """,
    re.VERBOSE,
)
_TITLE_END: Final = re.compile(r"[\n{\[\\]")
_JSON: Final = re.compile(
    rf"""\{{ | (?<=["'])\\ | \[[\s\x00-\x1f\x7f\[(]*+(?:["'{{\],]|\\[nrtu"'/\\]|/[/*]|{_SCALAR}{_SPACE}[,\]])""",
    re.VERBOSE,
)
# In prose a brace alone is none of JSON's. What may stand between it and the first name: white space, escaped or not.
_OBJECT: Final = re.compile(
    r"""(?P<brace>\{|u007[bB]) (?:\\[nrt] | [^\w{}\[\]"'])*+ (?:["'] | u002[27])""",
    re.VERBOSE,
)
# A quoted name and its colon where a member may begin, in a text without braces.
_MEMBER: Final = re.compile(
    r"""(?: \A | [{},;/\n\r] | \\[nrt] ) [^\w"'{},;/\n\r]*+ [bBuU]?
        (?: "[^"\n]*+" | '[^'\n]*+' ) [\s\\]*+ (?: : | => )""",
    re.VERBOSE,
)
_BRACE: Final = re.compile(r"(\{|\}|u007[bBdD])")
_OPENING: Final = ("{", "u007b", "u007B")


def begins_like_json(text: str) -> bool:
    """Whether a text begins as an object, or as an array that may hold one, does in JSON or a dialect of it."""
    if (text[:1].isalnum() and text[0].isascii()) or not _may_hold_json(text):
        return False
    text = text if text.isascii() else without_invisible(text)
    at = searched = 0
    while found := _BEFORE.match(text, at):
        at = found.end()
        # Fences before `searched` have no title. Without that memory, many fences in one line take quadratic time.
        if found.lastgroup == "fence" and at > searched:
            title_end = _TITLE_END.search(text, at)
            searched = title_end.start() if title_end else len(text)
            if text.startswith("\n", searched):
                at = searched
    return _JSON.match(text, at) is not None


def holds_brace(text: str) -> bool:
    """Whether a text may hold an object of any dialect, with its brace escaped or not."""
    return "{" in text or "}" in text or ("u007" in text and _BRACE.search(text) is not None)


def holds_object(text: str) -> bool:
    """Whether an object with a quoted name is anywhere in a text, perhaps without its beginning."""
    return holds_brace(text) and (_OBJECT.search(text) is not None or holds_member(text))


def holds_member(text: str) -> bool:
    """Whether a member with a quoted name stands within braces, whose first or last may be cut off."""
    if _MEMBER.search(text) is None:
        return False
    parts = _BRACE.split(text)
    depths = list(accumulate((1 if brace in _OPENING else -1 for brace in parts[1::2]), initial=0))
    outside = min(depths)
    return any(depth > outside and _MEMBER.search(part) for depth, part in zip(depths, parts[::2], strict=True))


def objects_in(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The objects in a text from left to right, with where they begin and end; `NotJson` at one that is not strict."""
    at = 0
    while found := _OBJECT.search(text, at):
        if found["brace"] != "{":
            raise NotJson("the brace is escaped", offset=found.start())
        value, at = parse_at(text, found.start())
        yield found.start(), at, value


def _may_hold_json(text: str) -> bool:
    return "{" in text or "[" in text or "\\" in text


# Withholding

WITHHELD: Final = (
    "[withheld: the text holds or begins like JSON, and not strict JSON: what of it may be seen is not known]"
)
TOO_MANY: Final = (
    f"[withheld: more than {MAX_JSON_TEXTS} texts of the answer are JSON or hold an object, and this is a further one]"
)

# What becomes of the JSON in prose: denied fields are taken out, or text with an object in it is withheld.
InProse = Literal["prune", "withhold"]


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that takes fields out of a value, or replaces them."""

    of: Callable[[Json, Mask], Json]
    mask: Mask  # of the value
    text_mask: Mask  # of the JSON in any string


# The mask of each denial at a place.
_Masks = tuple[Mask, ...]


class _Either(Mask):
    """The mask that hides what one of several hides."""

    __slots__ = ("masks",)

    def __init__(self, masks: tuple[Mask, ...]) -> None:
        super().__init__(exclude=True)
        self.masks = masks
        elements = tuple(mask.elem for mask in masks)
        self.elem = self if elements == masks else _either(elements)

    def child(self, name: str) -> Mask:
        return _either(mask.child(name) for mask in self.masks)


def _either(masks: Iterable[Mask]) -> Mask:
    found: dict[Mask, None] = {}
    for mask in masks:
        found.update(dict.fromkeys(mask.masks if isinstance(mask, _Either) else () if mask is ALL else (mask,)))
    hiding = next((mask for mask in found if mask is NONE or mask is HIDDEN), None)
    if hiding is not None or not found:
        return hiding or ALL
    return next(iter(found)) if len(found) == 1 else _union(tuple(found))


# One object for equal unions, so that they are joined once.
_union = lru_cache(maxsize=1024)(_Either)


def prune_strings(value: Json, denials: Sequence[Denial], in_prose: InProse = "prune") -> Json:
    """The value, to which the denials were applied, with their effect on the JSON in its strings."""
    if not denials:
        return value
    pruning = _Pruning(denials, in_prose)
    if not pruning.concerns(value):
        return value
    return pruning.of(value, tuple(denial.mask for denial in denials), tuple(denial.text_mask for denial in denials))


class _TooMany(Exception): ...


class _Pruning:
    """The pruning of the strings of one answer."""

    def __init__(self, denials: Sequence[Denial], in_prose: InProse) -> None:
        self._denials = denials
        self._holds_more: Callable[[str], bool] = holds_object if in_prose == "prune" else holds_brace
        self._prunes_prose = in_prose == "prune"
        self._left = MAX_JSON_TEXTS
        self._joined: dict[tuple[_Masks, _Masks], _Masks] = {}

    def concerns(self, value: Json) -> bool:
        todo: list[Json] = [value]
        while todo:
            part = todo.pop()
            if isinstance(part, str):
                if begins_like_json(part) or self._holds_more(part):
                    return True
            elif is_object(part):
                todo += part.values()
            elif is_array(part):
                todo += part
        return False

    def of(self, value: Json, masks: _Masks, around: _Masks) -> Json:
        """The value with its strings pruned; `around` are the masks of all places above, where a path may begin too."""
        root: list[Any] = [None]
        # An explicit stack: values may be of any depth.
        todo: list[tuple[Any, Any, Json, _Masks, _Masks]] = [(root, 0, value, masks, around)]
        while todo:
            into, key, value, masks, around = todo.pop()
            if isinstance(value, str):
                into[key] = self._pruned(value, masks, around)
            elif is_object(value):
                members: dict[str, Any] = dict.fromkeys(value)
                around = self._join(around, masks)
                for name, member in reversed(value.items()):
                    todo.append((members, name, member, tuple(mask.child(name) for mask in masks), around))
                into[key] = members
            elif is_array(value):
                elements: list[Any] = [None] * len(value)
                below = tuple(mask.elem for mask in masks)
                todo += [(elements, at, value[at], below, around) for at in range(len(value) - 1, -1, -1)]
                into[key] = elements
            else:
                into[key] = value
        return root[0]

    def _pruned(self, text: str, masks: _Masks, around: _Masks) -> str:
        in_prose = self._pruned_prose if self._prunes_prose else _withheld
        prune = self._pruned_json if begins_like_json(text) else in_prose if self._holds_more(text) else None
        if prune is None:
            return text
        try:
            self._count()
            return prune(text, self._join(around, masks))
        except _TooMany:
            return TOO_MANY
        except NotJson:
            return WITHHELD

    def _pruned_json(self, text: str, masks: _Masks) -> str:
        # Each level of text within text escapes its quotes again, so levels are few.
        value = parse(text)
        if isinstance(value, str):
            pruned = self._pruned(value, masks, masks)
            return text if pruned is value else compact(pruned)
        # Written again even where nothing was denied: white space would show that.
        return self._without_denied(value, masks)

    def _pruned_prose(self, text: str, masks: _Masks) -> str:
        # An object in prose may be an element.
        masks = self._join(masks, tuple(mask.elem for mask in masks))
        found: list[tuple[int, int, str]] = []
        for start, end, value in objects_in(text):
            self._count()
            found.append((start, end, self._without_denied(value, masks)))
        ends = [0, *(end for _, end, _ in found)]
        starts = [*(start for start, _, _ in found), len(text)]
        between = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        if holds_member("".join(between)):
            raise NotJson("an object is not strict, or begins before the text")
        return "".join(chain.from_iterable(zip(between, [*(pruned for *_, pruned in found), ""], strict=True)))

    def _without_denied(self, value: Json, masks: _Masks) -> str:
        for denial, mask in zip(self._denials, masks, strict=True):
            value = denial.of(value, mask)
        return compact(self.of(value, masks, masks))

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _TooMany

    def _join(self, some: _Masks, others: _Masks) -> _Masks:
        key = (some, others)
        if key not in self._joined:
            self._joined[key] = tuple(map(_either, zip(some, others, strict=True)))
        return self._joined[key]


def _withheld(_text: str, _masks: _Masks) -> str:
    return WITHHELD
