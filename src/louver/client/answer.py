"""Checks a result against the request and the receipt, in this order.

an error result      raised
the receipt          is it well formed, and of this request?
the value            does it hold only what was requested? (projecting it again changes nothing)
the value            does it satisfy the schema derived from the tool's?
the reported schema  is it the derived one, or else does the value satisfy it too?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.plan_cache import ReadyPlan
from louver.client.errors import check_failed
from louver.client.receipts import hold, hold_plan, paths_of, read_receipt, view_of
from louver.client.request import EVERYTHING
from louver.client.validation_cost import is_affordable
from louver.core.json import digest, is_object, levels, members
from louver.core.projection.request import Projection
from louver.core.schema.validate import validator
from louver.core.wrapper import WRAPPER, is_wrapped, text_wrapper_in
from louver.errors import InvalidAnswer, OutputInvalid, ProjectionRequired
from louver.limits import MAX_JSON_DEPTH
from louver.protocol.names import RESULT
from louver.protocol.output import find_output
from louver.protocol.receipt import Applied

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry
    from louver.client.tools import KnownTool
    from louver.core.json import Json, Schema
    from louver.protocol.output import Output
    from louver.protocol.receipt import NotApplied


# Beginnings of paths that do not depend on the members of a value.
_ANY_VALUE: Final = ((), (None,), (WRAPPER,))


@dataclass(frozen=True, slots=True)
class Answer:
    tool: KnownTool
    projection: Projection  # `value` is a projection for this
    output: Output | None  # the whole output, and its place in the result
    value: Json  # what was requested
    schema: Schema  # of `value`
    receipt: Applied | NotApplied | None
    exact: bool = False  # `schema` comes from the tool's exact schema, and is the reported one

    @property
    def applied(self) -> bool:
        return isinstance(self.receipt, Applied)

    @property
    def pruned(self) -> bool:
        """Whether more was received than requested."""
        return self.output is not None and not self.applied and self.value != self.output.value

    @property
    def reported_schema(self) -> Schema | str | None:
        """The reported schema if it is not checked yet, or its digest."""
        if self.exact or not isinstance(self.receipt, Applied):
            return None
        reported = self.receipt.projected_schema
        return self.receipt.schema_digest if reported is None else reported

    def checked_against(self, reported: Schema) -> Answer:
        """This answer, with the value also checked against the schema that the receipt reports."""
        receipt, output = self.receipt, self.output
        if not isinstance(receipt, Applied) or output is None:
            return self
        if receipt.schema_digest not in (None, digest(reported)):
            raise InvalidAnswer("the receipt tells a schema that its own digest does not name", member="schemaDigest")
        # Projecting the reported schema leaves nothing in it beyond the request.
        projection = EVERYTHING if receipt.shaped is not None else replace(self.projection, strict=False)
        if output.seat == "wrapped text":
            # Paths may begin with the wrapper, which the value does not have.
            within = _schema_in_text(reported, output.wrapper or "")
            plan = self.tool.entry.plan_inferred(projection, within, output.wrapper)
        else:
            plan = _plan_of_reported(self.tool, projection, receipt, self.value, reported)
        if not _applies(plan, self.value):
            return self
        if not plan.validator.is_valid(self.value):
            raise OutputInvalid(
                f"what tool {self.tool.name!r} answers does not satisfy the schema that its receipt tells"
            )
        return self if self.tool.is_exact else replace(self, schema=plan.schema)

    def text(self, result: dict[str, Any]) -> str | None:
        """The JSON text of the value, if it is a member of structured content."""
        if self.output is None or self.output.seat != "wrapped text" or self.pruned:
            return None
        return members(result.get("structuredContent")).get(self.output.wrapper or "")

    def unwrapped(self) -> tuple[Json, Schema]:
        """The value and its schema, without the SDK's wrapper around an output that is not an object."""
        value, schema = self.value, self.schema
        structured = self.output is not None and self.output.seat == "structured"
        if not structured or not is_wrapped(self.tool.source) or not is_object(value) or value.keys() != {WRAPPER}:
            return value, schema
        held: Any = members(members(schema).get("properties")).get(WRAPPER)
        if held is None:
            return value, schema
        definitions = members(members(schema).get("$defs"))
        return value[WRAPPER], {**held, "$defs": definitions} if is_object(held) and definitions else held


def judge(tool: KnownTool, requested: Projection | None, result: dict[str, Any], *, prune: bool) -> Answer:
    """Check a result. `prune` removes what was not requested if the server has not projected."""
    check_failed(tool.name, result)
    try:
        # If the tool does not project and nothing was requested, the key is another extension's.
        receipt = read_receipt(result) if tool.projects or requested is not None else None
        if isinstance(receipt, Applied):
            return _projected(tool, requested, receipt, result)
        if requested is not None and requested.required:
            reason = None if receipt is None else receipt.reason
            message = f"a projection is required, and tool {tool.name!r} has answered without one"
            raise ProjectionRequired(message, reason=reason)
        return _whole(tool, requested if prune else None, receipt, result)
    except RecursionError:
        pass
    raise _too_deep()


