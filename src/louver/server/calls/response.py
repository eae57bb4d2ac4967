"""The answer to a call on its way to the client, by the steps that the server's author has enabled.

projected answer ─ guidance ─ kept and previewed, if it is too large ─ otherwise a warning, if it is large
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from louver.catalogue.hosts import HOSTS
from louver.concurrency.offload import aside, in_thread
from louver.core.cached import cached_property
from louver.core.json import compact, is_object, members
from louver.core.wrapper import is_wrapped, text_wrapper_in
from louver.errors import LouverError
from louver.limits import MAX_LOG_LINE
from louver.protocol.names import ERROR, GUIDANCE, RESULT_TOOL, WARNINGS
from louver.protocol.output import texts_of
from louver.server.calls.call import left_alone
from louver.server.calls.extras import Extras, is_admitted
from louver.server.calls.output import found_output, without_white_space
from louver.server.calls.warnings import has_fields, less, text_of
from louver.server.recipient import recipient_of
from louver.server.results.preview import Preview, can_be_kept
from louver.server.results.results import About

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.catalogue.guidance import Guidance
    from louver.catalogue.hosts import Host
    from louver.core.json import Json
    from louver.protocol.output import Output
    from louver.server.calls.call import Answered, ProjectedCalls
    from louver.server.calls.request import Asking
    from louver.server.calls.warnings import Warnings
    from louver.server.recipient import Recipient
    from louver.server.request import Next, Request
    from louver.server.results.results import Results
    from louver.server.tools.listing import Listing
    from louver.server.tools.registry import Tools

logger = logging.getLogger(__name__)

_Made = TypeVar("_Made")

_BY_META: Final = ("'_meta.projection'",)


class Learner(Protocol):
    """Learns the fields of answers; `learn` raises LouverError if it cannot store them."""

    def wants(self, tool: str) -> bool: ...

    def learn(self, tool: str, value: Json) -> None: ...


@dataclass(frozen=True, slots=True)
class Beside:
    """The additions to answers, and replacements of them, that the server's author has enabled."""

    guidance: Guidance | None = None
    warnings: Warnings | None = None
    results: Results | None = None  # keeps answers that are too large
    learn: Learner | None = None  # learns from answers of tools without an output schema
    by: tuple[str, ...] = ()  # how calls name fields, then views, if not by `_meta` or the argument
    hosts: Mapping[str, Host] = field(default_factory=lambda: HOSTS)  # client name -> host


NOTHING: Final = Beside()


async def for_model(result: dict[str, Any]) -> dict[str, Any]:
    """The answer without repetition: compact text, and no error in `_meta` that the text holds too."""
    if is_object(result) and result.get("isError") and ERROR in members(result.get("_meta")):
        return {**result, "_meta": {key: said for key, said in result["_meta"].items() if key != ERROR}}
    return await without_white_space(result)


