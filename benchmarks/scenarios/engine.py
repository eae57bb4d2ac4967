"""The engine: a value in, the kept value out, against code that was written by hand for the request.

    include              with the tool's schema; the claim counts from 1 kB to 10 MB
    include, no schema   the same, nothing known but the values that came before
    include, holes       half of the fields are missing, against code that asks for each, and against
                         the plain comprehension on the same issues with nothing missing (`plain`)
    exclude              against hand-written exclude and include, and a deep copy with `del`
    exclude **           one name left out at every depth; only of the tree
    github               answers of GitHub's public REST description
    peers                other libraries, asked for the same seven fields of issues
    rows                 the titles of rows that meet a test, up to 100,000 rows

Plans are warm, as they are after a few calls: see the scenario `plan` for the first.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks import corpus, github, handwritten
from benchmarks.measuring import Candidate, measured
from benchmarks.payloads import ISSUES, PAYLOADS, PROFILE, ROWS, SEED, TREE
from benchmarks.peers import ROWS as PEERS_ROWS
from benchmarks.peers import peers, row_peers
from louver import Projection, compile_projection
from louver.core.json import compact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.payloads import Payload
    from benchmarks.results import Group
    from benchmarks.scenarios import Setting
    from louver.core.json import Json, Schema

HAND = "by hand"
CERTAIN = ("id", "number")
"""The fields of an issue that are never missing."""


def run(setting: Setting) -> Iterator[Group]:
    """All cases."""
    yield from _include(setting)
    yield from _without_schema(setting)
    yield from _holes(setting)
    yield from _exclude(setting)
    yield from _github(setting)
    yield from _peers(setting)
    yield from _rows(setting)


def _include(setting: Setting) -> Iterator[Group]:
    for payload in PAYLOADS:
        for size in setting.sizes("10 MB"):
            value = payload.make(size)
            ways = [_hand(payload, value), _louver(payload, payload.schema, value)]
            yield measured("include", payload.name, size, ways, setting.rounds)


def _without_schema(setting: Setting) -> Iterator[Group]:
    for payload in PAYLOADS:
        for size in setting.sizes("1 MB"):
            value = payload.make(size)
            ways = [_hand(payload, value), _louver(payload, None, value)]
            yield measured("include, no schema", payload.name, size, ways, setting.rounds)


def _holes(setting: Setting) -> Iterator[Group]:
    for size in setting.sizes("1 MB"):
        whole = ISSUES.make(size)
        value = _with_holes(whole)
        ways = [
            Candidate("guarded by hand", partial(handwritten.issues_with_holes, value)),
            Candidate("plain", partial(ISSUES.hand.include, whole), yardstick=True),
            _louver(ISSUES, None, value),
        ]
        yield measured("include, holes", "issues", size, ways, setting.rounds)


def _exclude(setting: Setting) -> Iterator[Group]:
    for payload in (ISSUES, PROFILE, ROWS, TREE):
        for size in setting.sizes("1 MB"):
            value = payload.make(size)
            plan = compile_projection(Projection(exclude=[*payload.exclude]), payload.schema)
            ways = [
                Candidate("exclude by hand", partial(payload.hand.exclude, value)),
                Candidate("louver", partial(plan, value)),
                Candidate("deepcopy and del", partial(payload.hand.copy_and_delete, value)),
                Candidate("include by hand", partial(payload.hand.include, value), yardstick=True),
            ]
            yield measured("exclude **" if payload is TREE else "exclude", payload.name, size, ways, setting.rounds)


def _github(setting: Setting) -> Iterator[Group]:
    for name, (fields, by_hand) in github.REQUESTS.items():
        pair = corpus.pair(name)
        plan = compile_projection(Projection(include=[*fields]), pair["schema"])
        ways = [Candidate(HAND, partial(by_hand, pair["value"])), Candidate("louver", partial(plan, pair["value"]))]
        size = len(compact(pair["value"]))
        yield measured("github", name.removesuffix("/200/default"), size, ways, setting.rounds)


def _peers(setting: Setting) -> Iterator[Group]:
    for size in setting.sizes("100 kB"):
        value = ISSUES.make(size)
        ways = [_louver(ISSUES, ISSUES.schema, value), _hand(ISSUES, value), *peers(value)]
        yield measured("peers", "issues", size, ways, setting.rounds)


def _rows(setting: Setting) -> Iterator[Group]:
    for number in (10, 1_000, 100_000):
        value = {"items": [_row(at) for at in range(number)]}
        size = len(compact(value))
        if size > max(setting.most_bytes, 1_000):
            break
        plan = compile_projection(Projection(include=[PEERS_ROWS]))
        ways = [
            Candidate(HAND, partial(handwritten.open_rows, value)),
            Candidate("louver", partial(plan, value)),
            *(row_peers(value) if setting.peers else []),
        ]
        yield measured("rows", "issues", size, ways, setting.rounds)


def _row(at: int) -> dict[str, Any]:
    state = "closed" if at % 3 == 0 else "open"
    return {"id": at, "title": f"t{at}", "state": state, "comments": at % 10, "user": {"login": f"u{at % 100}"}}


def _hand(payload: Payload, value: Json) -> Candidate:
    return Candidate(HAND, partial(payload.hand.include, value))


def _louver(payload: Payload, schema: Schema | None, value: Json) -> Candidate:
    return Candidate("louver", partial(compile_projection(Projection(include=[*payload.include]), schema), value))


def _with_holes(page: Json) -> Json:
    """A page of the same issues, of whose fields every second is missing, by chance."""
    rng = Random(SEED)

    def some(issue: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in issue.items() if name in CERTAIN or rng.random() < 0.5}

    return {**page, "items": [some(issue) for issue in page["items"]]}
