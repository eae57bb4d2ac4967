"""Formats: texts written shorter, by the name that a view gives. Source: 001 pattern 4; which texts match is ours.

    minute      2025-01-05T14:32:05+02:00    2025-01-05T14:32+02:00
    date        2025-01-05T14:32:05.882Z     2025-01-05
    localpart   jdoe@example.com             jdoe

Times are never converted. `minute` drops an offset of zero. A text of another form stays unchanged.
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
# Date and time of RFC 3339; many servers leave its offset out.
_TIME = re.compile(rf"({_DATE})[Tt ]({_MINUTE}):(?:[0-5][0-9]|60)(?:\.[0-9]+)?({_OFFSET})?")

# A bare address: without a display name and brackets.
_ADDRESS = re.compile(r"([^\s<>]+)@[^\s<>@]+")

_ZERO = ("Z", "+00:00", "-00:00")


@dataclass(frozen=True, slots=True)
class Format:
    write: Callable[[str], str]
    least: int  # a text of at least so many characters keeps at least so many


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
