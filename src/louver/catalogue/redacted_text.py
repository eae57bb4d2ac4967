"""Texts about a tool without invisible characters and without denied names.

    "Get a user. The field ssn holds ..."   without ssn:   "Get a user."

A sentence that contains a denied name is removed whole. Source: PRIVACY.md, P6, P7 and P18; whole sentences are ours.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, levels, members
from louver.core.schema.applicators import DEFINITIONS, HOLDING_SCHEMA_MAP, HOLDING_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.json import Json
    from louver.core.policy.revealed_names import Names

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")

# Keywords of a schema with text for models.
_SHOWN = ("title", "description")

# Keywords that hold arguments' own names, without which a tool cannot be called.
_ARGUMENTS = frozenset("type required dependentRequired x-mcp-header $schema $vocabulary".split())

# Keywords that refuse more where something within them accepts more, and those that go with them.
_TIGHTENED = (
    ("not",),
    ("if", "then", "else"),
    ("contains", "minContains", "maxContains"),
    ("unevaluatedItems",),
    ("unevaluatedProperties",),
)

# Keywords that apply to the members that no pattern takes.
_BESIDE_PATTERNS = ("additionalProperties", "unevaluatedProperties")

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


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


def redact_description(content: Mapping[str, Json], names: Names) -> dict[str, Json]:
    """A file of descriptions without the sentences, examples, notes and search terms that contain a denied name."""
    left = {key: _without(value, names) for key, value in content.items()}
    return {key: value for key, value in left.items() if value}


def redact_input_schema(schema: Json, names: Names) -> Json:
    """An input schema that shows denied names only as arguments; it accepts what it did, without the words it names."""
    renamed: dict[str, str] = {}
    for name in _definition_names(schema):
        if names.are_in_text(name):
            renamed[name] = f"definition{len(renamed) + 1}"
    return _InputRedaction(names, renamed).schema(schema)


def _without(value: Json, names: Names) -> Json:
    if isinstance(value, str):
        return redact_text(value, names)
    if is_array(value):
        return [each for each in value if not names.are_in(each)]
    return {key: each for key, each in members(value).items() if not names.are_in({key: each})}


class _InputRedaction:
    def __init__(self, names: Names, renamed: dict[str, str]) -> None:
        self._names = names
        self._renamed = renamed  # definitions

    def schema(self, schema: Json) -> Json:
        if is_array(schema):
            return [self.schema(each) for each in schema]
        if not is_object(schema):
            return schema
        shown: dict[str, Any] = {}
        for keyword, argument in schema.items():
            if (redacted := self._argument(keyword, argument)) is not _NOTHING:
                shown[keyword] = redacted
        for beside in _TIGHTENED:
            if any(shown.get(each) != schema.get(each) for each in beside):
                shown = {name: each for name, each in shown.items() if name not in beside}
        if members(shown.get("patternProperties")).keys() != members(schema.get("patternProperties")).keys():
            shown = {name: each for name, each in shown.items() if name not in _BESIDE_PATTERNS}
        if shown.get("oneOf") != schema.get("oneOf"):
            # More than one branch may accept a value now.
            either = {"anyOf": shown.pop("oneOf")}
            shown["allOf"] = [*shown["allOf"], either] if is_array(shown.get("allOf")) else [either]
        return shown

    def _argument(self, keyword: str, argument: Json) -> Json:
        """What is shown of a keyword's argument; `_NOTHING` drops the keyword."""
        if keyword in _SHOWN and isinstance(argument, str):
            return redact_text(argument, self._names) or _NOTHING
        if keyword in DEFINITIONS and is_object(argument):
            return {self._renamed.get(name, name): self.schema(each) for name, each in argument.items()}
        if keyword in _REFERENCES and isinstance(argument, str):
            argument = "/".join(self._renamed.get(part, part) for part in argument.split("/"))
        elif keyword == "patternProperties" and is_object(argument):
            return {
                name: self.schema(each) for name, each in argument.items() if not self._names.are_in_text(name)
            } or _NOTHING
        elif keyword in HOLDING_SCHEMAS:
            return self.schema(argument)
        elif keyword in HOLDING_SCHEMA_MAP and is_object(argument):
            return {name: self.schema(each) for name, each in argument.items()}
        elif keyword == "enum" and is_array(argument):
            return [each for each in argument if not self._names.are_in(each)] or _NOTHING
        return argument if keyword in _ARGUMENTS or not self._names.are_in(argument) else _NOTHING


_NOTHING: Any = object()


def _definition_names(schema: Json) -> list[str]:
    parts = chain.from_iterable(levels(schema))
    return [name for part in parts for keyword in DEFINITIONS for name in members(members(part).get(keyword))]
