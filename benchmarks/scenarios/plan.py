"""Plans: what the first call of a request costs, and what every later one pays to find its plan.

    cold    the request is read, compiled, its closures made and its schema derived; 7 paths
    warm    the plan of a request that was made before is looked up

Absolute times, of this machine.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks import corpus
from benchmarks.measuring import timed
from benchmarks.payloads import PAYLOADS, SEED
from benchmarks.results import Group, Row
from louver import Projection, compile_projection
from louver.catalogue.entry import Entry
from louver.core import path
from louver.core.view import Views

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.scenarios import Setting
    from louver.core.json import Schema

PATHS = 7


def run(setting: Setting) -> Iterator[Group]:
    """Cold plans of all payloads and of twenty typical schemas of GitHub; one warm look-up."""
    for payload in PAYLOADS:
        work = partial(_cold, _request(payload.include), payload.schema)
        yield Group("cold", payload.name, 0, "s", None, timed({"louver": work}, setting.rounds))
    yield Group("cold", "20 of GitHub", 0, "s", None, (_github(setting),))
    yield Group("warm", "issues", 0, "s", None, timed({"louver": _warm()}, setting.rounds))


def _github(setting: Setting) -> Row:
    rng, works = Random(SEED), dict[str, Any]()
    for pair in corpus.typical():
        fields = [str(field) for field in corpus.some_paths(rng, pair["value"], PATHS)]
        works[pair["name"]] = partial(_cold, _request(fields), pair["schema"])
    return Row.over("louver", [row.median for row in timed(works, setting.rounds)])


def _request(fields: Any) -> dict[str, Any]:
    return {"mode": "include", "fields": list(fields)}


def _cold(request: dict[str, Any], schema: Schema) -> None:
    # Paths that were read before are remembered, and would not be read again.
    path._read.cache_clear()
    plan = compile_projection(Projection.from_wire(request), schema)
    plan({})
    _ = plan.schema


def _warm() -> partial[Any]:
    issues = PAYLOADS[0]
    entry = Entry({"name": "tool", "inputSchema": {}, "outputSchema": issues.schema}, Views())
    return partial(entry.plan, Projection.include(*issues.include))
