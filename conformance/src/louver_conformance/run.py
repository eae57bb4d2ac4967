"""Carrying out the checks: each protocol revision in turn, each check after those that it depends on.

What becomes of a check::

    pass          the sentence is kept
    fail          it is not, and is a MUST; or what the check needs is missing
    warn          it is not, and is a SHOULD
    known         it is not, and the baseline says so
    not offered   the target does not say that it can do this, or has nothing to try it on
    not tried     a check that comes before it has not passed
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from louver.core.json import members
from louver.errors import Broken, NotOffered, NotTried, UpstreamError
from louver.limits import CONFORMANCE_TOLD
from louver.protocol.names import DISCLOSURE, FILTERING_LITERAL, SEARCH
from louver_conformance.checks import FUNCTIONS, GROUPS, Check, all_checks
from louver_conformance.context import Talk
from louver_conformance.fixture import Fixture
from louver_conformance.session import ERAS, Clock
from louver_conformance.stability import settle
from louver_conformance.validator_process import Judge

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from louver_conformance.session import Target

Status = Literal["pass", "fail", "warn", "known", "not offered", "not tried"]

_CONNECTS, _ANSWERS = "connects", "tools-answer"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check in one revision.

    Args:
        check: The check.
        era: The revision.
        status: See above.
        detail: Why, unless it has passed; without a value of what a tool answered.
    """

    check: Check
    era: str
    status: Status
    detail: str = ""

    @property
    def line(self) -> str:
        """The line of a baseline that lists the check as known to fail."""
        return f"{self.era} {self.check.id}"


@dataclass(frozen=True, slots=True)
class Report:
    """All outcomes.

    Args:
        outcomes: In the order in which they came.
        unspoken: Revision -> why nothing was checked in it.
        fixed: Known failures, as lines of the baseline, that are none any more.
    """

    outcomes: tuple[Outcome, ...]
    unspoken: dict[str, str]
    fixed: tuple[str, ...] = ()

    @property
    def is_passed(self) -> bool:
        """Whether no check has failed that was not known to."""
        return all(outcome.status != "fail" for outcome in self.outcomes)

    def count(self, status: Status) -> int:
        """How many checks came out so."""
        return sum(outcome.status == status for outcome in self.outcomes)


async def run(
    target: Target,
    *,
    eras: Sequence[str] = (),
    groups: Collection[str] = (),
    fixture: Fixture | None = None,
) -> Report:
    """Check a target.

    Args:
        target: What is checked.
        eras: The revisions that it must speak; by default those that it does, and at least one.
        groups: The groups that are checked, which it must offer; by default those that it offers.
        fixture: Arguments for its tools.
    """
    for group in GROUPS:
        import_module(f"louver_conformance.groups.{group}")
    wanted = _Wanted(all_checks(), frozenset(groups))
    outcomes: list[Outcome] = []
    unspoken: dict[str, str] = {}
    judge = Judge()
    try:
        for era in eras or ERAS:
            talk = Talk(target, era, fixture or Fixture(), judge, Clock())
            try:
                await talk.open()
            except UpstreamError as error:
                unspoken[era] = error.message
                continue
            try:
                outcomes += await _checked(talk, wanted)
            finally:
                await talk.close()
    finally:
        await judge.close()
    missing = unspoken if eras or not outcomes else {}
    first = [Outcome(wanted.by_id[_CONNECTS], era, "fail", why) for era, why in missing.items()]
    return Report((*first, *outcomes), {era: why for era, why in unspoken.items() if era not in missing})


class _Wanted:
    """Which checks are carried out, and which of them are told."""

    def __init__(self, checks: list[Check], groups: frozenset[str]) -> None:
        self.by_id = {each.id: each for each in checks}
        self.groups = groups
        needed = {each.id for each in checks if not groups or each.group in groups} | {_CONNECTS, _ANSWERS}
        # A check stands after those which it depends on.
        for each in reversed(checks):
            if each.id in needed:
                needed.update(each.after)
        self.checks = [each for each in checks if each.id in needed]

    def tells(self, outcome: Outcome) -> bool:
        """Whether an outcome is told: one of another group only if it has failed."""
        return not self.groups or outcome.check.group in self.groups or outcome.status == "fail"


