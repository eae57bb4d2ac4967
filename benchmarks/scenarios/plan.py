"""Plans: what making one costs, and what every later call pays to find it.

    cold                 the request is read, compiled, its closures made and its schema derived; 7 paths
    cold, in a server    likewise, and the validator made
    warm                 the plan of a request that was made before is looked up
    warm, in a server    likewise, and the request is read first

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
from louver.core.paths import path
from louver.core.projection import request as projection
from louver.core.projection.view import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.scenarios import Setting
    from louver.core.json import Schema

PATHS = 7


def run(setting: Setting) -> Iterator[Group]:
    """Cold plans of all payloads and of twenty typical schemas of GitHub; one warm look-up."""
    for payload in PAYLOADS:
        work = partial(_cold, _request(payload.include), payload.schema)
        yield Group("cold", payload.name, 0, "s", None, timed({"louver": work}, setting.rounds))
    yield Group("cold", "20 of GitHub", 0, "s", None, (_github(setting),))
    for case, work in _in_a_server().items():
        yield Group(case, "issues", 0, "s", None, timed({"louver": work}, setting.rounds))


def _github(setting: Setting) -> Row:
    rng, works = Random(SEED), dict[str, Any]()
    for pair in corpus.typical():
        fields = [str(field) for field in corpus.some_paths(rng, pair["value"], PATHS)]
        works[pair["name"]] = partial(_cold, _request(fields), pair["schema"])
    return Row.over("louver", [row.median for row in timed(works, setting.rounds)])


def _request(fields: Any) -> dict[str, Any]:
    return {"mode": "include", "fields": list(fields)}


def _cold(request: dict[str, Any], schema: Schema) -> None:
    _forget_paths()
    plan = compile_projection(Projection.from_wire(request), schema)
    plan({})
    _ = plan.schema


def _forget_paths() -> None:
    """Paths that were read before are remembered, and would not be read again."""
    path._read.cache_clear()
    projection._folded.cache_clear()


def _in_a_server() -> dict[str, Callable[[], Any]]:
    issues = PAYLOADS[0]
    request = _request(issues.include)
    tool = {"name": "tool", "inputSchema": {}, "outputSchema": issues.schema}
    entry = Entry(tool, Views())

    def cold() -> None:
        _forget_paths()
        Entry(tool, Views()).plan(Projection.from_wire(request))

    return {
        "warm": partial(entry.plan, Projection(include=[*issues.include])),
        "warm, in a server": lambda: entry.plan(Projection.from_wire(request)),
        "cold, in a server": cold,
    }
