"""JSON text in, the kept JSON text out: what a gateway does, which never needs the value.

    include        names alone: what is left out is skipped
    exclude        all is read, and the rest written anew
    wildcard       likewise
    wide           100 of 1,000 members of each object, against code by hand

Against `orjson.loads` alone, which only reads the text and gives no answer: what skips the rest
can be faster than reading all of it. `orjson and plan` does not keep the spelling of numbers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import orjson

from benchmarks.measuring import Candidate, measured
from benchmarks.payloads import ISSUES, PAYLOADS
from benchmarks.peers import bytes_peers
from louver import Projection, compile_projection
from louver.core.json import compact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.payloads import Payload
    from benchmarks.results import Group
    from benchmarks.scenarios import Setting


def run(setting: Setting) -> Iterator[Group]:
    """Of all payloads; the peers, which need a model, of issues."""
    for payload in PAYLOADS:
        for size in setting.sizes("10 MB"):
            data = compact(payload.make(size)).encode()
            ways = _ways(payload, Projection.include(*payload.include), data)
            ways += bytes_peers(data) if payload is ISSUES else []
            yield measured("include", payload.name, size, ways, setting.rounds)
    for payload in PAYLOADS:
        for size in setting.sizes("1 MB"):
            data = compact(payload.make(size)).encode()
            ways = _ways(payload, Projection.exclude(*payload.exclude), data)
            yield measured("exclude", payload.name, size, ways, setting.rounds)
    for size in setting.sizes("1 MB"):
        data = compact(ISSUES.make(size)).encode()
        ways = _ways(ISSUES, Projection.include("items.*.login"), data)
        yield measured("wildcard", ISSUES.name, size, ways, setting.rounds)
    yield _wide(setting)


def _wide(setting: Setting) -> Group:
    names = [f"field_{number}" for number in range(1_000)]
    kept = names[::10]
    rows = [dict(zip(names, range(place, place + len(names)), strict=True)) for place in range(20)]
    data = compact({"rows": rows}).encode()
    plan = compile_projection(
        Projection.include(*(f"rows.{name}" for name in kept)),
        {"properties": {"rows": {"items": {"properties": {name: {"type": "integer"} for name in names}}}}},
    )

    def by_hand() -> bytes:
        read = orjson.loads(data)["rows"]
        return orjson.dumps({"rows": [{name: row[name] for name in kept} for row in read]})

    ways = [Candidate("hand", by_hand), Candidate("louver", partial(plan.project_json, data))]
    return measured("wide", "rows", len(data), ways, setting.rounds)


def _ways(payload: Payload, projection: Projection, data: bytes) -> list[Candidate]:
    plan = compile_projection(projection, payload.schema)
    return [
        Candidate("orjson.loads", partial(orjson.loads, data), yardstick=True),
        Candidate("louver", partial(plan.project_json, data)),
        Candidate("orjson and plan", lambda: orjson.dumps(plan(orjson.loads(data)))),
    ]