async def _checked(talk: Talk, wanted: _Wanted) -> list[Outcome]:
    statuses: dict[str, Status] = {}
    outcomes: list[Outcome] = []
    problem = ""
    for each in wanted.checks:
        if each.eras and talk.era not in each.eras:
            continue
        outcome = await _outcome(talk, each, wanted, statuses, problem)
        if each.id == _CONNECTS:
            problem = await _learnt(talk)
        statuses[each.id] = outcome.status
        if wanted.tells(outcome):
            outcomes.append(outcome)
    return outcomes


async def _outcome(talk: Talk, check: Check, wanted: _Wanted, statuses: dict[str, Status], problem: str) -> Outcome:
    failed: Status = "fail" if check.level == "MUST" else "warn"
    if problem:
        return Outcome(check, talk.era, "fail" if check.id == _ANSWERS else "not tried", problem)
    if (lacking := _lacking(talk, check)) is not None:
        is_named = check.group in wanted.groups
        return Outcome(check, talk.era, failed if is_named else "not offered", lacking)
    for name in check.after:
        if statuses.get(name, "pass") not in ("pass", "not offered"):
            return Outcome(check, talk.era, "not tried", f"{name!r} has not passed")
    try:
        await _carry_out(check, talk)
    except NotOffered as error:
        return Outcome(check, talk.era, "not offered", error.message[:CONFORMANCE_TOLD])
    except NotTried as error:
        return Outcome(check, talk.era, "not tried", error.message[:CONFORMANCE_TOLD])
    except (Broken, UpstreamError) as error:
        return Outcome(check, talk.era, failed, error.message[:CONFORMANCE_TOLD])
    except Exception as error:  # noqa: BLE001 - whatever a hostile target makes a check raise, the sentence is not kept
        return Outcome(check, talk.era, failed, f"what the target answers cannot be judged: {type(error).__name__}")
    return Outcome(check, talk.era, "pass")


async def _carry_out(check: Check, talk: Talk) -> None:
    """Carry out a check; once more if what it was tried on changes by itself.

    Raises:
        Broken: The sentence is not kept.
        NotOffered: There is nothing to try it on.
    """
    try:
        await FUNCTIONS[check.id](talk)
    except Broken:
        if not await settle(talk):
            raise
        await _carry_out(check, talk)


async def _learnt(talk: Talk) -> str:
    """What keeps everything else from being checked; empty if nothing does."""
    try:
        await talk.learn()
    except (Broken, UpstreamError) as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - whatever a hostile target sends, the sentence is not kept
        return f"what the target answers cannot be read: {type(error).__name__}"
    return ""


def _lacking(talk: Talk, check: Check) -> str | None:
    """What the target does not say that it can do, and would have to for this check."""
    tools = members(talk.peer.capabilities.get("tools"))
    if check.group in ("hint", "projection", "schema", "errors", "isolation") and not talk.can_project:
        return "the target does not say that answers can be projected"
    if check.group == "disclosure" and not talk.descriptions and DISCLOSURE not in talk.extensions:
        return "there is no resource of tool descriptions"
    if check.group == "search" and FILTERING_LITERAL not in tools and SEARCH not in talk.extensions:
        return "the target does not say that tools can be searched"
    return None


def with_baseline(report: Report, known: Collection[str]) -> Report:
    """A report in which failures that are known do not count.

    Args:
        report: The report.
        known: Lines of a baseline, as `Outcome.line` has them.
    """
    outcomes = [
        replace(outcome, status="known") if outcome.status == "fail" and outcome.line in known else outcome
        for outcome in report.outcomes
    ]
    passed = {outcome.line for outcome in report.outcomes if outcome.status == "pass"}
    return Report(tuple(outcomes), report.unspoken, tuple(line for line in known if line in passed))
