"""Running the checks in each protocol revision, and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from louver.core.json import members
from louver.wire.names import DISCLOSURE, FILTERING_LITERAL, SEARCH
from louver_conformance.checks import FUNCTIONS, GROUPS, Check, all_checks
from louver_conformance.context import Context
from louver_conformance.errors import CheckFailed, NotOffered, NotTried, TargetError, TargetTimeout
from louver_conformance.fixture import Fixture
from louver_conformance.limits import MAX_DETAIL_CHARACTERS
from louver_conformance.session import REVISIONS, Deadline
from louver_conformance.stability import drop_unstable_samples
from louver_conformance.validator_process import ValidatorProcess

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from louver.errors import LouverError
    from louver_conformance.session import Target

Status = Literal[
    "pass",
    "fail",  # a MUST is broken, or a group that was named is not offered
    "warn",  # a SHOULD is broken
    "known",  # a failure that the baseline lists
    "not offered",  # the target does not declare the feature, or has nothing to try it on
    "not tried",  # a check in `after` has not passed, or the target has not answered in time
]

_CONNECTS, _ANSWERS = "connects", "tools-answer"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one check in one protocol revision."""

    check: Check
    revision: str
    status: Status
    # The reason, unless it has passed. It never holds a value of a tool's answer.
    detail: str = ""
    # Whether the clock has decided.
    is_late: bool = False

    @property
    def line(self) -> str:
        """The line for it in a baseline."""
        return f"{self.revision} {self.check.id}"


@dataclass(frozen=True, slots=True)
class Report:
    outcomes: tuple[Outcome, ...]
    # Protocol revision -> the reason why nothing was checked in it.
    unsupported: dict[str, str]
    # Lines of the baseline whose checks pass.
    fixed: tuple[str, ...] = ()

    @property
    def is_passed(self) -> bool:
        """Whether every failure is a known one."""
        return all(outcome.status != "fail" for outcome in self.outcomes)

    @property
    def is_decided(self) -> bool:
        """Whether no check ran out of time."""
        return not any(outcome.is_late for outcome in self.outcomes)

    def count(self, status: Status) -> int:
        return sum(outcome.status == status for outcome in self.outcomes)


async def run(
    target: Target,
    *,
    revisions: Sequence[str] = (),
    groups: Collection[str] = (),
    fixture: Fixture | None = None,
    timeout_s: float | None = None,
) -> Report:
    """Check a target in the revisions that it must speak, and on the groups that it must offer.

    By default these are the revisions that it speaks, at least one, and the groups that it offers. `timeout_s` is how
    long an answer may take: a check that waits longer is not tried.
    """
    for group in GROUPS:
        import_module(f"louver_conformance.groups.{group}")
    selection = _Selection(all_checks(), frozenset(groups))
    outcomes: list[Outcome] = []
    unsupported: dict[str, TargetError] = {}
    validator = ValidatorProcess()
    try:
        for revision in revisions or REVISIONS:
            context = Context(target, revision, fixture or Fixture(), validator, Deadline(timeout_s))
            try:
                await context.open()
            except TargetError as error:
                unsupported[revision] = error
                continue
            try:
                outcomes += await _run_checks(context, selection)
            finally:
                await context.close()
    finally:
        await validator.close()
    if revisions or not outcomes:
        first = [_failed(selection.by_id[_CONNECTS], revision, "fail", why) for revision, why in unsupported.items()]
        return Report((*first, *outcomes), {})
    return Report(tuple(outcomes), {revision: why.message for revision, why in unsupported.items()})


def _failed(check: Check, revision: str, status: Status, error: LouverError) -> Outcome:
    """The outcome of a check that an error has ended: not tried, if the clock did."""
    is_late = isinstance(error, TargetTimeout)
    return Outcome(check, revision, "not tried" if is_late else status, error.message[:MAX_DETAIL_CHARACTERS], is_late)


