"""Options with a fixed set of values: `listing="omit"`, `disclosure="advise"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.errors import LouverError

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_choice(option: str, value: object, choices: Sequence[object]) -> None:
    """Raise `LouverError` unless the value of `option` is one of `choices`."""
    if value not in choices:
        raise LouverError(f"{option!r} is one of {', '.join(map(repr, choices))}, not {value!r}")
