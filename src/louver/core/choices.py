"""Options whose value is one of a few words: `listing="omit"`, `disclosure="advise"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.errors import LouverError

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_choice(option: str, said: object, choices: Sequence[object]) -> None:
    """See that an option has one of its words.

    Args:
        option: Its name.
        said: What it was set to.
        choices: The words that it can be.

    Raises:
        LouverError: It is none of them.
    """
    if said not in choices:
        raise LouverError(f"{option!r} is one of {', '.join(map(repr, choices))}, not {said!r}")
