"""The answer to a call on its way to the client, by the steps that the server's author has enabled.

projected answer ─ guidance ─ kept and previewed, if it is too large ─ otherwise a warning, if it is large
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from louver.catalogue.hosts import HOSTS
from louver.concurrency.offload import in_thread, run_in_thread
from louver.core.cached import cached_property
from louver.core.json import compact, is_object, members
from louver.core.wrapper import is_wrapped, text_wrapper_in
from louver.errors import LouverError
from louver.limits import MAX_LOG_LINE
from louver.protocol.names import ERROR, GUIDANCE, RESULT_TOOL, WARNINGS
from louver.protocol.output import texts_of
from louver.server.calls.call import skip_reason
from louver.server.calls.extras import Extras, is_admitted
from louver.server.calls.output import find_output_in_thread, without_white_space
from louver.server.calls.warnings import has_fields, reduction_advice, warning_text
from louver.server.recipient import recipient_of
from louver.server.results.preview import Preview, can_be_kept
from louver.server.results.results import ResultInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.catalogue.guidance import Guidance
    from louver.catalogue.hosts import Host
    from louver.core.json import Json
    from louver.protocol.output import Output
    from louver.server.calls.call import CallOutcome, ProjectedCalls
    from louver.server.calls.request import RequestOptions
    from louver.server.calls.warnings import Warnings
    from louver.server.recipient import Recipient
    from louver.server.request import Next, Request
    from louver.server.results.results import Results
    from louver.server.tools.listing import Listing
    from louver.server.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_META_OPTION: Final = ("'_meta.projection'",)


class Learner(Protocol):
    """Learns the fields of answers; `learn` raises LouverError if it cannot store them."""

    def wants(self, tool: str) -> bool: ...

    def learn(self, tool: str, value: Json) -> None: ...


@dataclass(frozen=True, slots=True)
class ResponseExtras:
    """The additions to answers, and replacements of them, that the server's author has enabled."""

    guidance: Guidance | None = None
    warnings: Warnings | None = None
    results: Results | None = None  # keeps answers that are too large
    learner: Learner | None = None  # learns from answers of tools without an output schema
    field_options: tuple[str, ...] = ()  # how calls name fields, then views, if not by `_meta` or the argument
    hosts: Mapping[str, Host] = field(default_factory=lambda: HOSTS)  # client name -> host


NO_EXTRAS: Final = ResponseExtras()


async def for_model(result: dict[str, Any]) -> dict[str, Any]:
    """The answer without repetition: compact text, and no error in `_meta` that the text holds too."""
    if is_object(result) and result.get("isError") and ERROR in members(result.get("_meta")):
        return {**result, "_meta": {key: value for key, value in result["_meta"].items() if key != ERROR}}
    return await without_white_space(result)


