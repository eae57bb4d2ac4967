"""Formats: a text written shorter, so that it says what a reader needs of it.

By the name under which a view asks for them::

    minute      2025-01-05T14:32:05.882Z     2025-01-05T14:32
                2025-01-05T14:32:05+02:00    2025-01-05T14:32+02:00
    date        2025-01-05T14:32:05.882Z     2025-01-05
    localpart   jdoe@example.com             jdoe

Times are as they are written, never converted. `minute` drops the offset only where it is zero or
absent, `date` always. A text of another form stays as it is, so of a formatted text hardly more
can be promised than that it is one, and no longer than it was.

Source: 001 pattern 4; which texts have the form is ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_OFFSET = rf"[Zz]|[+-]{_MINUTE}"
_TIME = re.compile(rf"({_DATE})[Tt ]({_MINUTE}):(?:[0-5][0-9]|60)(?:\.[0-9]+)?({_OFFSET})?")
"""Date and time of RFC 3339; many servers leave its offset out."""

_ADDRESS = re.compile(r"([^\s<>]+)@[^\s<>@]+")
"""An address alone: without the name and the brackets that can stand around it."""

_ZERO = ("Z", "+00:00", "-00:00")


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write texts shorter.

    Args:
        write: The text in this format; itself, if it has not the form.
        least: Of a text with so many characters at least so many are left.
    """

    write: Callable[[str], str]
    least: int


def _minute(text: str) -> str:
    found = _TIME.fullmatch(text)
    if found is None:
        return text
    date, minute, offset = found.groups(default="Z")
    return f"{date}T{minute}{'' if offset.upper() in _ZERO else offset}"


def _date(text: str) -> str:
    found = _TIME.fullmatch(text)
    return text if found is None else found[1]


def _localpart(text: str) -> str:
    found = _ADDRESS.fullmatch(text)
    return text if found is None else found[1]


FORMATS = {"minute": Format(_minute, 16), "date": Format(_date, 10), "localpart": Format(_localpart, 1)}
"""The formats by name."""
