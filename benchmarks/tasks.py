"""Real tools, real tasks, and how well tools are found by them: LiveMCPBench, in ../shared/corpus.

    {"query": "Draw a flowchart of a sorting algorithm ...", "gold": [["mermaid-validator::validateMermaid"]]}

A task has steps, and for each step one tool or several, any of which is right. Recall@k is the share of a task's steps
for which a right tool stands among the first k, MRR is one over the rank of the first right tool, and nDCG@k counts the
first right tool of each step, the less the later it stands; all are means over all tasks.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from math import log2
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

SEPARATOR = "__"


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Args:
        query: What is wanted, in a sentence or a page.
        steps: For each step the names of the tools that are right.
    """

    query: str
    steps: tuple[frozenset[str], ...]

    def recall(self, ranked: Sequence[str], k: int) -> float:
        """The share of the steps that are served by the first `k` of ranked tools."""
        return mean(not step.isdisjoint(ranked[:k]) for step in self.steps)

    def ndcg(self, ranked: Sequence[str], k: int) -> float:
        """The gain of each step that is served first by one of the first `k`, as a share of the best possible gain."""
        first = [next((rank for rank, name in enumerate(ranked[:k]) if name in step), None) for step in self.steps]
        # One tool may serve several steps, and counts once.
        gains = [_gain(rank) for rank in {rank for rank in first if rank is not None}]
        return sum(gains) / sum(map(_gain, range(min(k, len(self.steps)))))

    def reciprocal_rank(self, ranked: Sequence[str]) -> float:
        """One over the rank of the first tool that serves any step; 0 if none does."""
        right = frozenset().union(*self.steps)
        return next((1 / rank for rank, name in enumerate(ranked, 1) if name in right), 0.0)


def _gain(rank: int) -> float:
    """From rank 0; a discounted gain of information retrieval."""
    return 1 / log2(rank + 2)


@cache
def tools() -> tuple[dict[str, Any], ...]:
    """The 527 tools of 70 servers, each with its server's name before its own, as a gateway lists them.

    Raises:
        FileNotFoundError: The corpus is not beside the repository.
    """
    with gzip.open(FILE.with_name("livemcp.catalogue.json.gz"), "rt", encoding="utf-8") as file:
        found: list[dict[str, Any]] = json.load(file)
    kept = ("description", "inputSchema")
    return tuple({"name": _name(tool["id"]), **{key: tool[key] for key in kept if key in tool}} for tool in found)


def many(number: int) -> list[dict[str, Any]]:
    """So many tools: the real ones, and where they are not enough the same of further servers."""
    copies = range(-(-number // len(tools())))
    return [{**tool, "name": f"{copy or ''}{tool['name']}"} for copy in copies for tool in tools()][:number]


@cache
def tasks() -> tuple[Task, ...]:
    """The 94 tasks.

    Raises:
        FileNotFoundError: The corpus is not beside the repository.
    """
    with gzip.open(FILE.with_name("livemcp.queries.jsonl.gz"), "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return tuple(Task(task["query"], tuple(frozenset(map(_name, step)) for step in task["gold"])) for task in found)


def _name(identifier: str) -> str:
    server, _, name = identifier.partition("::")
    return f"{server}{SEPARATOR}{name}"
