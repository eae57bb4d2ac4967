"""One projected call, from the request to the answer.

    find the tool -> read the request -> make the plan -> remove the argument
    -> run -> keep -> validate -> write the answer and its receipt

Requests are refused before the tool runs. Only the validated value is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio.lowlevel import checkpoint

from louver.catalogue.entry import Entry
from louver.concurrency.offload import run_in_thread
from louver.core.json import members
from louver.core.projection.view import Views
from louver.errors import LouverError, OutputInvalid, ProjectionRequired, UnknownField, UnknownView
from louver.limits import MAX_READ_ON_LOOP
from louver.steps.calls.apply import apply_projection, receipt
from louver.steps.calls.decision import decide, decided
from louver.steps.calls.output import find_output_in_thread, write_output
from louver.steps.calls.request import ProjectionRequest, RefusedArgument, RequestOptions, refuse
from louver.steps.calls.unmatched import note_by_schema, note_by_value
from louver.steps.pages import envelope_of
from louver.steps.refusals import error_result, model_error_result
from louver.wire.jsonrpc.codec import Result
from louver.wire.projection import NotApplied, Reason, brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Schema
    from louver.steps.calls.decision import Decision
    from louver.steps.calls.planning import Planning
    from louver.steps.recipient import Recipient
    from louver.steps.request import Next, Request
    from louver.steps.tools.registry import ToolRegistry
    from louver.wire.output import Output


@dataclass(frozen=True, slots=True)
class CallOutcome:
    result: dict[str, Any]
    request: ProjectionRequest | None = None  # the request, if the answer has a receipt for it
    ready_plan: ReadyPlan | None = None  # the plan, if it was projected
    is_partial: bool = False
    notes: tuple[str, ...] = ()  # for its model

    def schema_of(self, output: Output, declared: Schema | None) -> Schema | None:
        """The schema of `output`, which is in the answer, if known; `declared` is the tool's output schema."""
        if declared is None or output.seat != "structured":
            return None
        if self.ready_plan is None:
            return declared
        return None if self.ready_plan.plan.is_inferred else self.ready_plan.schema

    def with_reason(self, result: dict[str, Any], reason: Reason) -> dict[str, Any]:
        """A result that replaces the answer, with a receipt that gives the reason."""
        if self.request is None:
            return result
        meta = {key: value for key, value in members(result.get("_meta")).items() if key != self.request.key}
        return _without_projection({**result, "_meta": meta}, self.request, reason)


