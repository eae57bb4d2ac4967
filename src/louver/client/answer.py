"""Checks a result against the request and the receipt, in this order.

an error result      raised
the receipt          is it well formed, and of this request?
the value            does it hold only what was requested? (projecting it again changes nothing)
the value            does it satisfy the schema derived from the tool's?
the reported schema  is it the derived one, or else does the value satisfy it too?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.client.call import EVERYTHING
from louver.client.receipts import excluded_of, hold, hold_plan, paths_of, read_receipt, view_of
from louver.client.validation_cost import is_affordable
from louver.core.json import is_object, levels, members
from louver.core.projection.request import Projection
from louver.core.wrapper import TEXT_WRAPPERS, WRAPPER, is_wrapped
from louver.errors import InvalidAnswer, LouverError, OutputInvalid, ProjectionRequired, ToolFailed
from louver.limits import MAX_JSON_DEPTH
from louver.wire.names import ERROR, RESULT
from louver.wire.output import blocks, find_output
from louver.wire.projection import Applied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.catalogue.entry import Entry
    from louver.catalogue.plan_cache import ReadyPlan
    from louver.client.tools import KnownTool
    from louver.core.json import Json, Schema
    from louver.wire.output import Output
    from louver.wire.projection import NotApplied


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
    def reported_schema(self) -> Schema | None:
        """The reported schema, if it is not checked yet."""
        return None if self.exact or not isinstance(self.receipt, Applied) else self.receipt.projected_schema

    def checked_against(self, reported: Schema) -> Answer:
        """This answer, with the value also checked against the schema that the receipt reports."""
        receipt, output = self.receipt, self.output
        if not isinstance(receipt, Applied) or output is None:
            return self
        # Projecting the reported schema leaves nothing in it beyond the request.
        projection = EVERYTHING if receipt.shaped is not None else self.projection.with_options(strict=False)
        if output.seat == "structured":
            plan = _plan_of_reported(self.tool, projection, receipt, self.value, reported)
        else:
            within = _within_reported(reported, output)
            known = _plan(self.tool, projection, output, receipt).plan
            plan = self.tool.entry.plan_inferred(projection, within, plan=known)
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
    _check_failed(tool.name, result)
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
    if requested is None and receipt.mode == "view" and receipt.view:
        # The server has applied a default view.
        requested = Projection(view=receipt.view)
    if requested is None:
        raise InvalidAnswer("the receipt is of a projection that nobody asked for", member="applied")
    hold(receipt, requested)
    if requested.mode == "view" and requested.name not in tool.views.named:
        tool = tool.with_views(view_of(receipt))
    output = find_output(result, _text_wrapper(tool, receipt, result.get("structuredContent")))
    if output is None:
        raise InvalidAnswer(f"tool {tool.name!r} answers with the receipt of a projection, and with no output")
    paths = (*paths_of(receipt), *excluded_of(receipt))
    if output.seat == "wrapped text" and any(path.absolute for path in paths):
        # The text stood beside other members, which were left out.
        output = replace(output, value={output.wrapper: output.value}, seat="text beside members")
    _check_depth(output.value)
    ready = _plan(tool, requested, output, receipt)
    hold_plan(receipt, ready.plan)
    if ready.plan.shaped is None and not ready.plan.can_have_kept(output.value):
        raise InvalidAnswer(f"tool {tool.name!r} answers with more than was asked for, and says that it does not")
    if not _applies(ready, output.value):
        ready = _of_shape(tool, requested, output)
    if not ready.validator.is_valid(output.value):
        raise OutputInvalid(f"what tool {tool.name!r} answers does not satisfy its projected schema")
    is_exact = output.seat == "structured" and ready.schema == receipt.projected_schema
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
    if receipt.schema_source != "inferred":
        return None
    # A string may also be what a projection keeps of an object.
    reported = members(members(receipt.projected_schema).get("properties"))
    for wrapper in TEXT_WRAPPERS:
        is_reported = "contentSchema" in members(reported.get(wrapper))
        if isinstance(members(structured).get(wrapper), str) and (is_reported or wrapper == tool.entry.text_wrapper):
            return wrapper
    return None


def _plan(tool: KnownTool, requested: Projection, output: Output, receipt: Applied | None = None) -> ReadyPlan:
    # `strict` was checked before the call.
    requested = requested.with_options(strict=False)
    wrapper, beside = tool.entry.reading_of(output)
    if output.seat == "text" and receipt is not None and is_object(output.value) and _names_wrapper(receipt):
        beside = output.value
    if beside is not None:
        find = partial(tool.shape_plan, requested, wrapper, structured=False)
        ready = find(beside=beside)
        if receipt is None or _is_of(ready, receipt, output.value):
            return ready
        return find(beside=dict.fromkeys(_first_names(receipt)))
    if output.seat != "structured" or tool.source is None:
        return _of_shape(tool, requested, output)
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
    other = entry.plan_for(requested, dict.fromkeys(_first_names(receipt)))
    return other if _is_of(other, receipt, value) else ready


def _names_wrapper(receipt: Applied) -> bool:
    """Whether the receipt's paths begin at the root of a wrapper."""
    paths = (*paths_of(receipt), *excluded_of(receipt))
    return any(path.absolute or path.steps[:1] == (WRAPPER,) for path in paths)


