"""Both validators on every projected schema of the JSON Schema Test Suite: the same verdict."""

from __future__ import annotations

from random import Random

import pytest

from fuzz.laws import Subject
from fuzz.requests import random_request
from fuzz.schemas import SCHEMA_OF, Draft
from louver.core.project import project
from louver.core.schema.validate import validator

from .corpus import rows
from .test_github import names

DIALECT = "Python's `re` reads classes, escapes and code points otherwise than ECMA 262, which `jsonschema-rs` follows"
NOT_RUN = "the pattern is not plainly linear, so it is not run by Python's `re`, and the Python backend is looser"

DIFFER = {
    ("optional/ecmascript-regex.json", None): DIALECT,
    ("optional/non-bmp-regex.json", None): DIALECT,
    ("pattern.json", "pattern with Unicode property escape requires unicode mode"): DIALECT,
    ("patternProperties.json", "patternProperties with Unicode property escape"): DIALECT,
    ("patternProperties.json", "patternProperties validates properties matching a regex"): NOT_RUN,
    ("patternProperties.json", "patternProperties with boolean schemas"): NOT_RUN,
    ("unevaluatedProperties.json", "dynamic evalation inside nested refs"): NOT_RUN,
}
"""File and group (`None`: any) of the suite where the two differ on a projected schema, and why."""


@pytest.mark.parametrize("requests", [1, pytest.param(4, marks=pytest.mark.deep)])
def test_both_validators_say_the_same_of_every_projected_schema_of_the_suite(requests: int):
    """Ours: which extra is installed changes the speed of an answer and nothing else."""
    rng = Random(11)
    compared, found = 0, set[tuple[str, str | None]]()
    for row in rows("jsts.jsonl.gz"):
        draft: Draft = "7" if row["draft"] == "draft7" else "2020-12"
        schema, value = row["schema"], row["value"]
        if isinstance(schema, dict):
            schema = {"$schema": SCHEMA_OF[draft], **schema}
        subject = Subject(schema, draft, lambda _schema, _draft: None)
        known = tuple(sorted(set(names(value)))) or ("foo", "bar")
        for _ in range(requests):
            asked, _ = subject.asked(random_request(rng, [value], known), rng)
            backends = [validator(asked.derived.schema, backend) for backend in ("jsonschema", "jsonschema-rs")]
            for instance in (project(value, asked.mask), value):
                python, rust = (backend.is_valid(instance) for backend in backends)
                compared += 1
                if python != rust:
                    group = (row["file"], row["group"])
                    found.add(group if group in DIFFER else (row["file"], None))
    assert found <= DIFFER.keys()
    assert compared > 6_250 * requests
