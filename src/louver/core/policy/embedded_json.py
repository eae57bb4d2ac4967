r"""JSON within strings: a denied field is taken out there too, or the string is withheld.

    deny **.ssn   {"note": "{\"id\": 1, \"ssn\": 2}"}      ->   {"note": "{\"id\":1}"}
                  {"note": "```json\n{\"ssn\": 2}\n```"}   ->   {"note": "[withheld: ...]"}

Paths apply as if there were no string, and also from the root of the JSON. Text that begins like JSON and is not strict
JSON is withheld; prose stays, with any JSON in its midst. Source: TRUST.md, "Unreadable is not harmless".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import Json, NotJson, compact, is_array, is_object, parse
from louver.core.policy.name_variants import without_invisible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from louver.core.paths.mask import Mask

WITHHELD: Final = "[withheld: the text begins like JSON and is not strict JSON, so what of it may be seen is not known]"

# What parsers of JSON and of its dialects read as a value without names.
_SCALAR = r"(?:[+-]?\d[\w.+-]*+|true|false|null|[+-]?(?:NaN|nan|Infinity|inf)|undefined|None|True|False)"
_SPACE = r"[\s\x00-\x1f\x7f]*+"

# Prose may also begin with a bracket: `[Bug] ...`, `[1] ...`, `[ ] ...`, `[name](url)`, `{name} ...`.
_BEGINNING: Final = re.compile(
    rf"""(?>
        [^\w{{\[\\`~]++                                             # white space, marks, quotes
      | [`~]++[\w+.\#-]*+(?:[^\n{{\[\\]*+\n)?+                      # a code fence
      | \[{_SPACE}(?:{_SCALAR}{_SPACE}(?:,{_SPACE}{_SCALAR}{_SPACE})*+)?+\](?!{_SPACE}\Z)
      | \{{[\w\x20.-]++\}}                                          # a placeholder
    )*+
    (?: \{{ | (?<=["'])\\ | \[[\s\x00-\x1f\x7f\[]*+(?:["'{{\],]|/[/*]|{_SCALAR}{_SPACE}[,\]]) )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that takes fields out of a value, or replaces them."""

    of: Callable[[Json, Mask], Json]
    mask: Mask  # of the value
    text_mask: Mask  # of the JSON in any string


# The masks that apply at a place, for each denial.
_Masks = tuple[tuple["Mask", ...], ...]


def prune_strings(value: Json, denials: Sequence[Denial]) -> Json:
    """The value, to which the denials were applied, with their effect on the JSON in its strings."""
    if not denials or not _holds_json(value):
        return value
    return _pruned(value, denials, tuple((denial.mask,) for denial in denials))


def begins_like_json(text: str) -> bool:
    """Whether a text begins as an object, or as an array that may hold one, does in JSON or a dialect of it."""
    if text[:1].isalnum() and text[0].isascii():
        return False
    return _BEGINNING.match(text if text.isascii() else without_invisible(text)) is not None


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


def _pruned(value: Json, denials: Sequence[Denial], masks: _Masks) -> Json:
    root: list[Any] = [None]
    # An explicit stack: values may be of any depth.
    todo: list[tuple[Any, Any, Json, _Masks]] = [(root, 0, value, masks)]
    while todo:
        into, key, value, masks = todo.pop()
        if isinstance(value, str) and begins_like_json(value):
            into[key] = _pruned_text(value, denials, masks)
        elif is_object(value):
            members: dict[str, Any] = dict.fromkeys(value)
            todo += [(members, name, member, _member(masks, name)) for name, member in value.items()]
            into[key] = members
        elif is_array(value):
            elements: list[Any] = [None] * len(value)
            below = tuple(_inner(mask.elem for mask in each) for each in masks)
            todo += [(elements, position, element, below) for position, element in enumerate(value)]
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
            masks = tuple(_inner((*each, denial.text_mask)) for each, denial in zip(masks, denials, strict=True))
            for denial, each in zip(denials, masks, strict=True):
                for mask in each:
                    value = denial.of(value, mask)
        # Written anew even where nothing was denied: white space would show that.
        written = compact(_pruned(value, denials, masks))
        written.encode()
    except (NotJson, UnicodeEncodeError):
        return WITHHELD
    return written


def _member(masks: _Masks, name: str) -> _Masks:
    return tuple(_inner(mask.child(name) for mask in each) for each in masks)


def _inner(masks: Iterable[Mask]) -> tuple[Mask, ...]:
    return tuple(dict.fromkeys(mask for mask in masks if mask.is_inner))