def _first_names(receipt: Applied) -> set[str]:
    """The names by which the receipt's paths begin, besides the wrapper's."""
    return {str(path.steps[0]) for path in paths_of(receipt) if path.steps[:1] not in _ANY_VALUE}


def _is_of(ready: ReadyPlan, receipt: Applied, value: Json) -> bool:
    """Whether a plan is the one of a receipt, and can have kept this value."""
    plan = ready.plan
    is_reported = {*plan.fields} == {*receipt.fields} and {*plan.always} == {*(receipt.always or ())}
    if not is_reported or (plan.shaped is None and not plan.can_have_kept(value)):
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
    return tool.entry.plan_inferred(requested, reported, plan=known)


def _of_shape(tool: KnownTool, requested: Projection, output: Output) -> ReadyPlan:
    """The plan that follows from the request alone."""
    wrapper, beside = tool.entry.reading_of(output)
    requested = requested.with_options(strict=False)
    return tool.shape_plan(requested, wrapper, structured=output.seat == "structured", beside=beside)


def _applies(ready: ReadyPlan, value: Json) -> bool:
    return is_affordable(ready.schema, value, sum(map(len, levels(value))))


def _check_depth(value: Json) -> None:
    if sum(1 for _ in levels(value)) > MAX_JSON_DEPTH:
        raise _too_deep()


def _too_deep() -> InvalidAnswer:
    return InvalidAnswer(f"the answer is nested deeper than {MAX_JSON_DEPTH} levels", limit=MAX_JSON_DEPTH)


def _within_reported(reported: Schema, output: Output) -> Schema:
    """The reported schema of an output with the text in its wrapper parsed, as the value is."""
    properties = members(members(reported).get("properties"))
    held: Any = members(properties.get(output.wrapper or "")).get("contentSchema", True)
    within: Schema = held if isinstance(held, bool) or is_object(held) else True
    if output.seat == "wrapped text":
        return within
    if output.seat == "text" or output.wrapper not in properties or not is_object(reported):
        return reported
    return {**reported, "properties": {**properties, output.wrapper: within}}


def _check_failed(tool: str, result: dict[str, Any]) -> None:
    """Raise our error for an error result: by the code in `_meta` if it is ours, else `ToolFailed` with the content."""
    if not result.get("isError"):
        return
    reported: object = members(members(result.get("_meta")).get(ERROR)).get("code")
    code = next((known for known in _codes(LouverError) if known == reported), None)
    if code == ProjectionRequired.code:
        raise ProjectionRequired(f"a projection is required, and not possible for what tool {tool!r} answers")
    if code == OutputInvalid.code:
        raise OutputInvalid(f"what tool {tool!r} answers does not satisfy its own schema, says the server")
    known = "" if code is None else f" {code}"
    raise ToolFailed(
        f"tool {tool!r} answers with an error{known}: what it says stands in 'content'",
        tool=tool,
        content=blocks(result),
    )


def _codes(of: type[LouverError]) -> Iterator[str]:
    yield of.code
    for each in of.__subclasses__():
        yield from _codes(each)
