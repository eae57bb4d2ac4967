"""Text and names for payloads: English words in a seeded order, cut to an exact length."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

WORDS = """the when server client request answer fails with an empty list after second call because timeout is read
from wrong place and then value of field user name does not match what we expect in log file this happens only on
large pages where more than one worker writes to same table should be retried steps to reproduce open page click
button wait see error version latest main branch please add test for case before release thanks""".split()


def text(rng: Random, length: int) -> str:
    """Words, `length` characters of them."""
    words: list[str] = []
    size = 0
    while size < length:
        words.append(rng.choice(WORDS))
        size += len(words[-1]) + 1
    return " ".join(words)[:length]


def date(rng: Random) -> str:
    """A time in 2025, as RFC 3339 writes it."""
    day = f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return f"{day}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}Z"
