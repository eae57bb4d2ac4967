"""Texts about a tool as they may be shown: without characters that steer what is seen, and without denied names.

::

    "Get a user. The field ssn holds ..."   without ssn:   "Get a user."

Control, bidirectional and tag characters let a text say something else than it shows. A sentence that tells a name
which is denied is left out whole. Source: PRIVACY.md, P6, P7 and P18; that sentences are the unit is ours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.schema.references import HOLDING, HOLDING_NAMED

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.core.policy.redacted_schema import Names

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_SHOWN = ("title", "description")
"""Keywords of a schema whose text models read."""

_VALID = frozenset(
    "type enum const required dependentRequired pattern format contentEncoding contentMediaType x-mcp-header"
    " $ref $dynamicRef $recursiveRef $id id $anchor $dynamicAnchor $schema $vocabulary".split()
)
"""Keywords that hold no schemas, and say what is valid, where a schema stands, or how an argument is sent."""


def plain(text: str) -> str:
    """A text without characters that steer what is seen."""
    return _UNSEEN.sub("", text)


def untold(text: str, names: Names) -> str:
    """Likewise, without the sentences that tell one of the names."""
    text = plain(text)
    if not names.are_told(text):
        return text
    left = " ".join(sentence for sentence in _SENTENCES.split(text) if not names.are_told(sentence)).strip()
    # A name may hold what ends a sentence.
    return "" if names.are_told(left) else left


def untold_schema(schema: Json, names: Names) -> Json:
    """An input schema that tells none of the names but by what it takes."""
    if is_array(schema):
        return [untold_schema(each, names) for each in schema]
    if not is_object(schema):
        return schema
    shown: dict[str, Any] = {}
    for keyword, argument in schema.items():
        if keyword in _SHOWN and isinstance(argument, str):
            if said := untold(argument, names):
                shown[keyword] = said
        elif keyword in HOLDING:
            shown[keyword] = untold_schema(argument, names)
        elif keyword in HOLDING_NAMED and is_object(argument):
            shown[keyword] = {name: untold_schema(each, names) for name, each in argument.items()}
        elif keyword in _VALID or not names.are_in(argument):
            shown[keyword] = argument
    return shown
