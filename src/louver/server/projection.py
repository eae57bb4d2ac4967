"""One projected call: from the request to the answer.

The order is the promise. What can be refused is refused before the tool runs::

    find the tool -> read the request -> make the plan -> take the argument off
    -> run -> keep -> validate -> write the answer and its receipt

The value that is written was validated, and nothing but that value is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from louver.core.json import is_object
from louver.core.projection import Projection
from louver.errors import LouverError, OutputInvalid, ProjectionRequired
from louver.protocol.names import ARGUMENT, PROJECTION, PROJECTION_LITERAL
from louver.protocol.receipt import Applied, NotApplied, Reason
from louver.protocol.request import requested, requested_by_argument
from louver.server.content import Output, find_output, write_output
from louver.server.refusals import error_result, protocol_error
from louver.server.wire import envelope_of, result_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from louver.catalogue.entry import Entry, ReadyPlan
    from louver.core.plan import Plan
    from louver.server.tools import Tools


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a call asks for, and how.

    Attributes:
        projection: The request.
        key: The key of `_meta` under which the receipt goes.
        by: Who asked: the client in `_meta`, its model by the argument, or the server's default view.
    """

    projection: Projection
    key: str = PROJECTION_LITERAL
    by: str = "default view"

    def refuse(self, error: LouverError, envelope: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request that is not possible; a model gets one that it can read."""
        if self.by == "argument":
            return error_result(error, envelope)
        raise protocol_error(error) from None


class ProjectedCalls:
    """Answers `tools/call`.

    Args:
        tools: The server's tools.
        argument: Whether tools take the reserved argument.
        defaults: Tool name -> the view that a call without a request gets.
        can_project: Whether this client gets projections at all.
        envelope: What every result to this client has, for answers made here.
    """

    def __init__(
        self,
        tools: Tools,
        *,
        argument: bool,
        defaults: Mapping[str, str],
        can_project: Callable[[ServerRequestContext[Any, Any]], bool],
        envelope: Callable[[ServerRequestContext[Any, Any]], dict[str, Any]],
    ) -> None:
        self._tools = tools
        self._argument = argument
        self._defaults = defaults
        self._can_project = can_project
        self._envelope = envelope

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """The answer, projected if that was asked for; else whatever the server answers."""
        params = ctx.params or {}
        name = params.get("name")
        if not isinstance(name, str) or not self._concerns(name, params):
            return await call_next(ctx)
        entry = await self._tools.find(name, ctx, call_next)
        if entry is None:
            return await call_next(ctx)
        asked, refusal = self._read(entry, params, ctx)
        if refusal is not None:
            return refusal
        if self._argument and entry.takes_argument:
            ctx = _without_argument(ctx)
        if asked is None:
            return await call_next(ctx)
        if not self._can_project(ctx):
            return await self._unprojected(asked, ctx, call_next)
        try:
            checked = _plan_before(entry, asked.projection)
        except LouverError as error:
            return asked.refuse(error, self._envelope(ctx))
        result = result_dict(await call_next(ctx))
        if reason := _left_alone(result):
            return _with_receipt(result, asked, NotApplied(reason=reason))
        output = find_output(result, may_wrap_text=entry.holds_text)
        if output is None:
            return self._not_possible(result, asked)
        return await self._answer(entry, checked, asked, output, result, ctx, call_next)

    def _concerns(self, name: str, params: Mapping[str, Any]) -> bool:
        meta, arguments = params.get("_meta"), params.get("arguments")
        asks = isinstance(meta, Mapping) and (PROJECTION_LITERAL in meta or PROJECTION in meta)
        offers = self._argument and is_object(arguments) and ARGUMENT in arguments
        return asks or offers or name in self._defaults

    def _read(
        self, entry: Entry, params: Mapping[str, Any], ctx: ServerRequestContext[Any, Any]
    ) -> tuple[_Asked | None, dict[str, Any] | None]:
        """The request, or else the refusal of it. `_meta` goes first, the default last."""
        try:
            by_meta = requested(params.get("_meta"))
        except LouverError as error:
            raise protocol_error(error) from None
        by_argument: Projection | None = None
        arguments = params.get("arguments")
        if self._argument and entry.takes_argument and is_object(arguments) and ARGUMENT in arguments:
            try:
                by_argument = requested_by_argument(arguments[ARGUMENT])
            except LouverError as error:
                return None, error_result(error, self._envelope(ctx))
        if by_meta is not None:
            return _Asked(*by_meta, by="_meta"), None
        if by_argument is not None:
            return _Asked(by_argument, by="argument"), None
        if entry.name in self._defaults:
            return _Asked(Projection.view(self._defaults[entry.name])), None
        return None, None

    async def _unprojected(
        self, asked: _Asked, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """The answer to a client that gets no projections."""
        if asked.projection.required:
            return error_result(_required("not_supported"), self._envelope(ctx))
        return _with_receipt(result_dict(await call_next(ctx)), asked, NotApplied(reason="not_supported"))

    def _not_possible(self, result: dict[str, Any], asked: _Asked) -> dict[str, Any]:
        """The answer where the tool's output holds nothing to project."""
        if asked.projection.required:
            return error_result(_required("no_structured_output"), envelope_of(result))
        return _with_receipt(result, asked, NotApplied(reason="no_structured_output"))

    async def _answer(
        self,
        entry: Entry,
        checked: ReadyPlan,
        asked: _Asked,
        output: Output,
        result: dict[str, Any],
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> dict[str, Any]:
        try:
            ready = _plan_after(entry, checked, asked.projection, output)
            kept = ready.plan(output.value)
            if not ready.validator.is_valid(kept):
                # The server may have changed the tool since it was last listed.
                entry = await self._tools.refresh(entry.name, ctx, call_next) or entry
                ready = _plan_after(entry, _plan_before(entry, asked.projection), asked.projection, output)
                kept = ready.plan(output.value)
                if not ready.validator.is_valid(kept):
                    raise OutputInvalid("what is left of the tool's output does not satisfy its projected schema")
        except LouverError as error:
            return error_result(error, envelope_of(result))
        dropped = 0
        if entry.content == "keep" and output.seat == "structured":
            result["structuredContent"] = kept
        else:
            dropped = write_output(result, output.seat, kept, keep_blocks=asked.projection.mode == "exclude")
        return _with_receipt(result, asked, _receipt(ready.plan, asked, kept != output.value, dropped))


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


def _receipt(plan: Plan, asked: _Asked, partial: bool, dropped: int) -> Applied:
    projection = asked.projection
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
        schema_digest=plan.digest if projection.schema != "none" else None,
        projected_schema=plan.schema if projection.schema == "inline" else None,
        schema_precision="shape" if plan.precision == "shape" else None,
    )


def _with_receipt(result: dict[str, Any], asked: _Asked, receipt: Applied | NotApplied) -> dict[str, Any]:
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
