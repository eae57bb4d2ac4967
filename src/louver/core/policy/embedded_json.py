r"""JSON within strings: a denied field is taken out there too, or the string is withheld.

    deny **.ssn   {"note": "{\"id\": 1, \"ssn\": 2}"}      ->   {"note": "{\"id\":1}"}
                  {"note": "```json\n{\"ssn\": 2}\n```"}   ->   {"note": "[withheld: ...]"}

A path leads through a string, and what a path names at a place it also names in all JSON text below. Text that begins
like JSON and is not strict JSON is withheld; prose stays, with any JSON in its midst. Source: TRUST.md, rows 4 and 7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import Json, NotJson, compact, is_array, is_object, parse
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.policy.masking import HIDDEN
from louver.core.policy.name_variants import without_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

WITHHELD: Final = "[withheld: the text begins like JSON and is not strict JSON, so what of it may be seen is not known]"

# What parsers of JSON and of its dialects read as a value without names.
_SCALAR = r"(?:[+-]?\.?\d[\w.+-]*+|true|false|null|[+-]?(?:NaN|nan|Infinity|inf)|undefined|None|True|False)"
_SPACE = r"[\s\x00-\x1f\x7f]*+"

# What may stand before JSON. Prose may also begin with a bracket:
# `[Bug] ...`, `[1] ...`, `[ ] ...`, `[name](url)`, `{name} ...`.
_BEFORE: Final = re.compile(
    rf"""(?>
        //[\x20\t]*+(?=\w)[^\n\r\u2028\u2029]*+                       # a comment, whose words are not looked at
      | /\*++\s*+(?=\w)(?:[^*]|\*(?!/))*+\*/
      | [^\w{{\[\\`~/]++ | /                                        # white space, marks, quotes
      | \[{_SPACE}(?:{_SCALAR}{_SPACE}(?:,{_SPACE}{_SCALAR}{_SPACE})*+)?+\](?!{_SPACE}\Z)
      | \{{[\w\x20.-]++\}}                                          # a placeholder
    )++
    | (?P<fence>[`~]++[\w+.\#-]*+)                                  # of code; the rest of its line may be a title
    """,
    re.VERBOSE,
)
_TITLE_END: Final = re.compile(r"[\n{\[\\]")
_JSON: Final = re.compile(
    rf"""\{{ | (?<=["'])\\ | \[[\s\x00-\x1f\x7f\[(]*+(?:["'{{\],]|\\[nrtu"'/\\]|/[/*]|{_SCALAR}{_SPACE}[,\]])""",
    re.VERBOSE,
)


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
    return next(iter(found)) if len(found) == 1 else _Either(tuple(found))


def prune_strings(value: Json, denials: Sequence[Denial]) -> Json:
    """The value, to which the denials were applied, with their effect on the JSON in its strings."""
    if not denials or not _holds_json(value):
        return value
    masks = tuple(denial.mask for denial in denials)
    return _pruned(value, denials, masks, tuple(denial.text_mask for denial in denials))


def begins_like_json(text: str) -> bool:
    """Whether a text begins as an object, or as an array that may hold one, does in JSON or a dialect of it."""
    if text[:1].isalnum() and text[0].isascii():
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


def _holds_json(value: Json) -> bool:
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


def _pruned(value: Json, denials: Sequence[Denial], masks: _Masks, around: _Masks) -> Json:
    """The value with its strings pruned; `around` are the masks of all places above, where a path may begin too."""
    root: list[Any] = [None]
    # An explicit stack: values may be of any depth.
    todo: list[tuple[Any, Any, Json, _Masks, _Masks]] = [(root, 0, value, masks, around)]
    while todo:
        into, key, value, masks, around = todo.pop()
        if isinstance(value, str) and begins_like_json(value):
            into[key] = _pruned_text(value, denials, _joined(around, masks))
        elif is_object(value):
            members: dict[str, Any] = dict.fromkeys(value)
            around = _joined(around, masks)
            for name, member in value.items():
                todo.append((members, name, member, tuple(mask.child(name) for mask in masks), around))
            into[key] = members
        elif is_array(value):
            elements: list[Any] = [None] * len(value)
            below = tuple(mask.elem for mask in masks)
            todo += [(elements, position, element, below, around) for position, element in enumerate(value)]
            into[key] = elements
        else:
            into[key] = value
    return root[0]


def _pruned_text(text: str, denials: Sequence[Denial], masks: _Masks) -> str:
    # Each level of text within text escapes its quotes again, so levels are few.
    try:
        value = parse(text)
        if isinstance(value, str) and not begins_like_json(value):
            return text
        if not isinstance(value, str):
            for denial, mask in zip(denials, masks, strict=True):
                value = denial.of(value, mask)
        # Written again even where nothing was denied: white space would show that.
        written = compact(_pruned(value, denials, masks, masks))
        written.encode()
    except (NotJson, UnicodeEncodeError):
        return WITHHELD
    return written


def _joined(some: _Masks, others: _Masks) -> _Masks:
    return tuple(map(_either, zip(some, others, strict=True)))
