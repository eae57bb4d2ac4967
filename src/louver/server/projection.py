"""One projected call: from the request to the answer.

The order is the promise. What can be refused is refused before the tool runs::

    find the tool -> read the request -> make the plan -> take the argument off
    -> run -> keep -> validate -> write the answer and its receipt

The value that is written was validated, and nothing but that value is written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from louver.catalogue.entry import Entry
from louver.core.json import is_object
from louver.core.measure import is_larger
from louver.core.view import Views
from louver.errors import LouverError, OutputInvalid, ProjectionRequired, UnknownField, UnknownView
from louver.limits import MAX_ON_LOOP
from louver.protocol.names import ARGUMENT
from louver.protocol.receipt import Applied, NotApplied, Reason
from louver.server.asked import Asked, Asking, RefusedArgument, refuse
from louver.server.content import Output, find_output, write_output
from louver.server.refusals import error_result
from louver.server.wire import envelope_of, result_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from louver.catalogue.plans import ReadyPlan
    from louver.core.json import Json
    from louver.core.projection import Projection
    from louver.server.schemas import ProjectedSchemas
    from louver.server.tools import Tools


class ProjectedCalls:
    """Answers `tools/call`.

    Args:
        tools: The server's tools.
        asking: How calls can ask.
        schemas: Keeps the schemas that answers name.
        can_project: Whether this client gets projections at all.
        envelope: What every result to this client has, for answers made here.
    """

    def __init__(
        self,
        tools: Tools,
        asking: Asking,
        schemas: ProjectedSchemas,
        can_project: Callable[[ServerRequestContext[Any, Any]], bool],
        envelope: Callable[[ServerRequestContext[Any, Any]], dict[str, Any]],
    ) -> None:
        self._tools = tools
        self._asking = asking
        self._schemas = schemas
        self._can_project = can_project
        self._envelope = envelope

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """The answer, projected if that was asked for; else whatever the server answers."""
        name: object = (ctx.params or {}).get("name")
        if not isinstance(name, str) or not self._asking.concerns(name, ctx.params or {}):
            return await call_next(ctx)
        try:
            entry = await self._tools.find(name, ctx, call_next)
            if entry is not None:
                return await self._call(entry, ctx, call_next)
            # Unknown, or hidden: if it answers, what it answers is projected all the same.
            unseen = Entry({"name": name, "inputSchema": {}}, Views(), plans=self._tools.views.plans)
            return await self._call(unseen, ctx, call_next, listed=False)
        except RefusedArgument as refused:
            return error_result(refused.error, self._envelope(ctx))

    async def _call(
        self, entry: Entry, ctx: ServerRequestContext[Any, Any], call_next: CallNext, *, listed: bool = True
    ) -> HandlerResult:
        asked = self._asking.read(entry, ctx.params or {})
        inner = _without_argument(ctx) if self._asking.offers_argument(entry) else ctx
        if asked is None:
            return await call_next(inner)
        if not self._can_project(ctx):
            if asked.projection.required:
                return error_result(_required("not_supported"), self._envelope(ctx))
            return _with_receipt(result_dict(await call_next(inner)), asked, NotApplied(reason="not_supported"))
        if not listed:
            # What the request names is unknown with the tool, whose own answer comes first.
            result = result_dict(await call_next(inner))
            if _left_alone(result):
                return result
            entry, checked = await self._plan(entry, asked, ctx, call_next)
            return await self._answer(entry, checked, asked, result, ctx, call_next)
        entry, checked = await self._plan(entry, asked, ctx, call_next)
        result = result_dict(await call_next(inner))
        if reason := _left_alone(result):
            return _with_receipt(result, asked, NotApplied(reason=reason))
        return await self._answer(entry, checked, asked, result, ctx, call_next)

    async def _plan(
        self, entry: Entry, asked: Asked, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> tuple[Entry, ReadyPlan]:
        """The plan, before the tool runs; what an old listing does not know is looked up in a new one."""
        try:
            try:
                return entry, _plan_before(entry, asked.projection)
            except (UnknownField, UnknownView):
                newer = await self._tools.refresh(entry.name, ctx, call_next)
                if newer is None or newer is entry:
                    raise
                return newer, _plan_before(newer, asked.projection)
        except LouverError as error:
            refuse(error, asked)

    async def _answer(
        self,
        entry: Entry,
        checked: ReadyPlan,
        asked: Asked,
        result: dict[str, Any],
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> dict[str, Any]:
        """The projected answer to a call that has run."""
        output = find_output(result, may_wrap_text=entry.holds_text)
        if output is None:
            if asked.projection.required:
                return error_result(_required("no_structured_output"), envelope_of(result))
            return _with_receipt(result, asked, NotApplied(reason="no_structured_output"))
        try:
            ready = _plan_after(entry, checked, asked.projection, output)
            kept, valid = await _keep(ready, output.value)
            if not valid:
                # The server may have changed the tool since it was last listed.
                entry = await self._tools.refresh(entry.name, ctx, call_next) or entry
                ready = _plan_after(entry, _plan_before(entry, asked.projection), asked.projection, output)
                kept, valid = await _keep(ready, output.value)
            if not valid:
                raise OutputInvalid("what is left of the tool's output does not satisfy its projected schema")
        except LouverError as error:
            return error_result(error, envelope_of(result))
        dropped = 0
        if entry.content == "keep" and output.seat == "structured":
            result["structuredContent"] = kept
        else:
            dropped = write_output(result, output.seat, kept, keep_blocks=asked.projection.mode == "exclude")
        self._schemas.remember(ready)
        return _with_receipt(result, asked, _receipt(ready, asked, kept != output.value, dropped))


async def _keep(ready: ReadyPlan, value: Json) -> tuple[Json, bool]:
    """What is kept of a value, and whether it is valid; what takes long is done off the event loop."""
    plan, validator = ready.plan, ready.validator
    kept = await to_thread.run_sync(plan, value) if _is_large(value) else plan(value)
    if validator.is_quick or not _is_large(kept):
        return kept, validator.is_valid(kept)
    return kept, await to_thread.run_sync(validator.is_valid, kept)


def _is_large(value: Json) -> bool:
    return is_larger(value, MAX_ON_LOOP)


def _plan_before(entry: Entry, projection: Projection) -> ReadyPlan:
    """The plan by which a request is checked before the tool runs.

    Raises:
        InvalidProjection: The request is not possible for this tool.
    """
    if entry.output_schema is None or entry.holds_text:
        return entry.text_plan(projection)
    return entry.plan(projection)


def _plan_after(entry: Entry, checked: ReadyPlan, projection: Projection, output: Output) -> ReadyPlan:
    """The plan for the output that came: text that was expected to be JSON may not be."""
    if entry.holds_text and output.seat == "structured":
        return entry.plan(replace(projection, strict=False))
    if entry.output_schema is not None and output.seat == "text":
        return entry.text_plan(projection)
    return checked


def _left_alone(result: dict[str, Any]) -> Reason | None:
    """Why a result is passed on as it is, if it is: an error stays that error, a question is no output."""
    if result.get("isError"):
        return "error_result"
    if result.get("resultType", "complete") != "complete":
        return "not_complete"
    return None


def _receipt(ready: ReadyPlan, asked: Asked, partial: bool, dropped: int) -> Applied:
    projection, plan = asked.projection, ready.plan
    return Applied(
        mode=projection.mode,
        fields=list(plan.fields),
        view=projection.name,
        excluded=list(plan.excluded) or None,
        always=list(plan.always) or None,
        unmatched=list(plan.unmatched) or None,
        suggestions=plan.suggestions or None,
        partial=partial,
        content_dropped=dropped or None,
        schema_digest=ready.digest if projection.schema != "none" else None,
        projected_schema=ready.schema if projection.schema == "inline" else None,
        schema_precision="shape" if plan.precision == "shape" else None,
    )


def _with_receipt(result: dict[str, Any], asked: Asked, receipt: Applied | NotApplied) -> dict[str, Any]:
    if not receipt.applied and asked.by == "default view":
        # Nobody asked, and nothing was done.
        return result
    return {**result, "_meta": {**(result.get("_meta") or {}), asked.key: receipt.to_wire()}}


def _required(reason: Reason) -> ProjectionRequired:
    why = {
        "not_supported": "this server does not project for clients that do not declare the extension",
        "no_structured_output": "the tool's output is neither structured nor JSON text",
    }
    return ProjectionRequired(f"a projection is required, and not possible: {why[reason]}", reason=reason)


def _without_argument(ctx: ServerRequestContext[Any, Any]) -> ServerRequestContext[Any, Any]:
    params = ctx.params or {}
    arguments: Any = params.get("arguments")
    if not is_object(arguments) or ARGUMENT not in arguments:
        return ctx
    rest = {name: value for name, value in arguments.items() if name != ARGUMENT}
    return replace(ctx, params={**params, "arguments": rest})
