"""The laws on the JSON Schema Test Suite: every keyword, in every odd corner."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import pytest

from fuzz.judges import JUDGES
from fuzz.laws import Subject
from fuzz.requests import random_request
from fuzz.schemas import SCHEMA_OF, Draft, has_circle

from .corpus import rows
from .test_github import names


@pytest.mark.parametrize(("every", "requests"), [(8, 1), pytest.param(1, 12, marks=pytest.mark.deep)])
@pytest.mark.parametrize("judge", JUDGES)
def test_every_law_holds_for_every_valid_instance_of_the_suite(judge: str, every: int, requests: int):
    """DERIVATION.md, "Laws": the JSON Schema Test Suite. Formats count only where the validator asserts them.

    `requests` are for the valid instance of every eighth row or of every one, in each mode.
    """
    pairs, broken = 0, list[Any]()
    rng = Random(7)
    for row in islice(rows("jsts.jsonl.gz"), 0, None, every):
        draft: Draft = "7" if row["draft"] == "draft7" else "2020-12"
        schema, value = row["schema"], row["value"]
        if isinstance(schema, dict):
            # The suite's files stand in a folder for their draft; a document on its own must say it.
            schema = {"$schema": SCHEMA_OF[draft], **schema}
        if not row["valid"] or has_circle(schema, draft):
            continue
        subject = Subject(schema, draft, JUDGES[judge])
        if subject.valid is None or not subject.valid(value):
            # A remote reference, or a format that this validator reads otherwise.
            continue
        found = list(subject.own())
        known = tuple(sorted(set(names(value)))) or ("foo", "bar")
        for mode in ("include", "exclude") * requests:
            request = random_request(rng, [value], known, mode)
            asked, laws = subject.asked(request, rng)
            found += [*laws, *subject.broken(asked, value, rng)]
            pairs += 1
        if found:
            broken.append((row["draft"], row["file"], row["group"], row["test"], found))
    assert broken == []
    assert pairs > 4_000 * requests // every
