r"""JSON within strings: a denied field is taken out there too, or the string is withheld.

    deny **.ssn   {"note": "{\"id\": 1, \"ssn\": 2}"}      ->   {"note": "{\"id\":1}"}
                  {"note": "```json\n{\"ssn\": 2}\n```"}   ->   {"note": "[withheld: ...]"}
                  {"note": "200 OK: {\"ssn\": 2}"}         ->   the same: free text is not searched

A path leads through a string, and what a path names at a place it also names in all JSON text below. All takes linear
time, whatever the text. Source: TRUST.md, "Linear in the text", rows 4 and 7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import Json, NotJson, compact, compact_bytes, is_array, is_object, parse
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.policy.hiding import hidden_from
from louver.core.policy.masking import HIDDEN
from louver.core.policy.name_variants import without_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MAX_JSON_TEXTS = 50_000
"""Strings of JSON that a policy looks into in one answer: some 1 s. Further ones are withheld."""


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


def _may_hold_json(text: str) -> bool:
    return "{" in text or "[" in text or "\\" in text


def may_have_json_texts(value: Json) -> bool:
    """Whether a string of the value may begin like JSON: none does that begins with a word. No string is looked at."""
    try:
        text = b":" + compact_bytes(value).translate(_KINDS)
    except RecursionError:
        return True
    return b':"-' in text or b':":' in text


# Of JSON without white space: parts of words, quotes, what stands before a string, all else.
_KINDS: Final = bytes(
    ord({'"': '"', ":": ":", ",": ":", "[": ":"}.get(each, "a" if re.fullmatch("[A-Za-z0-9_]", each) else "-"))
    for each in map(chr, range(256))
)


# Withholding

WITHHELD: Final = "[withheld: the text begins like JSON and is not strict JSON: what of it may be seen is not known]"
TOO_MANY: Final = f"[withheld: more than {MAX_JSON_TEXTS} texts of the answer are JSON, and this is a further one]"


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that takes fields out of a value, or replaces them."""

    put: Callable[[Json], Json] | None  # makes the replacement of what it names
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


def prune_strings(value: Json, denials: Sequence[Denial]) -> Json:
    """The value, to which the denials were applied, with their effect on the JSON in its strings."""
    if not denials:
        return value
    pruning = _Pruning(denials)
    if not pruning.concerns(value):
        return value
    return pruning.of(value, tuple(denial.mask for denial in denials), tuple(denial.text_mask for denial in denials))


class _Pruning:
    """The pruning of the strings of one answer."""

    def __init__(self, denials: Sequence[Denial]) -> None:
        self._denials = denials
        self._left = MAX_JSON_TEXTS
        self._joined: dict[tuple[_Masks, _Masks], _Masks] = {}

    def concerns(self, value: Json) -> bool:
        if not may_have_json_texts(value):
            return False
        todo: list[Json] = [value]
        while todo:
            part = todo.pop()
            if isinstance(part, str):
                if begins_like_json(part):
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
        if not begins_like_json(text):
            return text
        if self._left == 0:
            return TOO_MANY
        self._left -= 1
        try:
            return self._pruned_json(text, self._join(around, masks))
        except NotJson:
            return WITHHELD

    def _pruned_json(self, text: str, masks: _Masks) -> str:
        # Each level of text within text escapes its quotes again, so levels are few.
        value = parse(text)
        if isinstance(value, str):
            pruned = self._pruned(value, masks, masks)
            return text if pruned is value else compact(pruned)
        for denial, mask in zip(self._denials, masks, strict=True):
            value = hidden_from(value, mask, denial.put)
        # Written again even where nothing was denied: white space would show that.
        return compact(self.of(value, masks, masks))

    def _join(self, some: _Masks, others: _Masks) -> _Masks:
        key = (some, others)
        if key not in self._joined:
            self._joined[key] = tuple(map(_either, zip(some, others, strict=True)))
        return self._joined[key]