class ProjectedCalls:
    """Answers `tools/call`; `envelope` makes the members that every result to a client has."""

    def __init__(
        self,
        tools: ToolRegistry,
        request_options: RequestOptions,
        can_project: Callable[[Request], bool],
        envelope: Callable[[Request], dict[str, Any]],
        planning: Planning,
    ) -> None:
        self._tools = tools
        self._request_options = request_options
        self._can_project = can_project
        self._envelope = envelope
        self._planning = planning

    async def __call__(self, request: Request, recipient: Recipient, call_next: Next) -> CallOutcome:
        name: object = request.params.get("name")
        text = self._request_options.text_of(name, request.params) if isinstance(name, str) else None
        if not isinstance(name, str) or text is None:
            return CallOutcome(await call_next(request))
        try:
            entry = await self._tools.find(name, request, call_next)
            is_listed = entry is not None
            if entry is None:
                # An unlisted tool may answer all the same, and its answer is projected.
                entry = Entry({"name": name, "inputSchema": {}}, Views(), plans=self._tools.views.plans)
            can_project = self._can_project(request)
            decision = decided(entry, text) if can_project else None
            requested = decision.requested if decision else self._request_options.read(entry, request.params)
            inner = self._request_options.without_argument(request, entry)
            if requested is None:
                return CallOutcome(await call_next(inner))
            if not can_project and requested.projection.required:
                return CallOutcome(error_result(_required_error("not_supported"), self._envelope(request)))
            if can_project and is_listed and decision is None:
                entry, decision = await self._decide(entry, requested, text, request, call_next)
            elif can_project and not is_listed:
                self._admit(entry, requested, request)
            result = await call_next(inner)
            reason: Reason | None = skip_reason(result) if can_project else "not_supported"
            if reason is not None:
                is_untouched = can_project and not is_listed
                return CallOutcome(result) if is_untouched else _not_applied(result, requested, reason)
            if not is_listed:
                # The request could not be checked before: the server's own answer comes first.
                entry, decision = await self._decide(entry, requested, text, request, call_next, has_run=True)
            return await self._answer(entry, requested, decision, result, request, recipient, call_next)
        except RefusedArgument as refused:
            return CallOutcome(model_error_result(refused.error, refused.name, self._envelope(request)))

    def _admit(self, entry: Entry, requested: ProjectionRequest, request: Request) -> None:
        try:
            self._planning.admit(entry, requested.projection, request)
        except LouverError as error:
            refuse(error, requested)

    async def _decide(
        self,
        entry: Entry,
        requested: ProjectionRequest,
        text: str,
        request: Request,
        call_next: Next,
        *,
        has_run: bool = False,
    ) -> tuple[Entry, Decision | None]:
        """Refuse what can be refused before the tool runs; names unknown in an old list are looked up in a new one."""
        caller = None if has_run else request
        try:
            try:
                await self._planning.check(entry, requested.projection, caller)
            except (UnknownField, UnknownView):
                newer = await self._tools.refresh(entry.name, request, call_next)
                if newer is None or newer is entry:
                    raise
                await self._planning.check(newer, requested.projection, caller)
                entry = newer
            return entry, decide(entry, requested, text)
        except LouverError as error:
            refuse(error, requested)

    async def _answer(
        self,
        entry: Entry,
        requested: ProjectionRequest,
        decision: Decision | None,
        result: dict[str, Any],
        request: Request,
        recipient: Recipient,
        call_next: Next,
    ) -> CallOutcome:
        output = await find_output_in_thread(result, entry.text_wrapper_in(result.get("structuredContent")))
        if output is None:
            if requested.projection.required:
                return CallOutcome(error_result(_required_error("no_structured_output"), envelope_of(result)))
            return _not_applied(result, requested, "no_structured_output")
        try:
            plan = decision and decision.ready_plan
            is_small = decision is not None and isinstance(result, Result) and result.size <= decision.small_bytes
            kept = await apply_projection(entry, requested.projection, output, plan, is_small=is_small)
            if not kept.is_valid:
                decision = None
                # The server may have changed the tool since it was last listed.
                entry = await self._tools.refresh(entry.name, request, call_next) or entry
                await self._planning.check(entry, requested.projection)
                kept = await apply_projection(entry, requested.projection, output)
            if not kept.is_valid:
                raise OutputInvalid("what is left of the tool's output does not satisfy its projected schema")
            note = None
            if requested.requested_by == "argument":
                if kept.ready_plan.plan.is_inferred:
                    make_note = partial(note_by_value, output.value, kept.ready_plan.plan)
                    note = await run_in_thread(output.value, make_note)
                else:
                    note = decision.note if decision else note_by_schema(entry, requested.projection)
        except LouverError as error:
            if requested.requested_by == "argument":
                raise RefusedArgument(error, requested.argument) from None
            return CallOutcome(error_result(error, envelope_of(result)))
        # The server's own result stays as it came.
        result, dropped = dict(result), 0
        if entry.content == "keep" and output.seat == "structured":
            result["structuredContent"] = kept.value
        else:
            dropped = write_output(result, output, kept.value, keep_blocks=requested.projection.mode == "exclude")
            if len(result["content"][0]["text"]) > MAX_READ_ON_LOOP:
                # The text is serialised once more for the wire: let other tasks run first.
                await checkpoint()
        is_brief = requested.requested_by == "argument" or not recipient.is_program
        if decision is not None and kept.ready_plan is decision.ready_plan and not dropped and not kept.rows:
            applied = decision.receipt(partial=kept.is_partial, is_brief=is_brief)
        else:
            applied = receipt(kept.ready_plan, requested.projection, kept.is_partial, dropped, kept.rows).to_wire()
            applied = brief(applied) if is_brief else applied
        answer = _with_receipt(result, requested, applied)
        request.record.reduced_by(requested.projection.name or requested.projection.mode)
        return CallOutcome(answer, requested, kept.ready_plan, kept.is_partial, () if note is None else (note,))


def skip_reason(result: dict[str, Any]) -> Reason | None:
    """Why a result is not projected, if it is not: an error stays that error, an incomplete result has no output."""
    if result.get("isError"):
        return "error_result"
    if result.get("resultType", "complete") != "complete":
        return "not_complete"
    return None


def _with_receipt(result: dict[str, Any], requested: ProjectionRequest, receipt: dict[str, Any]) -> dict[str, Any]:
    return {**result, "_meta": {**members(result.get("_meta")), requested.key: receipt}}


def _without_projection(result: dict[str, Any], requested: ProjectionRequest, reason: Reason) -> dict[str, Any]:
    if requested.requested_by == "default view":
        # Neither requested nor applied: no receipt.
        return result
    return _with_receipt(result, requested, NotApplied(reason=reason).to_wire())


def _not_applied(result: dict[str, Any], requested: ProjectionRequest, reason: Reason) -> CallOutcome:
    return CallOutcome(_without_projection(result, requested, reason), requested)


def _required_error(reason: Reason) -> ProjectionRequired:
    explanations = {
        "not_supported": "this server does not project for clients that do not declare the extension",
        "no_structured_output": "the tool's output is neither structured nor JSON text",
    }
    return ProjectionRequired(f"a projection is required, and not possible: {explanations[reason]}", reason=reason)