class Answers:
    """Answers `tools/call`: projects, then adds extras."""

    def __init__(
        self,
        calls: ProjectedCalls,
        tools: Tools,
        beside: Beside,
        can_project: Callable[[Request], bool],
        asking: Asking,
        listing: Listing,
    ) -> None:
        self._calls = calls
        self._tools = tools
        self._beside = beside
        self._has_any = any((beside.guidance, beside.warnings, beside.results))
        self._can_project = can_project
        self._asking = asking
        self._listing: Listing = listing

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        answered = await self._calls(request, call_next)
        name: object = request.params.get("name")
        if request.is_inner or not isinstance(name, str):
            return answered.result
        recipient = recipient_of(request, self._beside.hosts)
        if answered.asked is not None and answered.asked.by == "argument":
            recipient = replace(recipient, is_program=False)
        if self._beside.learn is not None and answered.asked is None and self._beside.learn.wants(name):
            await self._learned(self._beside.learn, name, answered.result)
        if not recipient.is_program:
            answered = replace(answered, result=await for_model(answered.result))
        if not self._has_any and not answered.notes:
            return answered.result
        result = answered.result
        if left_alone(result):
            return answered.result
        look = await _Look.at(name, result)
        extras = Extras(answered.notes).joined(await self._guided(look))
        shown = await self._previewed(look, answered, recipient, request, call_next)
        if shown is not None:
            result, preview = shown
            extras = preview.joined(extras)
        else:
            extras = extras.joined(await self._warned(look, recipient, request, call_next))
        if not extras:
            return answered.result
        entry = None
        if recipient.reads_structured and "structuredContent" in result:
            entry = await self._tools.find_if_listed(name, request, call_next)
        return extras.beside(result, recipient, admitted=is_admitted(entry, self._listing))

    async def _learned(self, learner: Learner, tool: str, result: dict[str, Any]) -> None:
        """Learn from an answer; a failure does not affect the call."""
        if left_alone(result):
            return
        output = await found_output(result, text_wrapper_in(result.get("structuredContent")))
        if output is None:
            return
        try:
            await in_thread(lambda: learner.learn(tool, output.value))
        except LouverError as error:
            logger.warning("nothing is learnt of tool %r: %s", tool[:MAX_LOG_LINE], error)

    async def _guided(self, look: _Look) -> Extras:
        guidance = self._beside.guidance
        if guidance is None or not guidance.concerns(look.tool):
            return Extras()
        notes = await look.aside(lambda: guidance.notes(look.tool, look.value, look.texts))
        return Extras(
            tuple(note.text() for note in notes), {GUIDANCE: [note.to_wire() for note in notes]} if notes else {}
        )

    async def _warned(self, look: _Look, recipient: Recipient, request: Request, call_next: Next) -> Extras:
        warnings = self._beside.warnings
        found = [] if warnings is None else await look.aside(lambda: warnings.of(look.result, look.value))
        if not found:
            return Extras()
        advice = await self._advice(look, recipient, request, call_next)
        found = [{**warning, "message": f"{warning['message']} {advice}"} for warning in found]
        return Extras(tuple(map(text_of, found)), {WARNINGS: found})

    async def _advice(self, look: _Look, recipient: Recipient, request: Request, call_next: Next) -> str:
        if not self._can_project(request) or not await look.aside(lambda: has_fields(look.value)):
            return less(())
        # Models cannot set `_meta`.
        by = self._beside.by or (_BY_META if recipient.is_program else ())
        entry = await self._tools.find_if_listed(look.tool, request, call_next)
        if entry is None:
            return less(by)
        if not self._beside.by and (argument := self._asking.argument_of(entry)) is not None:
            by = (f"the argument '{argument}'",)
        return less(by, has_views=bool(entry.views.named))

    async def _previewed(
        self,
        look: _Look,
        answered: Answered,
        recipient: Recipient,
        request: Request,
        call_next: Next,
    ) -> tuple[dict[str, Any], Extras] | None:
        """The preview and extras that replace an answer, if the answer is kept."""
        results, output = self._beside.results, look.output
        if results is None or output is None or not can_be_kept(output) or not self._can_project(request):
            return None
        if await look.aside(lambda: look.size) <= results.options.over_bytes:
            return None
        entry = await self._tools.find_if_listed(look.tool, request, call_next)
        declared = None if entry is None else entry.output_schema
        about = About(look.tool, answered.schema_of(output, declared), output.wrapper, answered.is_partial)
        uri = await results.keep(look.text, about, request)
        if uri is None:
            return None
        kept = Preview(look.tool, uri, look.size, results.options.seconds, is_wrapped(declared))
        is_tool_taken = await self._tools.find_if_listed(RESULT_TOOL, request, call_next) is not None
        by_tool = not recipient.is_program and not is_tool_taken
        shown, extras = await look.aside(lambda: kept.instead_of(look.result, output, by_tool=by_tool))
        return answered.told_otherwise(shown, "result_kept"), extras


class _Look:
    """An answer, and the value in it that rules and counts examine: its output, or else its texts."""

    def __init__(self, tool: str, result: dict[str, Any], output: Output | None) -> None:
        self.tool = tool
        self.result = result
        self.output = output

    @classmethod
    async def at(cls, tool: str, result: dict[str, Any]) -> _Look:
        return cls(tool, result, await found_output(result, text_wrapper_in(result.get("structuredContent"))))

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

    async def aside(self, function: Callable[[], _Made]) -> _Made:
        """Call a function, in a thread if the value is large."""
        return await aside(self.value, function)
