"""What is claimed, as data, and how a run is held against it.

    Claim("include, 1 kB to 10 MB", "engine/include", "louver", "by hand", "at most", 1.2, sizes=ANY)

A claim holds for the worst of the payloads and sizes that it is about. One whose scenario did
not run is not judged; one whose figures are not there although it ran is missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from benchmarks import figures

if TYPE_CHECKING:
    from benchmarks.results import Group, Results

ANY = (0, 10**9)
MEANING = "louver, meaning"
UP_TO_100_KB = (0, 100_000)
OF_1_KB = (1_000, 1_000)
OF_100_KB = (100_000, 100_000)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence with its target: `of` is so many times `against`.

    Args:
        sentence: What is claimed.
        case: Where it is measured: the scenario, and the case within it.
        of: The row that is judged.
        against: The row that it is set against; without one the figure is absolute.
        bound: Whether less is better or more.
        target: How many times, or how many of the group's unit.
        sizes: Of payloads, the smallest and the largest that count.
        payload: The payload that counts; all by default.
        unit: Of the target, where nothing is set against it.
    """

    sentence: str
    case: str
    of: str
    against: str | None
    bound: Literal["at most", "at least"]
    target: float
    sizes: tuple[int, int] = UP_TO_100_KB
    payload: str | None = None
    unit: str = "s"

    def value(self, group: Group) -> float | None:
        """The figure of one group, if it has both rows."""
        of = group.median(self.of)
        if self.against is None or of is None:
            return of
        against = group.median(self.against)
        return None if against is None else of / against

    def is_about(self, group: Group) -> bool:
        """Whether a group of the scenario counts."""
        least, most = self.sizes
        right = group.case == self.case.partition("/")[2] and self.payload in (None, group.payload)
        return right and least <= group.size <= most


