"""The answer to a call on its way to the client, by the steps that the server's author has enabled.

projected answer ─ guidance ─ kept and previewed, if it is too large ─ otherwise a warning, if it is large
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from louver.concurrency.offload import in_thread, run_in_thread
from louver.core.cached import cached_property
from louver.core.json import compact, is_object, members
from louver.core.size import is_heavier
from louver.core.wrapper import is_wrapped, text_wrapper_in
from louver.errors import LouverError
from louver.limits import MAX_LOG_LINE, MAX_TOON_ON_LOOP
from louver.steps.calls.call import skip_reason
from louver.steps.calls.extras import Extras, is_admitted
from louver.steps.calls.output import compact_text, find_output_in_thread, lone_text, without_white_space
from louver.steps.calls.warnings import has_fields, reduction_advice, warning_text, warnings_of
from louver.steps.recipient import recipient_of
from louver.steps.results.preview import Preview, can_be_kept
from louver.steps.results.results import ResultInfo
from louver.wire.names import ERROR, GUIDANCE, RESULT_TOOL, WARNINGS
from louver.wire.output import is_structured, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.entry import Entry
    from louver.catalogue.guidance import Guidance
    from louver.core.json import Json
    from louver.steps.calls.call import CallOutcome, ProjectedCalls
    from louver.steps.calls.request import RequestOptions
    from louver.steps.recipient import Recipient
    from louver.steps.request import Next, Request
    from louver.steps.results.results import Overflow, Results
    from louver.steps.tools.listing import Listing
    from louver.steps.tools.registry import ToolRegistry
    from louver.wire.output import Output

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
    warnings: bool = False
    results: Results | None = None  # keeps answers that are too large
    overflow: Overflow | None = None  # without `results`: keeps those that a host would not show whole
    learner: Learner | None = None  # learns from answers of tools without an output schema
    field_options: tuple[str, ...] = ()  # how calls name fields, then views, if not by `_meta` or the argument
    toon: bool = False  # models of known hosts get arrays of alike objects as TOON


NO_EXTRAS: Final = ResponseExtras()


async def for_model(result: dict[str, Any]) -> dict[str, Any]:
    """The answer without repetition: compact text, and no error in `_meta` that the text holds too."""
    if is_object(result) and result.get("isError") and ERROR in members(result.get("_meta")):
        return {**result, "_meta": {key: value for key, value in result["_meta"].items() if key != ERROR}}
    return await without_white_space(result)


async def _shorter(result: dict[str, Any], entry: Entry, recipient: Recipient, *, may_be_kept: bool) -> dict[str, Any]:
    """The answer with a lone string out of its JSON, or JSON text without white space: a model loses nothing."""
    if recipient.takes_text_for_structure and entry.lone_text is not None:
        # A kept answer is read by the paths of its structured content.
        return result if may_be_kept else lone_text(result, entry.lone_text)
    return await compact_text(result) if entry.answers_data and not is_structured(result) else result


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
        recipient = recipient_of(request)
        outcome = await self._calls(request, recipient, call_next)
        name: object = request.params.get("name")
        if request.is_inner or not isinstance(name, str):
            return outcome.result
        previewed = None
        if recipient.known_host is not None and not skip_reason(outcome.result):
            shortened = await self._shortened(name, outcome, recipient, request)
            previewed = await self._overflow_preview(name, outcome, shortened.result, recipient, request, call_next)
            if previewed is None:
                outcome = shortened
        if outcome.request is not None and outcome.request.requested_by == "argument":
            recipient = replace(recipient, is_program=False)
        if self._extras.learner is not None and outcome.request is None and self._extras.learner.wants(name):
            await self._learn(self._extras.learner, name, outcome.result)
        result = outcome.result if recipient.is_program else await for_model(outcome.result)
        if (not self._has_extras and not outcome.notes and previewed is None) or skip_reason(result):
            return await self._with_toon(name, result, recipient, request) if self._extras.toon else result
        outcome = replace(outcome, result=result)
        answer = await _ParsedAnswer.parse(name, result)
        extras = Extras(outcome.notes).joined(await self._guidance_extras(answer))
        results = self._extras.results
        if results is not None:
            previewed = await self._preview(results, answer, outcome, recipient, request, call_next)
        if previewed is not None:
            result, preview = previewed
            extras = preview.joined(extras)
        else:
            extras = extras.joined(await self._warning_extras(answer, recipient, request, call_next))
            # Only now: rules, and what is kept, are about the value.
            result = await self._with_toon(name, result, recipient, request) if self._extras.toon else result
        if not extras:
            return result
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
        if not self._extras.warnings:
            return Extras()
        found = await look.run_in_thread(lambda: warnings_of(look.result, look.value))
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

    async def _shortened(self, name: str, outcome: CallOutcome, recipient: Recipient, request: Request) -> CallOutcome:
        entry = self._tools.listed_to(request.identity, name)
        if entry is None:
            return outcome
        shorter = await _shorter(outcome.result, entry, recipient, may_be_kept=self._extras.results is not None)
        if "structuredContent" in outcome.result and "structuredContent" not in shorter:
            request.record.recorded = outcome.result
        return replace(outcome, result=shorter)

    async def _with_toon(
        self, name: str, result: dict[str, Any], recipient: Recipient, request: Request
    ) -> dict[str, Any]:
        """The answer as TOON text, if that is shorter for the model of a known host."""
        host, entry = recipient.known_host, self._tools.listed_to(request.identity, name)
        if host is None or entry is None or skip_reason(result):
            return result
        # Lazy import: the library is an extra.
        from louver.steps.calls.toon import with_toon

        make = partial(with_toon, result, host.shown, is_data=entry.answers_data)
        answer = await in_thread(make) if is_heavier(result, MAX_TOON_ON_LOOP) else make()
        if answer is not result:
            request.record.recorded = result
        return answer

    async def _overflow_preview(
        self,
        name: str,
        answered: CallOutcome,
        shortened: dict[str, Any],
        recipient: Recipient,
        request: Request,
        call_next: Next,
    ) -> tuple[dict[str, Any], Extras] | None:
        """The preview and extras that replace an answer which its host would not show whole, if that is kept."""
        overflow, host = self._extras.overflow, recipient.known_host
        if overflow is None or host is None or host.longest_answer is None or self._tools.has(RESULT_TOOL):
            return None
        # Lazy import: many hosts show answers of any length.
        from louver.steps.results.overflow import is_over, is_readable, may_be_over

        if not may_be_over(shortened, host.longest_answer):
            return None
        entry = self._tools.listed_to(request.identity, name)
        own: object = None if entry is None else entry.meta.get(host.limit_key)
        limit = own if isinstance(own, int) else host.longest_answer
        answer = await _ParsedAnswer.parse(name, answered.result)
        output = answer.output
        if output is None or not can_be_kept(output):
            return None
        if not await answer.run_in_thread(
            lambda: is_over(shortened, output, host, limit) and is_readable(output.value, overflow.page_bytes)
        ):
            return None
        found = await self._preview(None, answer, answered, recipient, request, call_next)
        if found is not None:
            request.record.recorded = None
            await overflow.announce(request, recipient)
        return found

    async def _preview(
        self,
        results: Results | None,
        look: _ParsedAnswer,
        answered: CallOutcome,
        recipient: Recipient,
        request: Request,
        call_next: Next,
    ) -> tuple[dict[str, Any], Extras] | None:
        """The preview and extras that replace an answer, if the answer is kept: in `results`, or as overflow."""
        output = look.output
        if output is None or not can_be_kept(output) or not self._can_project(request):
            return None
        if results is None:
            assert self._extras.overflow is not None, "answers are kept there"
            is_listed, results = self._extras.overflow.is_listed(recipient), self._extras.overflow.open()
        elif await look.run_in_thread(lambda: look.size) <= results.options.over_bytes:
            return None
        else:
            is_listed = True
        entry = await self._tools.find_if_listed(look.tool, request, call_next)
        declared = None if entry is None else entry.output_schema
        about = ResultInfo(look.tool, answered.schema_of(output, declared), output.wrapper, answered.is_partial)
        uri = await results.keep(look.text, about, request)
        if uri is None:
            return None
        argument = None if is_listed or entry is None else self._request_options.argument_of(entry)
        kept = Preview(look.tool, uri, look.size, results.options.seconds, is_wrapped(declared), argument)
        by_tool = not recipient.is_program and not self._tools.has(RESULT_TOOL)
        defers = recipient.known_host is not None and recipient.known_host.defers
        shown, extras = await look.run_in_thread(
            lambda: kept.as_preview(look.result, output, by_tool=by_tool, is_deferred=defers)
        )
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