def _projected(tool: KnownTool, requested: Projection | None, receipt: Applied, result: dict[str, Any]) -> Answer:
    if requested is None and receipt.mode == "view":
        # The server has applied a default view.
        requested = Projection.view(receipt.view or "")
    if requested is None:
        raise InvalidAnswer("the receipt is of a projection that nobody asked for", member="applied")
    hold(receipt, requested)
    if requested.mode == "view" and requested.name not in tool.views.named:
        tool = tool.with_views(view_of(receipt))
    output = find_output(result, _text_wrapper(tool, receipt, result.get("structuredContent")))
    if output is None:
        raise InvalidAnswer(f"tool {tool.name!r} answers with the receipt of a projection, and with no output")
    _check_depth(output.value)
    ready = _plan(tool, requested, output, receipt)
    hold_plan(receipt, ready.plan)
    if ready.plan.shaped is None and ready.plan(output.value) != output.value:
        raise InvalidAnswer(f"tool {tool.name!r} answers with more than was asked for, and says that it does not")
    if not _applies(ready, output.value):
        ready = _of_shape(tool, requested, output)
    if not ready.validator.is_valid(output.value):
        raise OutputInvalid(f"what tool {tool.name!r} answers does not satisfy its projected schema")
    is_exact = output.seat == "structured" and ready.digest == receipt.schema_digest
    return Answer(tool, requested, output, output.value, ready.schema, receipt, is_exact)


def _whole(tool: KnownTool, requested: Projection | None, receipt: NotApplied | None, result: dict[str, Any]) -> Answer:
    """Check a result that is not projected, and prune it to `requested`."""
    output = find_output(result, None if requested is None else tool.entry.text_wrapper)
    if output is None or RESULT in members(result.get("_meta")):
        # The preview of a kept result satisfies no known schema.
        return Answer(tool, EVERYTHING, None, None if output is None else output.value, True, receipt)
    _check_depth(output.value)
    wanted = requested or EVERYTHING
    ready = _plan(tool, wanted, output)
    value = ready.plan(output.value)
    if not _applies(ready, value):
        ready = _of_shape(tool, wanted, output)
    if not ready.validator.is_valid(value):
        raise OutputInvalid(f"what tool {tool.name!r} answers does not satisfy its output schema")
    return Answer(tool, wanted, output, value, ready.schema, receipt)


def _text_wrapper(tool: KnownTool, receipt: Applied, structured: Json) -> str | None:
    """The property of structured content with the projected JSON text, if any."""
    if receipt.schema_source != "inferred" or not tool.may_answer_text:
        return None
    wrapper = text_wrapper_in(structured)
    # One string may also be all that a projection keeps.
    reported = members(members(members(receipt.projected_schema).get("properties")).get(wrapper or ""))
    return wrapper if tool.entry.text_wrapper is not None or "contentSchema" in reported else None


def _plan(tool: KnownTool, requested: Projection, output: Output, receipt: Applied | None = None) -> ReadyPlan:
    if output.seat != "structured" or tool.source is None:
        return _of_shape(tool, requested, output)
    # `strict` was checked before the call.
    requested = replace(requested, strict=False)
    if receipt is None:
        return tool.entry.plan_for(requested, output.value)
    return _plan_of_receipt(tool.entry, requested, receipt, output.value)


def _plan_of_receipt(entry: Entry, requested: Projection, receipt: Applied, value: Json) -> ReadyPlan:
    """The plan for a projected value.

    What is left of an object can look like the SDK's wrapper, or lack the member that was meant. Then the receipt tells
    how the paths were read; each reading keeps nothing beyond the request.
    """
    ready = entry.plan_for(requested, value)
    if not (ready.plan.is_wrapped or ready.plan.is_of_object) or _is_of(ready, receipt, value):
        return ready
    names = {str(path.steps[0]) for path in paths_of(receipt) if path.steps[:1] not in _ANY_VALUE}
    other = entry.plan_for(requested, dict.fromkeys(names))
    return other if _is_of(other, receipt, value) else ready


def _is_of(ready: ReadyPlan, receipt: Applied, value: Json) -> bool:
    """Whether a plan is the one of a receipt, and can have kept this value."""
    plan = ready.plan
    is_reported = {*plan.fields} == {*receipt.fields} and {*plan.always} == {*(receipt.always or ())}
    if not is_reported or (plan.shaped is None and plan(value) != value):
        return False
    return not _applies(ready, value) or ready.validator.is_valid(value)


def _plan_of_reported(
    tool: KnownTool, requested: Projection, receipt: Applied, value: Json, reported: Schema
) -> ReadyPlan:
    """The plan for a value with the schema that its receipt reports."""
    if not is_wrapped(tool.source):
        return tool.entry_of(reported).plan(requested)
    known = _plan_of_receipt(tool.entry, requested, receipt, value).plan
    marked = {**reported, "x-fastmcp-wrap-result": True} if is_object(reported) else reported
    if not known.is_of_object and is_wrapped(marked):
        return tool.entry_of(marked).plan(requested)
    # The reported schema has members beside `result`, so it does not tell how the paths were read.
    plan = known.knowing(reported)
    return ReadyPlan(plan, validator(plan.schema), plan.schema, digest(plan.schema))


def _of_shape(tool: KnownTool, requested: Projection, output: Output) -> ReadyPlan:
    """The plan that follows from the request alone."""
    wrapper = output.wrapper or tool.entry.text_wrapper
    return tool.shape_plan(replace(requested, strict=False), wrapper, structured=output.seat == "structured")


def _applies(ready: ReadyPlan, value: Json) -> bool:
    return is_affordable(ready.schema, value, sum(map(len, levels(value))))


def _check_depth(value: Json) -> None:
    if sum(1 for _ in levels(value)) > MAX_JSON_DEPTH:
        raise _too_deep()


def _too_deep() -> InvalidAnswer:
    return InvalidAnswer(f"the answer is nested deeper than {MAX_JSON_DEPTH} levels", limit=MAX_JSON_DEPTH)


def _schema_in_text(reported: Schema, wrapper: str) -> Schema:
    held = members(members(members(reported).get("properties")).get(wrapper))
    within: Any = held.get("contentSchema", True)
    return within if isinstance(within, bool) or is_object(within) else True
