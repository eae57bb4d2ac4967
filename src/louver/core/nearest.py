"""Names and options in errors: what there is, and what was probably meant (`calculater` -> `calculator`)."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Final

from louver.errors import LouverError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Names that are compared letter by letter, which takes a quarter of a millisecond each.
_LOOKED_AT: Final = 100

# Known names that an error lists.
_SHOWN: Final = 20

# Characters of a name that are compared.
_LONGEST: Final = 100


def nearest(wanted: str, names: Iterable[str], most: int = 3) -> list[str]:
    """At most `most` names that are similar to `wanted`, the most similar first."""
    # Imported lazily: most names are known, and it takes 200 kB of memory.
    from difflib import get_close_matches

    wanted = wanted[:_LONGEST]
    likely = nlargest(_LOOKED_AT, names, key=lambda name: _alike(wanted, name))
    return get_close_matches(wanted, likely, most)


def meant(near: Sequence[str], otherwise: str) -> str:
    """The end of an error about a name: a question with the similar names, or `otherwise` if there are none."""
    return f"did you mean {' or '.join(map(repr, near))}?" if near else otherwise


def instead(wanted: str, names: Iterable[str]) -> str:
    """The end of an error about an unknown name: the similar names, and the known ones."""
    known = list(names)
    near = nearest(wanted, known)
    shown = ", ".join(map(repr, known[:_SHOWN])) or "none"
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return f"{meant(near, '')} There are {shown}{more}" if near else f"there are {shown}{more}"


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    near = nearest(wanted, names, 1)
    return f"; {meant(near, '')}" if near else ""


def _alike(one: str, other: str) -> int:
    return sum(_shared(*pair) for pair in ((one, other), (one[::-1], other[::-1])))


def _shared(one: str, other: str) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def check_choice(option: str, value: object, choices: Sequence[object]) -> None:
    """Raise `LouverError` unless the value of `option` is one of `choices`."""
    if value not in choices:
        raise LouverError(f"{option!r} is one of {', '.join(map(repr, choices))}, not {value!r}")
