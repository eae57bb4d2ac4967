"""Our validator and an independent one on every projected schema of the JSON Schema Test Suite: the same verdict."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from fuzz.judges import python
from fuzz.laws import Subject
from fuzz.requests import random_request
from fuzz.schemas import SCHEMA_OF, Draft
from louver.core.project import project
from louver.core.schema.validate import validator

from .corpus import rows
from .test_github import names

DIALECT = "Python's `re` reads classes, escapes and code points otherwise than ECMA 262, which `jsonschema-rs` follows"

DIFFER = {
    ("optional/ecmascript-regex.json", None): DIALECT,
    ("pattern.json", "pattern with Unicode property escape requires unicode mode"): DIALECT,
    ("patternProperties.json", "patternProperties with Unicode property escape"): DIALECT,
}
"""File and group (`None`: any) of the suite where the two differ on a projected schema, and why."""


@pytest.mark.parametrize(("every", "requests"), [(8, 1), pytest.param(1, 4, marks=pytest.mark.deep)])
def test_an_independent_validator_says_the_same_of_every_projected_schema_of_the_suite(every: int, requests: int):
    """Ours: clients have validators of their own."""
    rng = Random(11)
    compared, found = 0, set[tuple[str, str | None]]()
    for row in islice(rows("jsts.jsonl.gz"), 0, None, every):
        draft: Draft = "7" if row["draft"] == "draft7" else "2020-12"
        schema, value = row["schema"], row["value"]
        if isinstance(schema, dict):
            schema = {"$schema": SCHEMA_OF[draft], **schema}
        subject = Subject(schema, draft, lambda _schema, _draft: None)
        known = tuple(sorted(set(names(value)))) or ("foo", "bar")
        for _ in range(requests):
            asked, _ = subject.asked(random_request(rng, [value], known), rng)
            ours, other = validator(asked.derived.schema).is_valid, python(asked.derived.schema, "2020-12")
            for instance in (project(value, asked.mask), value):
                compared += 1
                if ours(instance) != other(instance):
                    group = (row["file"], row["group"])
                    found.add(group if group in DIFFER else (row["file"], None))
    assert found <= DIFFER.keys()
    assert compared > 6_250 * requests // every
