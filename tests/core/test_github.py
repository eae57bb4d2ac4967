"""The laws on real data: GitHub's public REST description, 787 schemas with a value each."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from fuzz.judges import JUDGES
from fuzz.laws import Asked, Subject, text
from fuzz.requests import random_request
from louver.core.project import project

from .corpus import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = 8
"""The pairs are cut into so many, by their numbers."""


def names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for below in value.values() if isinstance(value, dict) else value:
            yield from names(below)


@pytest.mark.parametrize(
    ("part", "requests"), [(0, 4), *(pytest.param(part, 60, marks=pytest.mark.deep) for part in range(PARTS))]
)
def test_every_request_of_a_github_answer_is_sound_tight_and_listed(part: int, requests: int):
    """DERIVATION.md, "Laws": sound, tight, and `relax(S)` accepts every projection, on real pairs."""
    pairs = narrowed = 0
    judge = next(iter(JUDGES.values()))
    chosen = [row for number, row in enumerate(rows("github.pairs.jsonl.gz")) if number % PARTS == part]
    assert len(chosen) == len(range(part, 787, PARTS))
    for row in chosen:
        subject = Subject(row["schema"], "2020-12", judge)
        value = row["value"]
        assert subject.valid is not None
        assert subject.valid(value), row["name"]
        assert list(subject.own()) == []
        rng = Random(row["name"])
        known = tuple(sorted(set(names(value)))) or ("id",)
        for number in range(requests):
            request = random_request(rng, [value], known, "include" if number % 2 else "exclude")
            # The laws of schema and request alone cost the most, and are proved elsewhere too.
            asked, broken = (Asked(subject, request), []) if number % 25 else subject.asked(request, rng)
            broken += subject.broken(asked, value, rng)
            assert (broken, request) == ([], request), row["name"]
            assert asked.derived.precision == "exact", row["name"]
            pairs += 1
            narrowed += text(project(value, asked.mask)) != text(value)
    assert pairs == len(chosen) * requests
    assert narrowed > pairs * 0.8
