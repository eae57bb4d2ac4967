"""Where the members of an object are in a JSON text that has been read, and has no comments."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.catalogue.files.line_numbers import Place

_SPACE: Final = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class TextMember:
    """A member of a JSON object: its key, and where it and its value are."""

    key: str
    start: int
    value: int
    end: int


def members_at(text: str, start: int) -> Iterator[TextMember]:
    """The members of the object that begins at `start`."""
    decoder = json.JSONDecoder()
    at = after_space(text, start + 1)
    while text[at] == '"':
        key, end = decoder.raw_decode(text, at)
        value = after_space(text, after_space(text, end) + 1)
        _, value_end = decoder.raw_decode(text, value)
        yield TextMember(key, at, value, value_end)
        at = after_space(text, value_end)
        at = after_space(text, at + 1) if text[at] == "," else at


def after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def span(text: str, place: Place) -> tuple[int, int]:
    """Where the value at a place begins and ends."""
    start = after_space(text, 0)
    end = len(text)
    for key in place:
        member = next(member for member in members_at(text, start) if member.key == key)
        start, end = member.value, member.end
    return start, end