CLAIMS = (
    Claim("include, against code by hand, 1 kB to 10 MB", "engine/include", "louver", "by hand", "at most", 1.2, ANY),
    Claim("include without a schema", "engine/include, no schema", "louver", "by hand", "at most", 1.5),
    Claim("half missing, against guarded code", "engine/include, holes", "louver", "guarded by hand", "at most", 2.3),
    Claim(
        "half missing, against plain code, nothing missing", "engine/include, holes", "louver", "plain", "at most", 2.3
    ),
    Claim("exclude, against include by hand", "engine/exclude", "louver", "include by hand", "at most", 2.4),
    Claim("deepcopy and delete, against exclude", "engine/exclude", "deepcopy and del", "louver", "at least", 12),
    Claim("jsonpath-ng, find and rebuild, against include", "engine/peers", "jsonpath-ng", "louver", "at least", 35),
    Claim("jmespath, against include", "engine/peers", "jmespath", "louver", "at least", 10),
    Claim("glom, against include", "engine/peers", "glom", "louver", "at least", 100),
    Claim("jq, against include", "engine/peers", "jq", "louver", "at least", 50),
    Claim("dpath, against include", "engine/peers", "dpath", "louver", "at least", 500),
    Claim("pydantic dump(include), against include", "engine/peers", "pydantic dump", "louver", "at least", 3),
    Claim("pydantic validate and dump, against include", "engine/peers", "pydantic validate", "louver", "at least", 8),
    Claim("cold plan of 7 paths", "plan/cold", "louver", None, "at most", 0.5e-3),
    Claim("warm look-up of a plan", "plan/warm", "louver", None, "at most", 1e-6),
    Claim("gateway, 1 kB, against FastMCP's proxy", "gateway/call", "louver", "FastMCP", "at most", 0.35, OF_1_KB),
    Claim("gateway, 1 kB, against direct", "gateway/call", "louver", "direct", "at most", 2.5, OF_1_KB),
    Claim("gateway, 100 kB, against FastMCP's proxy", "gateway/call", "louver", "FastMCP", "at most", 0.2, OF_100_KB),
    Claim("gateway, 100 kB, against direct", "gateway/call", "louver", "direct", "at most", 1.5, OF_100_KB),
    Claim("gateway, 100 kB to two fields", "gateway/call", "louver, two fields", "direct", "at most", 1.6, OF_100_KB),
    Claim("gateway, `tools/list` of 1,000", "gateway/tools/list", "louver", "direct", "at most", 0.2, ANY),
    Claim("gateway, among 10,000 tools", "gateway/call among tools", "among many", "among few", "at most", 1.3),
    Claim("gateway, memory against FastMCP's proxy", "gateway/RSS", "louver", "FastMCP", "at most", 0.8, ANY),
    Claim("gateway, first call over stdio", "gateway/first call, stdio", "louver", "FastMCP", "at most", 0.7, ANY),
    Claim("script, from request to answer, 95 of 100", "lua/start", "louver", None, "at most", 10e-3, ANY),
    Claim("script, one field of a call", "lua/one call", "louver, by fields", "my-cool-proxy", "at most", 1.0, ANY),
    Claim("other callers' p99 beside four bombs", "lua/beside bombs", "beside bombs", "alone", "at most", 2.0, ANY),
    Claim("tokens of 38 issues, 7 fields (o200k)", "tokens/tokens", "kept", "whole", "at most", 0.1, ANY, "38 issues"),
    Claim("tokens of `tools/list`, minimal (o200k)", "disclosure/tools/list", "minimal", "full", "at most", 0.2, ANY),
    Claim(
        "schemas of eight operations, by one tool (o200k)",
        "disclosure/one tool",
        "gateway",
        "a tool an operation",
        "at most",
        0.25,
        ANY,
    ),
    Claim("conversation, by default (o200k)", "sessions/total", "full", "direct", "at most", 0.9, payload="Codex"),
    Claim("the same in Gemini CLI", "sessions/total", "full", "direct", "at most", 0.8, payload="Gemini CLI"),
    Claim("the same in Claude Code", "sessions/total", "full", "direct", "at most", 1.0, payload="Claude Code"),
    Claim(
        "conversation, deferred tools (o200k)", "sessions/total", "deferred", "direct", "at most", 0.45, payload="Codex"
    ),
    Claim("the same, fields named", "sessions/total", "deferred, fields", "direct", "at most", 0.36, payload="Codex"),
    Claim("too many mask nodes, refused", "adversarial/time", "louver", None, "at most", 0.3, payload="too many nodes"),
    Claim("hostile names, and what else was made to hurt", "adversarial/time", "louver", None, "at most", 0.5),
    Claim("search, Recall@5", "search/Recall@5", "louver", None, "at least", 0.38, unit="score"),
    *(
        Claim(f"search, {case}, against {peer}", f"search/{case}", "louver", peer, "at least", 1.0)
        for case in ("Recall@1", "Recall@5", "Recall@10", "Recall@20", "nDCG@10", "MRR")
        for peer in ("FastMCP", "bm25s")
    ),
    Claim("search with meaning, the score nDCG@10", "search/nDCG@10", MEANING, None, "at least", 0.41, unit="score"),
    *(
        Claim(f"search with meaning, {case}, against words", f"search/{case}", MEANING, "louver", "at least", 1.0)
        for case in ("Recall@1", "Recall@5", "Recall@10", "Recall@20", "nDCG@10", "MRR")
    ),
    Claim("search among 10,000 tools, the median task", "search/query", "louver", None, "at most", 5e-3, ANY),
    Claim("search among 10,000 tools, p95", "search/query, p95", "louver, whole", None, "at most", 5e-3, ANY),
    Claim("search among 10,000 tools, p95, by needs", "search/query, p95", "louver", None, "at most", 5e-3, ANY),
    Claim("search with meaning among 10,000 tools, p95", "search/query, p95", MEANING, None, "at most", 5e-3, ANY),
    Claim("search, an index of 10,000 tools", "search/index", "louver", None, "at most", 1.0),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run says of a claim.

    Args:
        claim: The claim.
        ran: Whether its scenario ran.
        value: The worst figure; `None` if there is none.
        worst: Where it was met.
    """

    claim: Claim
    ran: bool
    value: float | None = None
    worst: Group | None = None

    @property
    def passes(self) -> bool:
        """Whether the target is met; a claim that was not tried does not fail."""
        if self.value is None:
            return not self.ran
        return self.value <= self.claim.target if self.claim.bound == "at most" else self.value >= self.claim.target

    @property
    def line(self) -> str:
        """A row of a Markdown table: verdict, claim, target, measured, where, noise."""
        told = partial(figures.figure, unit=self.claim.unit)
        shown = figures.ratio if self.claim.against is not None else told
        target = f"{self.claim.bound} {shown(self.claim.target)}"
        verdict = "not run" if not self.ran else "pass" if self.passes else "**miss**"
        if self.value is None or self.worst is None:
            return f"| {verdict} | {self.claim.sentence} | {target} | | | |"
        noise = "" if self.worst.noise is None else f"{self.worst.noise:.1%}"
        where = f"{self.worst.payload} {figures.size(self.worst.size)}".strip()
        return f"| {verdict} | {self.claim.sentence} | {target} | {shown(self.value)} | {where} | {noise} |"


HEAD = "| | claim | target | measured | worst at | noise |\n|---|---|---|---|---|---|"


def judged(results: Results) -> list[Verdict]:
    """The verdict on every claim."""
    return [_verdict(claim, results) for claim in CLAIMS]


def _verdict(claim: Claim, results: Results) -> Verdict:
    scenario = claim.case.partition("/")[0]
    about = [group for group in results.get(scenario, ()) if claim.is_about(group)]
    found = [(value, group) for group in about if (value := claim.value(group)) is not None]
    if not found:
        return Verdict(claim, scenario in results)
    worst = (max if claim.bound == "at most" else min)(found, key=lambda pair: pair[0])
    return Verdict(claim, True, *worst)
