"""Pairs of a schema and a value from GitHub's public REST description, in ../shared/corpus.

{"name": "issues/list/200/default", "schema": {...}, "value": [...]}
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.core.json import canonical
from louver.core.paths.path import FieldPath

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from louver.core.json import Json

FILE = Path(__file__).parents[2] / "shared" / "corpus" / "github.pairs.jsonl.gz"
TYPICAL_BYTES = 5_000
"""Size of a typical schema."""


@cache
def pairs() -> tuple[dict[str, Any], ...]:
    """All pairs.

    Raises:
        FileNotFoundError: The corpus is not beside the repository.
    """
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def pair(name: str) -> dict[str, Any]:
    """The pair of that name."""
    return next(pair for pair in pairs() if pair["name"] == name)


def typical() -> list[dict[str, Any]]:
    """The twenty pairs whose schemas are nearest to `TYPICAL_BYTES`."""
    return sorted(pairs(), key=lambda pair: abs(len(canonical(pair["schema"])) - TYPICAL_BYTES))[:20]


def some_paths(rng: Random, value: Json, most: int) -> tuple[FieldPath, ...]:
    """Some of the paths that lead to a member of `value`, `most` of them."""
    names = sorted(set(_paths(value, ())))
    return tuple(FieldPath(path) for path in rng.sample(names, min(most, len(names))))


def _paths(value: Json, before: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield (*before, name)
            yield from _paths(member, (*before, name))
    elif isinstance(value, list):
        for element in value[:3]:
            yield from _paths(element, before)
