"""The record of a call: facts known only while it is answered, collected for the audit and for savings.

audit ── projection ── ... ── policy
  └──────── record ─────────────┘       the tool has run; 3 of its fields are not visible; id 5d1c...
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.steps.savings.size import ShownSize

    _T = TypeVar("_T")


class SharedRun(Protocol):
    """The run of a tool that a call shares with others, each for another output (`louver.steps.result_variants`)."""

    @property
    def is_mixed(self) -> bool:
        """Whether what the calls may see differs."""
        ...

    def answer(self, run: Callable[[], Awaitable[_T]]) -> Awaitable[_T]: ...


@dataclass(slots=True)
class ServerAnswer:
    """What an upstream answered to a call of a tool; under a policy, its visible part."""

    tool: str  # as listed to clients
    result: dict[str, Any] | None  # `None` once it is measured, or if it was counted with an earlier call
    view: str = ""  # how it is reduced: a view's name, `include`, `exclude`, `kept` or `script`
    size: ShownSize | None = None  # once it is measured


@dataclass(slots=True)
class ServerAnswers:
    """The answers that the answer to one call is made of: of a script, those to all of its calls."""

    measure: Callable[[ServerAnswer], None]  # called for inner calls, so that their results are not held
    found: list[ServerAnswer] = field(default_factory=list[ServerAnswer])

    def add(self, tool: str, result: dict[str, Any] | None, *, is_inner: bool) -> None:
        answer = ServerAnswer(tool, result)
        self.found.append(answer)
        if is_inner:
            self.measure(answer)

    def reduced_by(self, view: str) -> None:
        for answer in self.found:
            answer.view = view


@dataclass(slots=True)
class CallRecord:
    is_wanted: bool = False  # by an audit
    received: dict[str, Any] | None = None  # the result as an upstream sent it
    tool: str | None = None  # owner of the output, if the request does not name it
    has_run: bool = False
    is_withheld: bool = False
    fields: int = 0  # fields of the unpruned output
    recorded: dict[str, Any] | None = None  # the answer as the audit reads it, if it is sent in another form
    correlation: str | None = None  # id of its audit record, or of an error in the log
    trace: str | None = None  # id of the trace that it is in, if there is one
    answers: ServerAnswers | None = None  # if savings are counted
    run: SharedRun | None = None  # `None`: a run of its own
    client: Any = field(default=None, compare=False)  # the gateway's, once it is looked up

    def reduced_by(self, view: str) -> None:
        """Note how the answers so far are reduced."""
        if self.answers is not None:
            self.answers.reduced_by(view)
