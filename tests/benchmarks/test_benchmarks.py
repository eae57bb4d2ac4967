"""The benchmarks measure what they say. Counted and compared here, never timed: CI machines are no place for that."""

import os
from dataclasses import replace
from functools import partial
from itertools import product
from math import log2
from statistics import stdev
from xml.etree import ElementTree

import pytest

from benchmarks import claims, corpus, figures, results, tasks
from benchmarks.__main__ import main
from benchmarks.chart import stacked, svg
from benchmarks.measuring import Candidate, OtherAnswer, compare, measured
from benchmarks.paired import interval
from benchmarks.payloads import PAYLOADS, SIZES
from benchmarks.proxies import STDIO_UPSTREAM
from benchmarks.results import Group, Row
from benchmarks.scenarios import SCENARIOS, Setting, adversarial, bad_peer, chart, gateway, scenario, search, sessions
from benchmarks.scenarios.gateway import _as_usual, _middle, _Start
from core.corpus import rows
from docs.pages import DOCS, RESULTS
from gateway.served import children
from louver import Projection, compile_projection
from louver.core.json import compact

SMALL = Setting(rounds=1, most_bytes=SIZES["1 kB"], peers=False, minutes=0.05)
PEERS = {"jmespath", "glom", "jq", "dpath", "kept", "minimal", "a tool an operation", "FastMCP", "my-cool-proxy"}
PEERS |= {"full", "deferred", "deferred, fields", "bm25s"}
"""What may not be installed, as rows name it."""
EVERYDAY = ("engine", "tokens")
"""Scenarios that start no processes and end soon."""


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    """One run a sample is enough where nothing is timed."""
    monkeypatch.setattr("benchmarks.measuring.SAMPLE_S", 0)
    for name in ("CALLS", "MANY", "VERY_MANY"):
        monkeypatch.setattr(f"benchmarks.scenarios.gateway.{name}", 20)
    monkeypatch.setattr("benchmarks.scenarios.search.SIZES", (100, 200))
    monkeypatch.setattr("benchmarks.scenarios.bad_peer.SECONDS", 0.02)
    monkeypatch.setattr("benchmarks.scenarios.faults.SECONDS", 0.5)
    for peers in bad_peer.PEERS.values():
        # Of each setting one: `tests/gateway` has them all.
        for kind in [*peers][1:]:
            monkeypatch.delitem(peers, kind)
    monkeypatch.setattr("benchmarks.scenarios.growth.TOOLS", (10, 100))
    monkeypatch.setattr("benchmarks.scenarios.growth.SESSIONS", (1, 20))


def test_a_payload_has_its_size_and_is_the_same_every_time(subtests):
    """*Ours*: a seeded generator."""
    for payload, size in product(PAYLOADS, (SIZES["1 kB"], SIZES["100 kB"], SIZES["1 MB"])):
        with subtests.test(f"{payload.name}, {figures.size(size)}"):
            text = compact(payload.make(size))
            assert abs(len(text) - size) <= size / 10
            assert compact(payload.make(size)) == text


def test_a_payload_is_what_its_model_declares(subtests):
    """*Ours*: else plans would be made from a schema that says something else."""
    for payload in PAYLOADS:
        with subtests.test(payload.name):
            value = payload.make(SIZES["100 kB"])
            assert payload.model.model_validate(value, strict=True).model_dump() == value


def test_the_plan_that_is_measured_warm_runs_as_generated_code(subtests):
    """*Ours*: which tier runs is checked, never how long it takes."""
    for payload in PAYLOADS:
        with subtests.test(payload.name):
            plan = compile_projection(Projection(include=[*payload.include]), payload.schema)
            for _ in range(5):
                plan(payload.make(SIZES["1 kB"]))
            assert plan.is_generated


@pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in EVERYDAY else pytest.mark.deep)
        for name in SCENARIOS
        if name != "adversarial"
    ],
)
def test_all_candidates_of_a_scenario_give_the_same_answer(name):
    """*Ours*: answers compared before they are timed. Every claim has its row, unless a peer is not installed."""
    next(rows(corpus.FILE.name))
    groups = list(scenario(name)(SMALL))
    assert all(group.noise is not None for group in groups if group.unit == "s" and group.baseline)
    unsaid = [verdict.claim for verdict in claims.judged({name: groups}) if verdict.ran and verdict.value is None]
    small = [claim for claim in unsaid if claim.sizes[0] <= SMALL.most_bytes]
    assert [claim for claim in small if not {claim.of, claim.against} & PEERS] == []


