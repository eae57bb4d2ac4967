"""Texts about a tool without invisible characters and without denied names.

    "Get a user. The field ssn holds ..."   without ssn:   "Get a user."

A sentence that contains a denied name is removed whole. Source: PRIVACY.md, P6, P7 and P18; whole sentences are ours.
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

# Keywords of a schema with text for models.
_SHOWN = ("title", "description")

# Keywords that hold no schemas, and say what is valid, where a schema is, or how an argument is sent.
_VALID = frozenset(
    "type enum const required dependentRequired pattern format contentEncoding contentMediaType x-mcp-header"
    " $ref $dynamicRef $recursiveRef $id id $anchor $dynamicAnchor $schema $vocabulary".split()
)


def plain(text: str) -> str:
    """The text without control, bidirectional and tag characters, which can disguise what it says."""
    return _UNSEEN.sub("", text)


def redact_text(text: str, names: Names) -> str:
    """The plain text without the sentences that contain a denied name."""
    text = plain(text)
    if not names.are_in_text(text):
        return text
    left = " ".join(sentence for sentence in _SENTENCES.split(text) if not names.are_in_text(sentence)).strip()
    # A name may itself contain a sentence end.
    return "" if names.are_in_text(left) else left


def redact_input_schema(schema: Json, names: Names) -> Json:
    """An input schema that shows denied names only by the arguments it accepts."""
    if is_array(schema):
        return [redact_input_schema(each, names) for each in schema]
    if not is_object(schema):
        return schema
    shown: dict[str, Any] = {}
    for keyword, argument in schema.items():
        if keyword in _SHOWN and isinstance(argument, str):
            if text := redact_text(argument, names):
                shown[keyword] = text
        elif keyword in HOLDING:
            shown[keyword] = redact_input_schema(argument, names)
        elif keyword in HOLDING_NAMED and is_object(argument):
            shown[keyword] = {name: redact_input_schema(each, names) for name, each in argument.items()}
        elif keyword in _VALID or not names.are_in(argument):
            shown[keyword] = argument
    return shown
