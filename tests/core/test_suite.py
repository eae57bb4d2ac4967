"""The laws on the JSON Schema Test Suite: every keyword, in every odd corner."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from fuzz.judges import JUDGES
from fuzz.laws import Subject
from fuzz.requests import random_request
from fuzz.schemas import Draft, has_circle

from .corpus import rows
from .test_github import names

REQUESTS = 12

@pytest.mark.parametrize("judge", JUDGES)
def test_no_projection_of_a_valid_instance_of_the_suite_is_unsound(judge: str):
    """DERIVATION.md, "Laws": the JSON Schema Test Suite."""
    counts: Counter[str] = Counter()
    broken: list[object] = []
    rng = Random(7)
    for row in rows("jsts.jsonl.gz"):
        draft: Draft = "7" if row["draft"] == "draft7" else "2020-12"
        if not row["valid"] or has_circle(row["schema"], draft):
            continue
        subject = Subject(row["schema"], draft, JUDGES[judge])
        value = row["value"]
        if subject.valid is None or not subject.valid(value):
            counts["not accepted by this validator"] += 1
            continue
        found = list(subject.own())
        known = tuple(sorted(set(names(value)))) or ("foo", "bar")
        for _ in range(REQUESTS):
            request = random_request(rng, [value], known)
            asked, laws = subject.asked(request, rng)
            found += [*laws, *subject.broken(asked, value, rng)]
            counts["pairs"] += 1
            if found:
                broken.append((row["file"], row["group"], row["test"], found, request))
                found = []
                break
    print(counts)
    assert broken == []