def test_a_candidate_with_another_answer_is_an_error():
    """*Ours*: a yardstick is there to do something else, and a known difference is put right."""
    right, wrong = Candidate("right", lambda: {"a": 1}), Candidate("wrong", lambda: {"a": True})
    with pytest.raises(OtherAnswer, match="wrong"):
        measured("case", "payload", 0, [right, wrong], rounds=1)
    compare([right, replace(wrong, yardstick=True), replace(wrong, mended=lambda _: {"a": 1})])
    compare([right, Candidate("text", lambda: b'{"a": 1}')])


def test_every_attack_ends_as_it_should(monkeypatch):
    """*Ours*: bounded, no recursion error, and names that look like code are data."""
    monkeypatch.setattr(adversarial, "ROWS", 1_000)
    groups = list(scenario("adversarial")(SMALL))
    assert len(groups) == 2 * len(adversarial.ATTACKS)
    assert all(verdict.value is not None for verdict in claims.judged({"adversarial": groups}) if verdict.ran)


@pytest.mark.parametrize(("louver", "status"), [(1.1, 0), (1.3, 1)])
def test_check_tells_a_claim_that_is_missed(louver, status, tmp_path, capsys):
    """*Ours*: `python -m benchmarks check FILE`."""
    groups = [_group(claim, louver) for claim in claims.CLAIMS if claim.case == "engine/include"]
    file = tmp_path / "run.json"
    results.write(file, results.about(rounds=1), {"engine": [*groups, *_met("engine", but="engine/include")]})
    assert main(["check", str(file)]) == status
    printed = capsys.readouterr().out
    assert printed.count("**miss**") == status
    assert "| not run | tokens" in printed


def test_recall_and_rank_are_of_steps_of_which_each_has_its_tools():
    """*Ours*: the share of the steps that are served, and one over the rank of the first right tool."""
    task = tasks.Task("", (frozenset({"a", "b"}), frozenset({"c"}), frozenset({"d"})))
    ranked = ["x", "b", "a", "c"]
    assert [task.recall(ranked, k) for k in (1, 2, 3, 4)] == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3])
    assert task.reciprocal_rank(ranked) == 1 / 2
    assert task.reciprocal_rank(["x"]) == task.reciprocal_rank([]) == 0


def test_the_first_right_tool_of_each_step_gains_the_more_the_earlier_it_stands():
    """*Ours*: nDCG; 1 where all steps come first, in any order."""
    task = tasks.Task("", (frozenset({"a", "b"}), frozenset({"c"})))
    assert task.ndcg(["c", "a", "b"], 10) == 1
    assert task.ndcg(["x", "b", "a", "c"], 10) == pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)))
    assert task.ndcg(["x", "b", "a", "c"], 3) == pytest.approx(1 / log2(3) / (1 + 1 / log2(3)))
    assert task.ndcg([], 10) == 0


def test_an_interval_is_of_paired_differences_and_the_same_every_time():
    """Issue 45: a bootstrap of a fixed seed; for many values it is that of the normal distribution."""
    differences = [0.1, -0.1] * 500 + [0.05] * 200
    mean, low, high = interval(differences)
    assert (mean, low, high) == interval(differences)
    assert mean == pytest.approx(10 / 1200)
    spread = 1.96 * stdev(differences) / 1200**0.5
    assert [low, high] == pytest.approx([mean - spread, mean + spread], abs=spread / 20)
    assert interval([0.5] * 9) == (0.5, 0.5, 0.5)


def test_search_is_left_out_without_its_tasks(tmp_path, monkeypatch, capsys):
    """Issue 45: with the reason."""
    monkeypatch.setattr(search, "FILE", tmp_path / "nowhere")
    assert list(search.run(SMALL)) == []
    assert capsys.readouterr().err == "search is left out: its tasks are in ../shared, which is not there\n"


