"""The cheapest way to reach the servers of a file, in a conversation of assumed length; never dearer than today.

    today     list + instructions + 16 calls + 16 answers
    deferred  list of 8 tools + instructions + 2 descriptions + 16 calls + 16 answers, from the second conversation on
    gateway   list + instructions + 8 descriptions + 16 calls + 16 answers, trimmed by the suggested views

A host that loads tools on demand pays for the descriptions of 8 tools instead of the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from louver.catalogue.hosts import host_of
from louver.desk.doctor.measure import CONVERSATION_TOOLS

if TYPE_CHECKING:
    from louver.desk.doctor.answers import AnswerCost
    from louver.desk.doctor.measure import ListCost, Measurement
    from louver.gateway.config.model import Exposure

# Those of the recorded session in `benchmarks/README.md`, which uses 8 of 50 tools: tokens of an answer, and
# of the arguments of a call.
CONVERSATION_CALLS: Final = 16
ANSWER_TOKENS: Final = 130
ARGUMENT_TOKENS: Final = 20

# A smaller saving is within what the assumptions may be wrong by.
MIN_SAVING: Final = 0.05


@dataclass(frozen=True, slots=True)
class Recommendation:
    exposure: Exposure | None  # `None`: leave the servers as they are
    today: int  # tokens of a conversation
    with_louver: int  # the same with the exposure; without one, with the cheapest
    reason: str  # why to leave it; empty otherwise

    @property
    def saved(self) -> float:
        return 1 - self.with_louver / self.today if self.today else 0


def recommend(measured: Measurement, client: str | None) -> Recommendation:
    host = host_of(client)
    today = _conversation(measured, measured.today, host.shown, defers=host.defers, views=False)
    costs: dict[Exposure, int] = {
        exposure: _conversation(measured, cost, host.shown, defers=host.defers, views=True)
        for exposure, cost in measured.exposures.items()
    }
    if not costs:
        return Recommendation(None, today, today, "no server has listed a tool")
    exposure, cheapest = min(costs.items(), key=lambda each: each[1])
    if cheapest <= today * (1 - MIN_SAVING):
        return Recommendation(exposure, today, cheapest, "")
    if host.defers:
        reason = "this host loads tools on demand, so a shorter list saves nothing"
    elif cheapest < today:
        reason = f"Louver would save less than {MIN_SAVING:.0%} of a conversation"
    else:
        reason = "the list is short: Louver's own tools and texts would cost as much as they save"
    return Recommendation(None, today, cheapest, reason)


def _conversation(measured: Measurement, cost: ListCost, form: str, *, defers: bool, views: bool) -> int:
    """The tokens of a conversation, each text counted once."""
    used = min(CONVERSATION_TOOLS, measured.tools)
    listed = cost.total * used / max(1, measured.tools) if defers else cost.total
    answers = [_answer(answer, form, views=views) for answer in measured.answers]
    answers += [ANSWER_TOKENS] * (used - len(answers))
    calls = CONVERSATION_CALLS * (cost.calling + ARGUMENT_TOKENS + sum(answers) / max(1, len(answers)))
    return round(listed + cost.instructions + used * cost.describing + calls)


def _answer(answer: AnswerCost, form: str, *, views: bool) -> int:
    """The tokens of an answer; a short one, as of a call without arguments, counts as one of the recorded session."""
    if answer.shown(form) < ANSWER_TOKENS:
        return ANSWER_TOKENS
    return answer.with_view(form) if views else answer.shown(form)
