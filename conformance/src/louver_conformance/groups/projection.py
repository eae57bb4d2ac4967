"""What is left of an answer, and what is told of that."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from louver.core.json import compact, is_array, levels, members, strings
from louver.core.projection.request import Projection
from louver.errors import Broken, LouverError, NotOffered
from louver.limits import CONFORMANCE_LEAVES
from louver.protocol.names import ARGUMENT, PROJECTION, PROJECTION_LITERAL
from louver_conformance.assertions import (
    differing,
    exclude,
    first,
    include,
    kept_of,
    must_have_extension,
    receipt_of,
    result_of,
    same,
)
from louver_conformance.checks import check
from louver_conformance.field_picks import in_top_array, is_closed, nested, parent, plain_name
from louver_conformance.sample import json_in, output_of, texts_of

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver_conformance.context import Talk
    from louver_conformance.sample import Sample

_SHORTEST_TOLD = 6
"""Characters of a text that is looked for in an answer from which it was left out: shorter ones are there by chance."""


# What is told


@check("receipt-given")
async def receipt_given(talk: Talk) -> None:
    for sample in talk.samples:
        if sample.tool.is_projectable:
            receipt = receipt_of(await talk.call(sample, include(sample)))
            if not isinstance(receipt.get("applied"), bool):
                raise Broken(f"'_meta.projection' of the answer of {sample.tool.name!r} does not say 'applied'")


@check("applied-is-trimmed")
async def applied_is_trimmed(talk: Talk) -> None:
    sample = first(talk)
    answer = await talk.call(sample, include(sample))
    if receipt_of(answer).get("applied") is True and same(kept_of(result_of(answer, "include")), sample.value):
        raise Broken("'applied' is true, and nothing is left out")


@check("not-applied-is-whole")
async def not_applied_is_whole(talk: Talk) -> None:
    for sample in talk.samples:
        answer = await talk.call(sample, include(sample))
        if receipt_of(answer).get("applied") is False and answer.result is not None and not answer.is_error_result:
            kept = kept_of(answer.result)
            if kept is not None and not same(kept, sample.value):
                raise Broken(f"'applied' is false, and the answer of {sample.tool.name!r} is not whole")


@check("receipt-repeats")
async def receipt_repeats(talk: Talk) -> None:
    sample = first(talk)
    for request in (include(sample), exclude(sample)):
        receipt = receipt_of(await talk.call(sample, request))
        mode = request["mode"]
        if receipt.get("mode") != mode:
            raise Broken(f"the receipt of mode {mode!r} says another 'mode'")
        fields = receipt.get("fields")
        if not is_array(fields) or _read(mode, fields) != _read(mode, request["fields"]):
            raise Broken(f"'fields' in the receipt of mode {mode!r} are not those that were asked for")


@check("fields-canonical")
async def fields_canonical(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk, parent, lacks="has an object in it")
    above, child = parent(sample)
    receipt = receipt_of(await talk.call(sample, {"mode": "include", "fields": [child, above, above]}))
    if receipt.get("fields") != [above]:
        raise Broken("'fields' in the receipt do not name each field once, and a parent instead of its children")


@check("partial-told")
async def partial_told(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk)
    for request, partial in ((include(sample), True), ({"mode": "include", "fields": ["*"]}, False)):
        if receipt_of(await talk.call(sample, request)).get("partial") is not partial:
            left_out = "something" if partial else "nothing"
            raise Broken(f"'partial' in the receipt is not {str(partial).lower()}, and {left_out} is left out")


@check("unmatched-told")
async def unmatched_told(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk, is_closed, lacks="has a schema that says which members there are")
    unknown = "no_such_member"
    receipt = receipt_of(await talk.call(sample, {"mode": "include", "fields": [unknown, str(sample.fields[0])]}))
    if unknown not in strings(receipt.get("unmatched")):
        raise Broken("'unmatched' in the receipt does not name the field that the schema does not know")


# What is left


@check("include-keeps-named")
async def include_keeps_named(talk: Talk) -> None:
    for sample in talk.samples:
        if sample.tool.is_projectable:
            await _holds(talk, sample, include(sample), sample.included(str(sample.fields[0])))


@check("exclude-leaves-out")
async def exclude_leaves_out(talk: Talk) -> None:
    for sample in talk.samples:
        if sample.tool.is_projectable:
            await _holds(talk, sample, exclude(sample), sample.excluded(str(sample.fields[0])))


@check("view-keeps-its-fields")
async def view_keeps_its_fields(talk: Talk) -> None:
    if "view" not in (talk.capability.get("modes") or ()):
        raise NotOffered("'modes' has no 'view'")
    sample = first(talk, lambda sample: sample.tool.views, lacks="has a recommended view")
    for name, paths in sample.tool.views.items():
        request = {"mode": "view", "view": name}
        answer = await talk.call(sample, request)
        if "shaped" not in receipt_of(answer):
            await _holds(talk, sample, request, sample.included(*paths))


@check("path-of-a-member")
async def path_of_a_member(talk: Talk) -> None:
    sample = first(talk, lambda sample: nested(sample, through_array=False), lacks="has an object in it")
    await _keeps(talk, sample, nested(sample, through_array=False))


@check("path-through-an-array")
async def path_through_an_array(talk: Talk) -> None:
    sample = first(talk, lambda sample: nested(sample, through_array=True), lacks="has an array of objects in it")
    await _keeps(talk, sample, nested(sample, through_array=True))


@check("path-with-a-wildcard")
async def path_with_a_wildcard(talk: Talk) -> None:
    sample = first(talk, in_top_array, lacks="has an array of objects in it")
    name, member = in_top_array(sample)
    for path in (f"{name}[*].{member}", f"{name}.*.{member}"):
        await _keeps(talk, sample, path)


@check("path-in-other-forms")
async def path_in_other_forms(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk, plain_name, lacks="has a member with a plain name")
    name = plain_name(sample)
    for path in (f"/{name}", f"$.{name}", f"`{name}`", f"['{name}']"):
        await _holds(talk, sample, {"mode": "include", "fields": [path]}, sample.included(name))


@check("exclude-at-any-depth")
async def exclude_at_any_depth(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk, lambda sample: nested(sample, through_array=None), lacks="has a field within another one")
    path = f"**.{nested(sample, through_array=None).rpartition('.')[2]}"
    await _holds(talk, sample, {"mode": "exclude", "fields": [path]}, sample.excluded(path))


# Where else it could stand


@check("content-is-the-same")
async def content_is_the_same(talk: Talk) -> None:
    for sample in talk.samples:
        if not sample.tool.is_projectable or sample.tool.extension_hint.get("content") == "keep":
            continue
        result = result_of(await talk.call(sample, include(sample)), "include")
        if "structuredContent" not in result:
            continue
        told = json_in(result)
        for text in texts_of(result):
            if told is None and _told(text, _left_out(sample, result)):
                raise Broken(f"the content of {sample.tool.name!r} tells what the structured content leaves out")
        if told is not None and not same(told, result["structuredContent"]):
            where = f"the content of {sample.tool.name!r}, beside the structured content,"
            raise Broken(differing(told, result["structuredContent"], where))


@check("nothing-is-told-elsewhere")
async def nothing_is_told_elsewhere(talk: Talk) -> None:
    for sample in talk.samples:
        if sample.tool.is_projectable and sample.tool.extension_hint.get("content") != "keep":
            result = result_of(await talk.call(sample, include(sample)), "include")
            rest = compact({member: value for member, value in result.items() if member != "structuredContent"})
            known = compact([sample.tool.listed, sample.tool.described, sample.result.get("_meta")])
            if _told(rest, {text for text in _left_out(sample, result) if _as_json(text) not in known}):
                raise Broken(f"the answer of {sample.tool.name!r} tells a value elsewhere that was left out")


# How it is asked for


@check("without-request-as-ever")
async def without_request_as_ever(talk: Talk) -> None:
    for sample in talk.samples:
        answer = await talk.call(sample)
        default = receipt_of(answer).get("view") or receipt_of(answer, PROJECTION).get("view")
        if default is None and (PROJECTION_LITERAL in answer.meta or PROJECTION in answer.meta):
            raise Broken(f"a call of {sample.tool.name!r} that asks for nothing gets a receipt")
        schema = sample.tool.output_schema
        if default is None and schema is not None and "structuredContent" in sample.result:
            (fits,) = await talk.judge.accepts(schema, sample.result["structuredContent"])
            if not fits:
                raise Broken(f"a whole answer of {sample.tool.name!r} does not satisfy the schema that is listed")


@check("degrades-to-full-output")
async def degrades_to_full_output(talk: Talk) -> None:
    others = [tool for tool in talk.tools if not tool.is_projectable]
    for tool in others:
        sets = talk.fixture.arguments_of(tool.name, tool.input_schema, only_reads=tool.only_reads)
        if not sets:
            continue
        plain = await talk.peer.call(tool.name, sets[0], {**tool.grant}, tool.input_schema)
        if plain.result is None or plain.is_error_result:
            continue
        request = {PROJECTION_LITERAL: {"mode": "include", "fields": ["no_such_member"]}}
        answer = await talk.peer.call(tool.name, sets[0], {**tool.grant, **request}, tool.input_schema)
        result = result_of(answer, f"a projection of {tool.name!r}, which does not say that it can be projected,")
        if receipt_of(answer).get("applied") is not True and not same(output_of(result), output_of(plain.result)):
            raise Broken(f"a projection of {tool.name!r} is not applied, and the answer is not whole")
        return
    raise NotOffered("no tool that can be called lacks a hint")


@check("extension-key")
async def extension_key(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk)
    answer = await talk.call(sample, include(sample), key=PROJECTION)
    if receipt_of(answer, PROJECTION).get("applied") is not True or PROJECTION_LITERAL in answer.meta:
        raise Broken(f"a request under '{PROJECTION}' has no receipt under that key alone")


@check("argument-asks")
async def argument_asks(talk: Talk) -> None:
    if members(talk.extensions.get(PROJECTION)).get("argument") != ARGUMENT:
        raise NotOffered("no argument is declared")
    sample = first(talk, lambda sample: sample.tool.takes_argument, lacks=f"comes of a tool with '{ARGUMENT}'")
    path = str(sample.fields[0])
    for asked in ([path], {"mode": "include", "fields": [path]}):
        answer = await talk.call_with(sample, {}, {**sample.arguments, ARGUMENT: asked})
        result = result_of(answer, f"the argument '{ARGUMENT}'")
        if not same(kept_of(result), sample.included(path)):
            raise Broken(f"the argument '{ARGUMENT}' is not heeded")


@check("progress-beside")
async def progress_beside(talk: Talk) -> None:
    sample = first(talk)
    meta = {"progressToken": "louver-conformance", PROJECTION_LITERAL: include(sample)}
    result = result_of(await talk.call_with(sample, meta), "include beside a progress token")
    if not same(kept_of(result), sample.included(str(sample.fields[0]))):
        raise Broken("beside a progress token the answer is not projected")


# What is seen


async def _keeps(talk: Talk, sample: Sample, path: str) -> None:
    await _holds(talk, sample, {"mode": "include", "fields": [path]}, sample.included(path))


async def _holds(talk: Talk, sample: Sample, request: dict[str, Any], expected: Json) -> None:
    asked = f"mode {request['mode']!r} with {request.get('view') or request['fields'][0]!r} of {sample.tool.name!r}"
    result = result_of(await talk.call(sample, request), asked)
    kept = kept_of(result)
    if not same(kept, expected):
        raise Broken(f"{asked}: {differing(kept, expected)}")


def _read(mode: str, fields: list[Any]) -> object:
    try:
        return Projection.from_wire({"mode": mode, "fields": fields}).fields
    except LouverError:
        return None


def _left_out(sample: Sample, result: dict[str, Any]) -> set[str]:
    """Some texts of the whole output that stand nowhere in what is left of it."""
    kept = compact(result.get("structuredContent"))
    texts = (part for level in levels(sample.value) for part in level if isinstance(part, str))
    long = islice((text for text in texts if len(text) >= _SHORTEST_TOLD), CONFORMANCE_LEAVES)
    return {text for text in long if _as_json(text) not in kept}


def _told(text: str, left_out: set[str]) -> bool:
    return any(value in text or _as_json(value) in text for value in left_out)


def _as_json(text: str) -> str:
    return compact(text)[1:-1]