@pytest.mark.parametrize("query", ["create an issue", "x" * 4097])
def test_a_query_that_is_refused_finds_nothing(query, monkeypatch):
    """Issue 45: it counts as 0 in every score."""
    monkeypatch.setattr(tasks, "tasks", lambda: [tasks.Task(query, (frozenset({"tracker__create_issue"}),))])
    tool = {"name": "tracker__create_issue", "description": "Create an issue. " + "x" * 4097, "inputSchema": {}}
    monkeypatch.setattr(tasks, "tools", lambda: [tool])
    expected = float(len(query) <= 4096)
    scores = [group for group in search._quality({}) if not group.case.endswith(tuple(search.PAIRS))]
    assert {row.median for group in scores for row in group.rows} == {expected}


def test_many_tools_are_the_real_ones_and_then_the_same_of_further_servers():
    """*Ours*: of whatever number, each with a name of its own."""
    next(rows(corpus.FILE.name))
    real = list(tasks.tools())
    assert tasks.many(len(real)) == real
    more = tasks.many(3 * len(real) + 1)
    assert len({tool["name"] for tool in more}) == len(more) == 3 * len(real) + 1
    assert more[: len(real)] == real


@pytest.mark.deep
def test_search_is_measured_beside_fastmcp_and_bm25s():
    """DISCLOSURE.md: Recall@5 of at least .38, on no k below others. Issue 45: meaning lowers none. No time counts."""
    next(rows(corpus.FILE.name))
    groups = list(scenario("search")(replace(SMALL, peers=True)))
    scores = {f"search/{group.case}" for group in groups if group.unit == "score"}
    verdicts = [verdict for verdict in claims.judged({"search": groups}) if verdict.claim.case in scores]
    assert len(verdicts) == 20
    assert [verdict.line for verdict in verdicts if not verdict.passes] == []


def test_of_several_turns_in_a_round_the_median_counts():
    """*Ours*: each candidate's own; a turn of a few milliseconds may be disturbed alone."""
    turns = [{"direct": 1.0, "peer": 9.0}, {"direct": 7.0, "peer": 3.0}, {"direct": 2.0, "peer": 4.0}]
    assert _middle(turns) == {"direct": 2.0, "peer": 4.0}


def test_a_time_is_one_against_the_baseline_in_the_same_round():
    """*Ours*: what a round is slower in, it is slower in for all; a peer may not have started in one."""
    rounds = [{"direct": 1.0, "peer": 2.0}, {"direct": 4.0, "peer": 8.0}, {"direct": 2.0}]
    assert _as_usual("direct", rounds) == [{"direct": 1.0, "peer": 4.0}, {"direct": 4.0, "peer": 4.0}, {"direct": 2.0}]
    (direct, peer) = gateway._group("call", "issues", 0, "direct", _as_usual("direct", rounds)).rows
    assert (direct.name, direct.median, peer.name, peer.median) == ("direct", 2.0, "peer", 4.0)


def test_a_start_is_timed_to_its_first_answer_alone():
    """*Ours*: how long a process takes to end is no part of its first call."""
    before = children(os.getpid())
    start = _Start(STDIO_UPSTREAM)
    try:
        assert b'"result"' in start.send()
        assert len(children(os.getpid()).keys() - before) == 1
    finally:
        start.end()
    assert not children(os.getpid()).keys() - before


def test_figures_that_are_not_there_although_the_scenario_ran_are_missed():
    """*Ours*: a peer that was not installed is no pass."""
    assert not any(verdict.passes for verdict in claims.judged({"tokens": []}) if verdict.ran)


def test_a_run_writes_what_check_reads_and_a_chart(tmp_path, capsys, monkeypatch):
    """*Ours*: a chart of each scenario, next to the figures."""
    monkeypatch.setattr("benchmarks.__main__.Setting", partial(Setting, most_bytes=SMALL.most_bytes))
    file = tmp_path / "run.json"
    assert main(["run", "--scenario", "plan", "--rounds", "1", "--json", str(file)]) == 0
    assert "louver" in {row.name for group in results.read(file)["plan"] for row in group.rows}
    ElementTree.parse(tmp_path / "run.plan.svg")
    assert "louver" in capsys.readouterr().out


def test_a_chart_is_small_and_names_are_data_in_it():
    """*Ours*: our own small writer."""
    told = tuple(Row.exact(name, value) for name, value in [("base", 1e-6), ("<b>&'\"", 2e-6), ("louver", 0.5e-6)])
    groups = [Group(f"case {number} <", "payload", 1_000, "s", "base", told) for number in range(20)]
    drawn = svg("engine & more", groups)
    assert len(drawn.encode()) < 20_000
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    texts = [element.text for element in ElementTree.fromstring(drawn).iter() if element.text]
    assert "<b>&'\"" in texts
    assert "2.00x" in texts


