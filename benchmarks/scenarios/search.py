"""Search: how well tools are found by real tasks, and how long that takes.

    query               the best 20 of 100, 1,000 and 10,000 tools; of 94 tasks, cut to the longest query that is served
    rebuild             from a list of 10,000 tools to the first answer
    rebuild, changed    likewise, where 100 tools of one server have changed
    Recall@k, MRR       of 94 tasks among 527 real tools, whole and cut to the longest query that is served

Beside ours stand FastMCP's search transform (BM25), which is installed on first use, and what contains the whole query.
Times are CPU time: the median of all tasks, from the fastest to the slowest. FastMCP is timed in few rounds.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median
from time import thread_time
from typing import TYPE_CHECKING, Any

from benchmarks import tasks
from benchmarks.measuring import timed
from benchmarks.results import Group, Row
from louver.catalogue.search.ranking import Ranking
from louver.core.json import compact
from louver.limits import MATCHES_A_PAGE, MAX_QUERY_CHARACTERS
from tests.stock.run import REQUIREMENTS, StockError, python_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.scenarios import Setting

SIZES = (100, 1_000, 10_000)
CHANGED = 100
CUTS = {"whole": None, "256 characters": MAX_QUERY_CHARACTERS}
KS = (1, 5, 10, 20)
PEER_ROUNDS = 2
"""Of FastMCP, which takes seconds for all tasks among 10,000 tools."""

Names = list[list[str]]
"""For each query the names of the tools that are found, in order."""

Score = Callable[[tasks.Task, Sequence[str]], float]


def run(setting: Setting) -> Iterator[Group]:
    """Times, then what is found."""
    python = _peer() if setting.peers else None
    queries = [task.query[:MAX_QUERY_CHARACTERS] for task in tasks.tasks()]
    for size in SIZES:
        tools = tasks.many(size)
        rows = [Row.over("louver", _times(Ranking(tools, _named), queries, setting.rounds))]
        if python is not None:
            asked = _ask(python, tools, queries, most=MATCHES_A_PAGE, rounds=min(PEER_ROUNDS, setting.rounds))
            rows.append(Row.over("FastMCP", asked["seconds"]))
        yield Group("query", f"{size:,} tools", 0, "s", None, tuple(rows))
    yield from _rebuilds(setting)
    yield from _quality(python)


def _times(ranking: Ranking, queries: Sequence[str], rounds: int) -> list[float]:
    """The seconds that each query takes."""
    samples: list[list[float]] = [[] for _ in queries]
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        for query, taken in zip(queries, samples, strict=True):
            started = thread_time()
            ranking.search(query, 0, MATCHES_A_PAGE)
            taken.append(thread_time() - started)
        gc.enable()
    return [median(taken) for taken in samples]


def _rebuilds(setting: Setting) -> Iterator[Group]:
    tools = tasks.many(SIZES[-1])
    before = Ranking(tools, _named)
    after = [{**tool, "description": "Changed."} if at < CHANGED else tool for at, tool in enumerate(tools)]
    for case, work in {
        "rebuild": partial(_first_answer, tools, None),
        "rebuild, changed": partial(_first_answer, after, before),
    }.items():
        yield Group(case, f"{len(tools):,} tools", 0, "s", None, timed({"louver": work}, setting.rounds))


def _first_answer(tools: list[dict[str, Any]], before: Ranking | None) -> None:
    Ranking(tools, _named, before).search("create an issue", 0, MATCHES_A_PAGE)


def _quality(python: Path | None) -> Iterator[Group]:
    found = {payload: _found(python, [task.query[:cut] for task in tasks.tasks()]) for payload, cut in CUTS.items()}
    scores: dict[str, Score] = {f"Recall@{k}": partial(_recall, k) for k in KS} | {"MRR": tasks.Task.reciprocal_rank}
    for case, score in scores.items():
        for payload, names in found.items():
            rows = [Row.exact(name, mean(map(score, tasks.tasks(), ranked))) for name, ranked in names.items()]
            yield Group(case, payload, 0, "score", None, tuple(rows))


def _found(python: Path | None, queries: Sequence[str]) -> dict[str, Names]:
    """What each candidate finds among the real tools."""
    tools = list(tasks.tools())
    ranking = Ranking(tools, _named)
    found = {
        "substring": [_containing(tools, query) for query in queries],
        "louver": [[match.tool["name"] for match in ranking.search(query)] for query in queries],
    }
    if python is not None:
        found["FastMCP"] = _ask(python, tools, queries, most=len(tools), rounds=0)["names"]
    return found


def _recall(k: int, task: tasks.Task, ranked: Sequence[str]) -> float:
    return task.recall(ranked, k)


def _named(name: str) -> tuple[str, str]:
    server, _, own = name.partition(tasks.SEPARATOR)
    return server, own


def _containing(tools: Sequence[dict[str, Any]], query: str) -> list[str]:
    """What a server finds that looks for the query as it is, in the order of the list."""
    return [tool["name"] for tool in tools if query.casefold() in compact(tool).casefold()]


def _peer() -> Path | None:
    """A Python that has FastMCP, if one is to be had; if not, why not is told."""
    try:
        return python_with(REQUIREMENTS["fastmcp_v4"])
    except StockError as error:
        print(f"FastMCP is left out: {error}", file=sys.stderr)
        return None


def _ask(python: Path, tools: Sequence[dict[str, Any]], queries: Sequence[str], **options: int) -> dict[str, Any]:
    given = json.dumps({"tools": tools, "queries": queries, **options})
    script = Path(__file__).parents[1] / "fastmcp_search.py"
    done = subprocess.run([python, script], input=given, capture_output=True, text=True, check=True, encoding="utf-8")
    return json.loads(done.stdout)