class _Selection:
    """The checks to run, and the outcomes to report."""

    def __init__(self, checks: list[Check], groups: frozenset[str]) -> None:
        self.by_id = {each.id: each for each in checks}
        self.groups = groups
        needed = {each.id for each in checks if not groups or each.group in groups} | {_CONNECTS, _ANSWERS}
        # A check comes after those that it depends on.
        for each in reversed(checks):
            if each.id in needed:
                needed.update(each.after)
        self.checks = [each for each in checks if each.id in needed]

    def reports(self, outcome: Outcome) -> bool:
        """Whether to report an outcome: of other groups only failures."""
        return not self.groups or outcome.check.group in self.groups or outcome.status == "fail"


async def _run_checks(context: Context, selection: _Selection) -> list[Outcome]:
    statuses: dict[str, Status] = {}
    outcomes: list[Outcome] = []
    problem: LouverError | None = None
    for each in selection.checks:
        if each.revisions and context.revision not in each.revisions:
            continue
        outcome = await _outcome(context, each, selection, statuses, problem)
        if each.id == _CONNECTS:
            problem = await _discover(context)
        statuses[each.id] = outcome.status
        if selection.reports(outcome):
            outcomes.append(outcome)
    return outcomes


async def _outcome(
    context: Context, check: Check, selection: _Selection, statuses: dict[str, Status], problem: LouverError | None
) -> Outcome:
    failed: Status = "fail" if check.level == "MUST" else "warn"
    if problem is not None:
        return _failed(check, context.revision, "fail" if check.id == _ANSWERS else "not tried", problem)
    if (missing := _missing_feature(context, check)) is not None:
        is_named = check.group in selection.groups
        return Outcome(check, context.revision, failed if is_named else "not offered", missing)
    for name in check.after:
        if statuses.get(name, "pass") not in ("pass", "not offered"):
            return Outcome(check, context.revision, "not tried", f"{name!r} has not passed")
    try:
        await _call(check, context)
    except NotOffered as error:
        return Outcome(check, context.revision, "not offered", error.message[:MAX_DETAIL_CHARACTERS])
    except NotTried as error:
        is_late = bool(context.timed_out)
        return Outcome(check, context.revision, "not tried", error.message[:MAX_DETAIL_CHARACTERS], is_late)
    except (CheckFailed, TargetError) as error:
        return _failed(check, context.revision, failed, error)
    except Exception as error:  # noqa: BLE001 - whatever a hostile target makes a check raise, the sentence is broken
        return Outcome(
            check, context.revision, failed, f"what the target answers cannot be judged: {type(error).__name__}"
        )
    return Outcome(check, context.revision, "pass")


async def _call(check: Check, context: Context) -> None:
    """Call the function of a check; again if samples have changed by themselves."""
    try:
        await FUNCTIONS[check.id](context)
    except CheckFailed:
        if not await drop_unstable_samples(context):
            raise
        await _call(check, context)


async def _discover(context: Context) -> LouverError | None:
    """The problem that keeps all other checks from being run."""
    try:
        await context.discover()
    except (CheckFailed, TargetError) as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever a hostile target sends, the sentence is broken
        return CheckFailed(f"what the target answers cannot be read: {type(error).__name__}")
    return None


def _missing_feature(context: Context, check: Check) -> str | None:
    """The feature that the check needs and the target does not declare."""
    tools = members(context.session.capabilities.get("tools"))
    if check.group in ("hint", "projection", "schema", "errors", "isolation") and not context.can_project:
        return "the target does not say that answers can be projected"
    if check.group == "disclosure" and not context.descriptions_resource and DISCLOSURE not in context.extensions:
        return "there is no resource of tool descriptions"
    if check.group == "search" and FILTERING_LITERAL not in tools and SEARCH not in context.extensions:
        return "the target does not say that tools can be searched"
    return None


def with_baseline(report: Report, known: Collection[str]) -> Report:
    """The report with the failures in `known`, lines of a baseline, marked as known."""
    outcomes = [
        replace(outcome, status="known") if outcome.status == "fail" and outcome.line in known else outcome
        for outcome in report.outcomes
    ]
    passed = {outcome.line for outcome in report.outcomes if outcome.status == "pass"}
    return Report(tuple(outcomes), report.unsupported, tuple(line for line in known if line in passed))
