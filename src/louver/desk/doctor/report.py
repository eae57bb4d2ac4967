"""The table of `louver doctor`, within 80 columns, and the advice below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from louver.catalogue.hosts import host_of
from louver.cli import terminal
from louver.desk.doctor.measure import CONVERSATION_TOOLS, NEW_TOOLS
from louver.desk.doctor.recommend import ANSWER_TOKENS, CONVERSATION_CALLS
from louver.limits import CHARACTERS_A_LIST_TOKEN, CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.desk.doctor.answers import AnswerCost
    from louver.desk.doctor.measure import ListCost, Measurement
    from louver.desk.doctor.recommend import Recommendation
    from louver.desk.hosts.table import HostSource

_WIDTH = 80

MIN_TOON_SAVING = 0.1
"""Share of the measured answers that the setting `toon` must save to be named."""

_ASSUMPTIONS = f"""\
A conversation: {CONVERSATION_CALLS} calls of {CONVERSATION_TOOLS} tools, each text counted once. With deferred
tools, the second one or later, with {NEW_TOOLS} tools not used before. Answers: one of
each called tool; a conversation assumes {ANSWER_TOKENS} tokens or more. Tokens are
estimated: characters / {CHARACTERS_A_LIST_TOKEN} in lists, characters / {CHARACTERS_A_TOKEN} in answers.
"""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One place of a host's file, with what was measured and what is recommended."""

    source: HostSource
    measured: Measurement
    advice: Recommendation

    @property
    def form(self) -> str:
        return host_of(self.source.host.client).shown

    @property
    def recommended(self) -> ListCost | None:
        return None if self.advice.exposure is None else self.measured.exposures[self.advice.exposure]

    @property
    def saved_by_toon(self) -> float:
        """The share of the measured answers that the setting `toon` saves."""
        today = sum(answer.shown(self.form) for answer in self.measured.answers)
        saved = [
            answer.shown(self.form) - toon for answer in self.measured.answers if (toon := answer.with_toon(self.form))
        ]
        return sum(saved) / today if today else 0

    def to_json(self) -> dict[str, Any]:
        recommended = self.recommended
        return {
            "host": self.source.host.name,
            "file": str(self.source.path),
            "servers": [
                {
                    "name": state.name,
                    "tools": len(state.tools),
                    "list_tokens": self.measured.today.servers.get(state.name, 0),
                    "list_tokens_with_louver": None if recommended is None else recommended.servers.get(state.name, 0),
                    "problem": state.problem,
                    "answers": [self._answer(each) for each in self.measured.answers if each.tool.server == state.name],
                }
                for state in self.measured.states
            ],
            "exposures": {name: cost.total for name, cost in self.measured.exposures.items()},
            "recommended": self.advice.exposure,
            "reason": self.advice.reason,
            "conversation_tokens": self.advice.today,
            "conversation_tokens_with_louver": self.advice.with_louver,
        }

    def _answer(self, answer: AnswerCost) -> dict[str, Any]:
        tokens = {"tokens": answer.shown(self.form), "tokens_with_view": answer.with_view(self.form)}
        return {"tool": answer.name, **tokens, "tokens_with_toon": answer.with_toon(self.form)}


def show(diagnoses: Sequence[Diagnosis]) -> None:
    """Print one table for all files, the assumptions, and what to do."""
    console = terminal.console()
    console.width = min(console.width, _WIDTH)
    console.print(_table(diagnoses))
    console.print(_ASSUMPTIONS, highlight=False)
    for each in diagnoses:
        for line in _advice(each):
            console.print(terminal.literal_text(line), soft_wrap=True)


def _table(diagnoses: Sequence[Diagnosis]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.show_edge = False
    table.add_column("server", overflow="fold")
    for heading in ("tools", "list today", "with Louver", "answers"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in diagnoses:
        table.add_row(terminal.literal_text(each.source.host.title, "bold"))
        for row in _rows(each):
            table.add_row(*map(terminal.literal_text, row))
        table.add_section()
    return table


def _rows(each: Diagnosis) -> list[tuple[str, str, str, str, str]]:
    today, recommended, answers = each.measured.today, each.recommended, each.measured.answers
    listed = recommended is not None and any(recommended.servers.values())
    rows: list[tuple[str, str, str, str, str]] = []
    for state in each.measured.states:
        if state.problem is not None:
            rows.append((f"  {state.name}: {state.problem}", "", "", "", ""))
            continue
        name = state.name
        count = _number(None if recommended is None else recommended.servers.get(name)) if listed else ""
        of_server = [answer for answer in answers if answer.tool.server == name]
        rows.append((f"  {name}", str(len(state.tools)), _number(today.servers[name]), count, _sizes(each, of_server)))
    if recommended is not None:
        rows += [("  Louver", "", "", _number(recommended.own), "")] if recommended.own else []
        total = _number(recommended.total)
    else:
        total = ""
    rows.append(("  total", str(each.measured.tools), _number(today.total), total, _sizes(each, answers)))
    with_louver = _number(each.advice.with_louver) if each.advice.exposure else ""
    rows.append(("  a conversation", "", _number(each.advice.today), with_louver, ""))
    return rows


def _sizes(each: Diagnosis, answers: Sequence[AnswerCost]) -> str:
    """The tokens of one answer of each tool; with Louver, if views are recommended."""
    if not answers:
        return ""
    today = sum(answer.shown(each.form) for answer in answers)
    trimmed = sum(answer.with_view(each.form) for answer in answers)
    return f"{today:,} → {trimmed:,}" if each.advice.exposure and trimmed < today else f"{today:,}"


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _advice(each: Diagnosis) -> list[str]:
    title = each.source.title
    saved = each.saved_by_toon
    toon = [f'  The setting "toon" of a gateway saves {saved:.0%} of the answers.'] if saved > MIN_TOON_SAVING else []
    if each.advice.exposure is None:
        return [f"{title}: leave it, since {each.advice.reason}.", *toon]
    since = ", from the second one on" if each.advice.exposure == "deferred" else ""
    saving = f"the exposure {each.advice.exposure!r} saves {each.advice.saved:.0%} of a conversation{since}"
    command = f"louver doctor --apply {each.source.host.name}"
    return [f"{title}: {saving}.", f"  {command}    shows the change, and asks before it writes", *toon]
