"""Search: how well tools are found by real tasks, and how long that takes.

    Recall@k, nDCG@10, MRR    of 94 tasks among 527 real tools, and how far needs differ from whole queries
    query                     the best 20 of 100, 1,000 and 10,000 tools, by each task: median, p95 and p99
    index                     from a list of so many tools to the first answer
    index, changed            likewise, where 100 tools have changed

`louver` searches as it serves: by needs, and nothing for a query that is too long; `louver, meaning` likewise with the
extra `meaning`. Beside them stand FastMCP's search transform and bm25s, which are installed on first use. Times are CPU
time.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import mean, median, quantiles
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import figures, tasks
from benchmarks.chart import svg
from benchmarks.corpus import FILE
from benchmarks.measuring import row, timed
from benchmarks.paired import interval
from benchmarks.results import Group, Row
from louver.catalogue.search.meaning_extra import word_vectors
from louver.catalogue.search.ranking import Ranking
from louver.limits import MATCHES_A_PAGE, MAX_QUERY_CHARACTERS
from tests.stock.run import REQUIREMENTS, StockError, python_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.scenarios import Setting
    from louver.catalogue.search.word_vectors import WordVectors

    Search = Callable[[str, int], list[str]]

SIZES = (100, 1_000, 10_000)
CHANGED = 100
PEER_ROUNDS = 2
"""FastMCP takes seconds for all tasks among 10,000 tools."""
PERCENTILES = {"query": 50, "query, p95": 95, "query, p99": 99}
SCORES: dict[str, Callable[[tasks.Task, Sequence[str]], float]] = {
    **{f"Recall@{k}": partial(tasks.Task.recall, k=k) for k in (1, 5, 10, 20)},
    "nDCG@10": partial(tasks.Task.ndcg, k=10),
    "MRR": tasks.Task.reciprocal_rank,
}
WORDS, WHOLE, MEANING = "louver", "louver, whole", "louver, meaning"
PAIRS = {"needs against whole": (WORDS, WHOLE), "meaning against words": (MEANING, WORDS)}
FOUND = max(20, MATCHES_A_PAGE)


class Peer(NamedTuple):
    """A search that runs in an environment of its own."""

    script: str
    requirements: tuple[str, ...]


PEERS = {
    "FastMCP": Peer("fastmcp_search.py", (REQUIREMENTS["fastmcp_v4"],)),
    "bm25s": Peer("bm25s_search.py", ("bm25s>=0.3,<0.4", "PyStemmer>=3,<4")),
}


def _as_served(ranking: Ranking, query: str, most: int) -> list[str]:
    return [match.tool["name"] for match in ranking.search_needs(ranking.needs_of(query), 0, most)]


def _whole(ranking: Ranking, query: str, most: int) -> list[str]:
    return [match.tool["name"] for match in ranking.search(query, 0, most)]


def _searches(tools: Sequence[dict[str, Any]]) -> dict[str, Search]:
    """The ways to search a list, by name."""
    by_words, by_meaning = Ranking(tools, _named), Ranking(tools, _named, vectors=word_vectors())
    return {
        WHOLE: partial(_whole, by_words),
        WORDS: partial(_as_served, by_words),
        MEANING: partial(_as_served, by_meaning),
    }


def run(setting: Setting) -> Iterator[Group]:
    """Times, then what is found."""
    if not FILE.exists():
        print("search is left out: its tasks are in ../shared, which is not there", file=sys.stderr)
        return
    peers = dict(_installed()) if setting.peers else {}
    for size in SIZES:
        yield from _times(size, peers, setting.rounds)
    yield _changed(setting.rounds)
    yield from _quality(peers)


def _times(size: int, peers: dict[str, Path], rounds: int) -> Iterator[Group]:
    tools = tasks.many(size)
    # For all the same queries, though others than Louver would take longer ones.
    queries = [task.query[:MAX_QUERY_CHARACTERS] for task in tasks.tasks()]
    asked = {name: _ask(peers, name, tools, queries, min(PEER_ROUNDS, rounds)) for name in peers}
    seconds = {name: each["seconds"] for name, each in asked.items()}
    seconds |= {name: _seconds(search, queries, rounds) for name, search in _searches(tools).items()}
    payload = f"{size:,} tools"
    for case, percentile in PERCENTILES.items():
        rows = (
            Row.exact(name, quantiles(each, n=100, method="inclusive")[percentile - 1])
            for name, each in seconds.items()
        )
        yield Group(case, payload, 0, "s", None, tuple(rows))
    indexes = {WORDS: None, MEANING: word_vectors()}
    ours = timed({name: partial(_first_answer, tools, None, vectors) for name, vectors in indexes.items()}, rounds)
    yield Group("index", payload, 0, "s", None, (*(row(name, each["index"]) for name, each in asked.items()), *ours))


def _seconds(search: Search, queries: Sequence[str], rounds: int) -> list[float]:
    """What each query takes."""
    samples: list[list[float]] = [[] for _ in queries]
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        for query, taken in zip(queries, samples, strict=True):
            started = thread_time()
            search(query, MATCHES_A_PAGE)
            taken.append(thread_time() - started)
        gc.enable()
    return [median(taken) for taken in samples]


def _changed(rounds: int) -> Group:
    tools = tasks.many(SIZES[-1])
    vectors = word_vectors()
    befores = {WORDS: Ranking(tools, _named), MEANING: Ranking(tools, _named, vectors=vectors)}
    after = [{**tool, "description": "Changed."} if at < CHANGED else tool for at, tool in enumerate(tools)]
    work = {
        name: partial(_first_answer, after, before, vectors if name == MEANING else None)
        for name, before in befores.items()
    }
    return Group("index, changed", f"{len(tools):,} tools", 0, "s", None, timed(work, rounds))


def _first_answer(tools: list[dict[str, Any]], before: Ranking | None, vectors: WordVectors | None) -> None:
    Ranking(tools, _named, before, vectors=vectors).search("create an issue", 0, MATCHES_A_PAGE)


def _quality(peers: dict[str, Path]) -> Iterator[Group]:
    tools, queries = list(tasks.tools()), [task.query for task in tasks.tasks()]
    found: dict[str, list[list[str]]] = {name: _ask(peers, name, tools, queries, 0)["names"] for name in peers}
    # A query that is refused finds nothing.
    found |= {
        name: [search(query, FOUND) if len(query) <= MAX_QUERY_CHARACTERS else [] for query in queries]
        for name, search in _searches(tools).items()
    }
    payload = f"{len(queries)} tasks"
    for case, score in SCORES.items():
        scores = {name: list(map(score, tasks.tasks(), ranked)) for name, ranked in found.items()}
        rows = (Row.exact(name, mean(each)) for name, each in scores.items())
        yield Group(case, payload, 0, "score", None, tuple(rows))
        for pair, (one, other) in PAIRS.items():
            differences = [ours - theirs for ours, theirs in zip(scores[one], scores[other], strict=True)]
            yield Group(f"{case}, {pair}", payload, 0, "score", None, (Row(one, *interval(differences)),))


def _named(name: str) -> tuple[str, str]:
    server, _, own = name.partition(tasks.SEPARATOR)
    return server, own


def _installed() -> Iterator[tuple[str, Path]]:
    """The peers that are to be had, each with its Python; of another the reason is printed."""
    for name, peer in PEERS.items():
        try:
            yield name, python_with(*peer.requirements)
        except StockError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)


def _ask(
    peers: dict[str, Path], name: str, tools: Sequence[dict[str, Any]], queries: Sequence[str], rounds: int
) -> dict[str, Any]:
    given = json.dumps({"tools": tools, "queries": queries, "most": FOUND, "rounds": rounds})
    script = Path(__file__).parents[1] / PEERS[name].script
    done = subprocess.run(
        [peers[name], script], input=given, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return json.loads(done.stdout)


def tables(groups: Sequence[Group]) -> list[str]:
    """The figures as the lines of two Markdown tables: what is found, and how long it takes, against `louver`."""
    found = {(group.case, group.payload): group for group in groups}
    names = [each.name for each in groups[0].rows]
    lines = [f"| | {' | '.join([*names, *PAIRS])} |", "|---" * (len(names) + len(PAIRS) + 1) + "|"]
    for (case, payload), group in found.items():
        if group.unit == "score" and not case.endswith(tuple(PAIRS)):
            pairs = [found[f"{case}, {pair}", payload].rows[0] for pair in PAIRS]
            differences = [f"{each.median:+.3f} ({each.low:+.3f} to {each.high:+.3f})" for each in pairs]
            scores = [figures.figure(each.median, "score") for each in group.rows]
            lines.append(f"| {' | '.join([case, *scores, *differences])} |")
    lines += [f"| | | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for (case, payload), group in found.items():
        if group.unit == "s":
            cells = [_time(group, name) for name in names]
            lines.append(f"| {' | '.join([payload, case, *cells])} |")
    return lines


def _time(group: Group, name: str) -> str:
    value, ours = group.median(name), group.median("louver")
    if value is None or ours is None:
        return ""
    told = figures.figure(value, group.unit)
    return told if name.startswith("louver") else f"{told}, {figures.ratio(value / ours)}"


def chart(groups: Sequence[Group]) -> str:
    """The median queries, and the indexes."""
    return svg("search", [group for group in groups if group.case in ("query", "index", "index, changed")])
