"""The kept value of a projected answer, and its receipt."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from louver.core.json import compact, is_array, levels, members
from louver.core.projection.request import Projection
from louver.errors import LouverError
from louver.wire.names import ARGUMENT, PROJECTION, PROJECTION_LITERAL
from louver_conformance.assertions import (
    difference,
    exclude,
    first,
    include,
    kept_of,
    must_have_extension,
    receipt_of,
    refusal_of,
    requests,
    result_of,
    same,
)
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered
from louver_conformance.field_picks import at_each_depth, in_top_array, is_closed, nested, parent, plain_name, rows
from louver_conformance.limits import MAX_FIELDS
from louver_conformance.sample import json_in, output_of, texts_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from louver.core.json import Json
    from louver_conformance.context import Context
    from louver_conformance.sample import Sample

# Characters of a left-out text that is looked for in the answer: shorter ones are there by chance.
_SHORTEST = 6


# The receipt


@check("receipt-given")
async def receipt_given(context: Context) -> None:
    for sample in context.samples:
        for request in requests(sample) if sample.tool.is_projectable else ():
            if not isinstance(receipt_of(await context.call(sample, request)).get("applied"), bool):
                raise CheckFailed(f"'_meta.projection' of the answer of {sample.tool.name!r} does not say 'applied'")


@check("applied-is-trimmed")
async def applied_is_trimmed(context: Context) -> None:
    sample = first(context)
    answer = await context.call(sample, include(sample))
    if receipt_of(answer).get("applied") is True and same(kept_of(result_of(answer, "include")), sample.value):
        raise CheckFailed("'applied' is true, and nothing is left out")


@check("not-applied-is-whole")
async def not_applied_is_whole(context: Context) -> None:
    for sample in context.samples:
        for request in requests(sample):
            answer = await context.call(sample, request)
            if receipt_of(answer).get("applied") is False and answer.result is not None and not answer.is_error_result:
                kept = kept_of(answer.result)
                if kept is not None and not same(kept, sample.value):
                    raise CheckFailed(f"'applied' is false, and the answer of {sample.tool.name!r} is not whole")


@check("receipt-repeats")
async def receipt_repeats(context: Context) -> None:
    sample = first(context)
    for request in (include(sample), exclude(sample)):
        receipt = receipt_of(await context.call(sample, request))
        mode = request["mode"]
        if receipt.get("mode") != mode:
            raise CheckFailed(f"the receipt of mode {mode!r} says another 'mode'")
        fields = receipt.get("fields")
        if not is_array(fields) or _read(mode, fields) != _read(mode, request["fields"]):
            raise CheckFailed(f"'fields' in the receipt of mode {mode!r} are not those that were asked for")
    for name in sample.tool.views:
        if receipt_of(await context.call(sample, {"mode": "view", "view": name})).get("view") != name:
            raise CheckFailed("the receipt of mode 'view' does not say which 'view'")


@check("fields-canonical")
async def fields_canonical(context: Context) -> None:
    must_have_extension(context)
    sample = first(context, parent, lacks="has an object in it")
    above, child = parent(sample)
    receipt = receipt_of(await context.call(sample, {"mode": "include", "fields": [child, above, above]}))
    if receipt.get("fields") != [above]:
        raise CheckFailed("'fields' in the receipt do not name each field once, and a parent instead of its children")


@check("partial-told")
async def partial_reveals(context: Context) -> None:
    must_have_extension(context)
    sample = first(context)
    for request, partial in (
        (include(sample), True),
        (exclude(sample), True),
        ({"mode": "include", "fields": ["*"]}, False),
    ):
        if receipt_of(await context.call(sample, request)).get("partial") is not partial:
            left_out = "something" if partial else "nothing"
            raise CheckFailed(f"'partial' in the receipt is not {str(partial).lower()}, and {left_out} is left out")


@check("unmatched-told")
async def unmatched_reveals(context: Context) -> None:
    must_have_extension(context)
    sample = first(context, is_closed, lacks="has a schema that says which members there are")
    unknown = "no_such_member"
    receipt = receipt_of(await context.call(sample, {"mode": "include", "fields": [unknown, str(sample.fields[0])]}))
    if receipt.get("unmatched") != [unknown]:
        raise CheckFailed("'unmatched' in the receipt does not name just the field that the schema does not know")


# The kept value


@check("include-keeps-named")
async def include_keeps_named(context: Context) -> None:
    for sample in context.samples:
        if sample.tool.is_projectable:
            await _keeps(context, sample, str(sample.fields[0]))


@check("exclude-leaves-out")
async def exclude_leaves_out(context: Context) -> None:
    for sample in context.samples:
        for path in at_each_depth(sample) if sample.tool.is_projectable else ():
            await _holds(context, sample, {"mode": "exclude", "fields": [path]}, sample.excluded(path))


@check("view-keeps-its-fields")
async def view_keeps_its_fields(context: Context) -> None:
    if "view" not in (context.capability.get("modes") or ()):
        raise NotOffered("'modes' has no 'view'")
    first(context, lambda sample: sample.tool.views, lacks="has a recommended view")
    for sample in context.samples:
        for name, paths in sample.tool.views.items():
            request = {"mode": "view", "view": name}
            answer = await context.call(sample, request)
            if "shaped" not in receipt_of(answer):
                await _holds(context, sample, request, sample.included(*paths))


@check("path-of-a-member")
async def path_of_a_member(context: Context) -> None:
    sample = first(context, lambda sample: nested(sample, through_array=False), lacks="has an object in it")
    for path in nested(sample, through_array=False):
        await _keeps(context, sample, path)


@check("path-through-an-array")
async def path_through_an_array(context: Context) -> None:
    sample = first(context, lambda sample: nested(sample, through_array=True), lacks="has an array of objects in it")
    for path in nested(sample, through_array=True):
        await _keeps(context, sample, path)


@check("path-with-a-wildcard")
async def path_with_a_wildcard(context: Context) -> None:
    sample = first(context, in_top_array, lacks="has an array of objects in it")
    name, member = in_top_array(sample)
    for path in (f"{name}[*].{member}", f"{name}.*.{member}"):
        await _keeps(context, sample, path)


@check("path-in-other-forms")
async def path_in_other_forms(context: Context) -> None:
    must_have_extension(context)
    sample = first(context, plain_name, lacks="has a member with a plain name")
    name = plain_name(sample)
    for path in (f"/{name}", f"$.{name}", f"`{name}`", f"['{name}']"):
        await _holds(context, sample, {"mode": "include", "fields": [path]}, sample.included(name))


@check("rows-are-right-or-refused")
async def rows_are_right_or_refused(context: Context) -> None:
    sample = first(context, rows, lacks="has an array of objects in it")
    for path in rows(sample):
        for mode, expected in (("include", sample.included(path)), ("exclude", sample.excluded(path))):
            request = {"mode": mode, "fields": [path]}
            answer = await context.call(sample, request)
            if refusal_of(answer).get("code") != "INVALID_PROJECTION":
                await _holds(context, sample, request, expected)


@check("exclude-at-any-depth")
async def exclude_at_any_depth(context: Context) -> None:
    must_have_extension(context)
    sample = first(context, lambda sample: nested(sample, through_array=None), lacks="has a field within another one")
    path = f"**.{nested(sample, through_array=None)[0].rpartition('.')[2]}"
    await _holds(context, sample, {"mode": "exclude", "fields": [path]}, sample.excluded(path))


# Other places of the answer


@check("content-is-the-same")
async def content_is_the_same(context: Context) -> None:
    async for sample, mode, result in _without_kept_content(context):
        structured, texts = result.get("structuredContent"), texts_of(result)
        name = f"the content of {sample.tool.name!r} in mode {mode!r}"
        if "structuredContent" in sample.result and "structuredContent" not in result:
            raise CheckFailed(f"{name} stands alone, and a whole answer has structured content")
        if texts_of(sample.result) and not texts:
            raise CheckFailed(f"{name} has no text, and that of a whole answer has")
        content_json = json_in(result)
        if content_json is None and any(_reveals(text, _left_out(sample, result)) for text in texts):
            raise CheckFailed(f"{name} tells what the structured content leaves out")
        if content_json is not None and structured is not None and not same(content_json, structured):
            raise CheckFailed(difference(content_json, structured, f"{name}, beside the structured content,"))


@check("no-value-elsewhere")
async def no_value_elsewhere(context: Context) -> None:
    async for sample, _, result in _without_kept_content(context):
        rest = compact({member: value for member, value in result.items() if member != "structuredContent"})
        known = compact([sample.tool.listed, sample.tool.described, sample.result.get("_meta")])
        if _reveals(rest, {text for text in _left_out(sample, result) if _as_json(text) not in known}):
            raise CheckFailed(f"the answer of {sample.tool.name!r} tells a value elsewhere that was left out")


async def _without_kept_content(context: Context) -> AsyncGenerator[tuple[Sample, str, dict[str, Any]]]:
    """Each sample whose tool does not say that its content stays, with a mode, and its result in it."""
    for sample in context.samples:
        if sample.tool.is_projectable and sample.tool.extension_hint.get("content") != "keep":
            for request in requests(sample):
                answer = await context.call(sample, request)
                yield sample, request["mode"], result_of(answer, request["mode"])


# Forms of the request


@check("without-request-as-ever")
async def without_request_as_ever(context: Context) -> None:
    for sample in context.samples:
        answer = await context.call(sample)
        default = receipt_of(answer).get("view") or receipt_of(answer, PROJECTION).get("view")
        if default is None and (PROJECTION_LITERAL in answer.meta or PROJECTION in answer.meta):
            raise CheckFailed(f"a call of {sample.tool.name!r} that asks for nothing gets a receipt")
        schema = sample.tool.output_schema
        if default is None and schema is not None and "structuredContent" in sample.result:
            (fits,) = await context.validator.accepts(schema, sample.result["structuredContent"])
            if not fits:
                raise CheckFailed(f"a whole answer of {sample.tool.name!r} does not satisfy the schema that is listed")


@check("degrades-to-full-output")
async def degrades_to_full_output(context: Context) -> None:
    others = [tool for tool in context.tools if not tool.is_projectable]
    for tool in others:
        sets = context.fixture.arguments_of(tool.name, tool.input_schema, is_read_only=tool.is_read_only)
        if not sets:
            continue
        plain = await context.session.call(tool.name, sets[0], {**tool.grant}, tool.input_schema)
        if plain.result is None or plain.is_error_result:
            continue
        request = {PROJECTION_LITERAL: {"mode": "include", "fields": ["no_such_member"]}}
        answer = await context.session.call(tool.name, sets[0], {**tool.grant, **request}, tool.input_schema)
        result = result_of(answer, f"a projection of {tool.name!r}, which does not say that it can be projected,")
        is_whole = same(_output_and_texts(result), _output_and_texts(plain.result))
        if is_whole is (receipt_of(answer).get("applied") is True):
            claim, found = ("applied", "whole") if is_whole else ("not applied", "not whole")
            raise CheckFailed(f"a projection of {tool.name!r} is {claim}, and the answer is {found}")
        return
    raise NotOffered("no tool that can be called lacks a hint")


@check("extension-key")
async def extension_key(context: Context) -> None:
    must_have_extension(context)
    sample = first(context)
    answer = await context.call(sample, include(sample), key=PROJECTION)
    if receipt_of(answer, PROJECTION).get("applied") is not True or PROJECTION_LITERAL in answer.meta:
        raise CheckFailed(f"a request under '{PROJECTION}' has no receipt under that key alone")


@check("argument-asks")
async def argument_asks(context: Context) -> None:
    if members(context.extensions.get(PROJECTION)).get("argument") != ARGUMENT:
        raise NotOffered("no argument is declared")
    sample = first(context, lambda sample: sample.tool.takes_argument, lacks=f"comes of a tool with '{ARGUMENT}'")
    path = str(sample.fields[0])
    for argument in ([path], {"mode": "include", "fields": [path]}):
        answer = await context.call_with(sample, {}, {**sample.arguments, ARGUMENT: argument})
        result = result_of(answer, f"the argument '{ARGUMENT}'")
        if not same(kept_of(result), sample.included(path)):
            raise CheckFailed(f"the argument '{ARGUMENT}' is not heeded")


@check("progress-beside")
async def progress_beside(context: Context) -> None:
    sample = first(context)
    meta = {"progressToken": "louver-conformance", PROJECTION_LITERAL: include(sample)}
    result = result_of(await context.call_with(sample, meta), "include beside a progress token")
    if not same(kept_of(result), sample.included(str(sample.fields[0]))):
        raise CheckFailed("beside a progress token the answer is not projected")


# Assertions


async def _keeps(context: Context, sample: Sample, path: str) -> None:
    await _holds(context, sample, {"mode": "include", "fields": [path]}, sample.included(path))


async def _holds(context: Context, sample: Sample, request: dict[str, Any], expected: Json) -> None:
    description = (
        f"mode {request['mode']!r} with {request.get('view') or request['fields'][0]!r} of {sample.tool.name!r}"
    )
    result = result_of(await context.call(sample, request), description)
    kept = kept_of(result)
    if not same(kept, expected):
        raise CheckFailed(f"{description}: {difference(kept, expected)}")


def _output_and_texts(result: dict[str, Any]) -> Json:
    return [output_of(result), texts_of(result)]


def _read(mode: str, fields: list[Any]) -> object:
    try:
        return Projection.from_wire({"mode": mode, "fields": fields}).fields
    except LouverError:
        return None


def _left_out(sample: Sample, result: dict[str, Any]) -> set[str]:
    """Some texts of the whole output that are nowhere in the kept value."""
    kept = compact(result.get("structuredContent"))
    texts = (part for level in levels(sample.value) for part in level if isinstance(part, str))
    long = islice((text for text in texts if len(text) >= _SHORTEST), MAX_FIELDS)
    return {text for text in long if _as_json(text) not in kept}


def _reveals(text: str, left_out: set[str]) -> bool:
    return any(value in text or _as_json(value) in text for value in left_out)


def _as_json(text: str) -> str:
    return compact(text)[1:-1]