class CallResponses:
    """Answers `tools/call`: projects, then adds extras."""

    def __init__(
        self,
        calls: ProjectedCalls,
        tools: ToolRegistry,
        extras: ResponseExtras,
        can_project: Callable[[Request], bool],
        request_options: RequestOptions,
        listing: Listing,
    ) -> None:
        self._calls = calls
        self._tools = tools
        self._extras = extras
        self._has_extras = any((extras.guidance, extras.warnings, extras.results))
        self._can_project = can_project
        self._request_options = request_options
        self._listing: Listing = listing

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        recipient = recipient_of(request, self._extras.hosts)
        outcome = await self._calls(request, recipient, call_next)
        name: object = request.params.get("name")
        if request.is_inner or not isinstance(name, str):
            return outcome.result
        if outcome.request is not None and outcome.request.requested_by == "argument":
            recipient = replace(recipient, is_program=False)
        if self._extras.learner is not None and outcome.request is None and self._extras.learner.wants(name):
            await self._learn(self._extras.learner, name, outcome.result)
        if not recipient.is_program:
            outcome = replace(outcome, result=await for_model(outcome.result))
        if not self._has_extras and not outcome.notes:
            return outcome.result
        result = outcome.result
        if skip_reason(result):
            return outcome.result
        answer = await _ParsedAnswer.parse(name, result)
        extras = Extras(outcome.notes).joined(await self._guidance_extras(answer))
        previewed = await self._preview(answer, outcome, recipient, request, call_next)
        if previewed is not None:
            result, preview = previewed
            extras = preview.joined(extras)
        else:
            extras = extras.joined(await self._warning_extras(answer, recipient, request, call_next))
        if not extras:
            return outcome.result
        entry = None
        if recipient.reads_structured and "structuredContent" in result:
            entry = await self._tools.find_if_listed(name, request, call_next)
        return extras.apply_to(result, recipient, admitted=is_admitted(entry, self._listing))

    async def _learn(self, learner: Learner, tool: str, result: dict[str, Any]) -> None:
        """Learn from an answer; a failure does not affect the call."""
        if skip_reason(result):
            return
        output = await find_output_in_thread(result, text_wrapper_in(result.get("structuredContent")))
        if output is None:
            return
        try:
            await in_thread(lambda: learner.learn(tool, output.value))
        except LouverError as error:
            logger.warning("nothing is learnt of tool %r: %s", tool[:MAX_LOG_LINE], error)

    async def _guidance_extras(self, look: _ParsedAnswer) -> Extras:
        guidance = self._extras.guidance
        if guidance is None or not guidance.concerns(look.tool):
            return Extras()
        notes = await look.run_in_thread(lambda: guidance.notes(look.tool, look.value, look.texts))
        return Extras(
            tuple(note.text() for note in notes), {GUIDANCE: [note.to_wire() for note in notes]} if notes else {}
        )

    async def _warning_extras(
        self, look: _ParsedAnswer, recipient: Recipient, request: Request, call_next: Next
    ) -> Extras:
        warnings = self._extras.warnings
        found = [] if warnings is None else await look.run_in_thread(lambda: warnings.of(look.result, look.value))
        if not found:
            return Extras()
        advice = await self._advice(look, recipient, request, call_next)
        found = [{**warning, "message": f"{warning['message']} {advice}"} for warning in found]
        return Extras(tuple(map(warning_text, found)), {WARNINGS: found})

    async def _advice(self, answer: _ParsedAnswer, recipient: Recipient, request: Request, call_next: Next) -> str:
        if not self._can_project(request) or not await answer.run_in_thread(lambda: has_fields(answer.value)):
            return reduction_advice(())
        # Models cannot set `_meta`.
        options = self._extras.field_options or (_META_OPTION if recipient.is_program else ())
        entry = await self._tools.find_if_listed(answer.tool, request, call_next)
        if entry is None:
            return reduction_advice(options)
        if not self._extras.field_options and (argument := self._request_options.argument_of(entry)) is not None:
            options = (f"the argument '{argument}'",)
        return reduction_advice(options, has_views=bool(entry.views.named))

    async def _preview(
        self,
        look: _ParsedAnswer,
        answered: CallOutcome,
        recipient: Recipient,
        request: Request,
        call_next: Next,
    ) -> tuple[dict[str, Any], Extras] | None:
        """The preview and extras that replace an answer, if the answer is kept."""
        results, output = self._extras.results, look.output
        if results is None or output is None or not can_be_kept(output) or not self._can_project(request):
            return None
        if await look.run_in_thread(lambda: look.size) <= results.options.over_bytes:
            return None
        entry = await self._tools.find_if_listed(look.tool, request, call_next)
        declared = None if entry is None else entry.output_schema
        about = ResultInfo(look.tool, answered.schema_of(output, declared), output.wrapper, answered.is_partial)
        uri = await results.keep(look.text, about, request)
        if uri is None:
            return None
        kept = Preview(look.tool, uri, look.size, results.options.seconds, is_wrapped(declared))
        is_tool_taken = await self._tools.find_if_listed(RESULT_TOOL, request, call_next) is not None
        by_tool = not recipient.is_program and not is_tool_taken
        shown, extras = await look.run_in_thread(lambda: kept.as_preview(look.result, output, by_tool=by_tool))
        request.record.reduced_by("kept")
        return answered.with_reason(shown, "result_kept"), extras


class _ParsedAnswer:
    """An answer, and the value in it that rules and counts examine: its output, or else its texts."""

    def __init__(self, tool: str, result: dict[str, Any], output: Output | None) -> None:
        self.tool = tool
        self.result = result
        self.output = output

    @classmethod
    async def parse(cls, tool: str, result: dict[str, Any]) -> _ParsedAnswer:
        return cls(tool, result, await find_output_in_thread(result, text_wrapper_in(result.get("structuredContent"))))

    @cached_property
    def texts(self) -> list[str] | None:
        return texts_of(self.result) if self.output is None else None

    @cached_property
    def value(self) -> Json:
        return "\n".join(self.texts or ()) if self.output is None else self.output.value

    @cached_property
    def text(self) -> str:
        return compact(self.value)

    @cached_property
    def size(self) -> int:
        return len(self.text.encode("utf-8", "surrogatepass"))

    async def run_in_thread(self, function: Callable[[], _T]) -> _T:
        """Call a function, in a thread if the value is large."""
        return await run_in_thread(self.value, function)