def test_a_chart_of_absolute_figures_is_in_their_unit():
    """*Ours*."""
    told = (Row("louver", 0.5e-3, 0.3e-3, 1.1e-3),)
    assert "500 µs" in svg("plan", [Group("cold", "issues", 0, "s", None, told)])


def test_a_chart_of_sums_shows_each_part_and_the_total_against_the_first():
    """*Ours*."""
    drawn = stacked(
        "tokens", {"a host": {"direct": {"list": 30, "answers": 70}, "gateway": {"list": 10, "answers": 40}}}
    )
    elements = list(ElementTree.fromstring(drawn).iter())
    texts = [element.text for element in elements if element.text]
    assert {"list", "answers", "a host", "100, 1.00x", "50, 0.50x"} <= set(texts)
    bars = [element for element in elements if element.get("height") == "12" and element.get("rx") is None]
    assert [round(float(bar.get("width")) / float(bars[0].get("width")) * 30) for bar in bars] == [30, 70, 10, 40]


def test_the_pages_tell_of_the_last_run():
    """*Ours*: the README of the benchmarks shows all figures, what was missed too; `performance.md` has rows of it."""
    folder = DOCS / "explanation"
    page = RESULTS.read_text(encoding="utf-8")
    rows = [line for line in (folder / "performance.md").read_text(encoding="utf-8").split("\n") if line[:1] == "|"]
    assert [row for row in rows if row not in page] == []
    found = {}
    for file in sorted(folder.glob("performance*.json")):
        found |= results.read(file)
        for name, groups in results.read(file).items():
            lines = {"sessions": sessions.table, "search": search.tables}.get(name, lambda _: [])(groups)
            assert [line for line in lines if line not in page] == []
            drawn = file.with_suffix(f".{name}.svg")
            assert drawn.read_text(encoding="utf-8") == chart(name, groups)
            assert f"/{drawn.name})" in page
    for verdict in claims.judged(found):
        assert verdict.line in page, f"run `python -m benchmarks check` and paste its table: {verdict.line}"


def test_the_how_tos_have_the_figures_of_the_run():
    """*Ours*: what a page recommends rests on `performance-sessions.json`."""
    found = results.read(DOCS / "explanation" / "performance-sessions.json")["sessions"]
    groups = {(group.case, group.payload): group for group in found}

    def times(name, host="Codex"):
        group = groups["total", host]
        return figures.ratio(group.median(name) / group.median("direct")).removesuffix("x")

    def page(name):
        return " ".join((DOCS / f"{name}.md").read_text(encoding="utf-8").split())

    told = f"[{times('discovery')} or {times('discovery', 'Gemini CLI')} times]"
    assert told in page("how-to/discover-tools")
    choose = page("how-to/choose-an-exposure")
    for name in ("deferred", "gateway"):
        assert f"| {' to '.join(sorted({times(name), times(name, 'Gemini CLI')}))} times, " in choose
    for name in ("full", "minimal, on-error"):
        assert f"| {times(name)} times" in choose
    assert f"{times('full', 'Claude Code')} times the tokens" in choose
    whole = (times(name, "another host") for name in ("deferred", "gateway", "discovery"))
    assert "{} times; `gateway` and `discovery` repeat the answer, and cost {} and {} times".format(*whole) in choose
    for row in groups["list", "Codex"].rows:
        assert "fields" in row.name or f"| {row.median:,.0f} tokens |" in choose
    readme = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    for name in ("deferred", "full"):
        assert f"**{round(100 * float(times(name)))} % of the tokens" in readme


def _met(scenario, but):
    """Groups that meet every claim of a scenario, but those of one case."""
    of_scenario = [claim for claim in claims.CLAIMS if claim.case.startswith(f"{scenario}/") and claim.case != but]
    return [_group(claim, claim.target) for claim in of_scenario]


def _group(claim, value):
    told = [Row.exact(claim.of, value)] + [Row.exact(claim.against, 1.0)] * (claim.against is not None)
    return Group(claim.case.partition("/")[2], claim.payload or "payload", claim.sizes[0], "s", None, tuple(told))
