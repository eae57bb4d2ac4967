"""Names that were probably meant, the nearest first: `calculater` -> `calculator`."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LOOKED_AT: Final = 100
"""Names that are compared letter by letter, which takes a quarter of a millisecond each."""

_SHOWN: Final = 20
"""Names that an error tells of those that there are."""

_LONGEST: Final = 100
"""Characters of a name that are compared."""


def nearest(said: str, names: Iterable[str], most: int = 3) -> list[str]:
    """At most so many names that are like what was said."""
    # Imported only now: most names are known, and it takes 200 kB of memory.
    from difflib import get_close_matches

    said = said[:_LONGEST]
    likely = nlargest(_LOOKED_AT, names, key=lambda name: _alike(said, name))
    return get_close_matches(said, likely, most)


def meant(near: Sequence[str], otherwise: str) -> str:
    """The end of an error about a name: what may have been meant, or else what to do."""
    return f"did you mean {' or '.join(map(repr, near))}?" if near else otherwise


def instead(said: str, names: Iterable[str]) -> str:
    """The end of an error about a name that is not there: which was probably meant, and which there are."""
    known = list(names)
    near = nearest(said, known)
    shown = ", ".join(map(repr, known[:_SHOWN])) or "none"
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return f"{meant(near, '')} There are {shown}{more}" if near else f"there are {shown}{more}"


def did_you_mean(said: str, names: Iterable[str]) -> str:
    """What is added to an error about a name: what was probably meant, if anything is near."""
    near = nearest(said, names, 1)
    return f"; {meant(near, '')}" if near else ""


def _alike(one: str, other: str) -> int:
    """The letters that two names have in common at both ends."""
    return sum(_shared(*pair) for pair in ((one, other), (one[::-1], other[::-1])))


def _shared(one: str, other: str) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
