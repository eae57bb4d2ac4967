"""The projected schema of an answer, and the listed output schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, levels, members
from louver.wire.names import PROJECTION_LITERAL
from louver_conformance.assertions import (
    exclude,
    first,
    include,
    kept_of,
    must_have_extension,
    receipt_of,
    result_of,
)
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from louver.core.json import Json
    from louver_conformance.context import Context
    from louver_conformance.sample import Sample

_FORMS = ("inline", "none")


@check("schema-given")
async def schema_given(context: Context) -> None:
    async for sample, request, receipt, _ in _projected(context):
        if not _is_schema(receipt.get("projectedSchema")):
            raise CheckFailed(
                f"the receipt of mode {request['mode']!r} of {sample.tool.name!r} has no 'projectedSchema'"
            )


@check("schema-accepts-what-is-left")
async def schema_accepts_what_is_left(context: Context) -> None:
    async for sample, request, receipt, result in _projected(context):
        (fits,) = await context.validator.accepts(receipt["projectedSchema"], kept_of(result))
        if not fits:
            raise CheckFailed(
                f"what is left in mode {request['mode']!r} of {sample.tool.name!r} does not satisfy its schema"
            )


@check("schema-refuses-what-is-more")
async def schema_refuses_what_is_more(context: Context) -> None:
    async for sample, request, receipt, _ in _projected(context):
        if "structuredContent" in sample.result:
            (fits,) = await context.validator.accepts(receipt["projectedSchema"], sample.result["structuredContent"])
            if fits:
                raise CheckFailed(
                    f"the schema of mode {request['mode']!r} of {sample.tool.name!r} accepts the whole output too"
                )


@check("schema-fits-other-answers")
async def schema_fits_other_answers(context: Context) -> None:
    sample = first(
        context, lambda sample: sample.others, lacks="has a second one beside it: name two sets of arguments"
    )
    for request in (include(sample), exclude(sample)):
        receipt = receipt_of(await context.call(sample, request))
        if receipt.get("schemaSource") == "inferred":
            raise NotOffered("the schema is that of one answer alone, and says so")
        for arguments, _ in sample.others:
            answer = await context.call_with(sample, {PROJECTION_LITERAL: request}, arguments)
            result = result_of(answer, f"{request['mode']} with other arguments")
            (fits,) = await context.validator.accepts(receipt["projectedSchema"], kept_of(result))
            if not fits:
                raise CheckFailed(
                    f"the schema of one answer of {sample.tool.name!r} refuses what is left of another one"
                )


@check("schema-stands-alone")
async def schema_stands_alone(context: Context) -> None:
    async for sample, _, receipt, _ in _projected(context):
        schema = receipt["projectedSchema"]
        for part in (part for level in levels(schema) for part in level if is_object(part)):
            reference = part.get("$ref", part.get("$dynamicRef"))
            if isinstance(reference, str) and not _resolves(schema, reference):
                raise CheckFailed(f"the schema of an answer of {sample.tool.name!r} refers to what is not in it")


@check("listed-schema-accepts-what-is-left")
async def listed_schema_accepts_what_is_left(context: Context) -> None:
    """In a session that does not declare the extension, as of most clients."""
    session = await context.open_session(declares=False)
    read = {
        tool.name: tool
        for tool in (await context.describe_tools(session) if context.descriptions_resource else context.tools)
    }
    listed = {str(tool.get("name")): tool for tool in await session.pages("tools/list", "tools")}
    tried = False
    for sample in context.samples:
        schema = members(listed.get(sample.tool.name)).get("outputSchema")
        if not is_object(schema):
            continue
        for request in (include(sample), exclude(sample)):
            meta = {**read[sample.tool.name].grant, PROJECTION_LITERAL: request}
            answer = await context.call_with(sample, meta, session=session)
            result = members(answer.result)
            if "structuredContent" in result and not answer.is_error_result:
                tried = True
                (fits,) = await context.validator.accepts(schema, result["structuredContent"])
                if not fits:
                    raise CheckFailed(
                        f"what is left of {sample.tool.name!r} does not satisfy the schema that is listed"
                    )
    if not tried:
        raise NotOffered("no tool that was called lists an output schema")


@check("schema-forms")
async def schema_forms(context: Context) -> None:
    must_have_extension(context)
    sample = first(context)
    for form in _FORMS:
        receipt = receipt_of(await context.call(sample, {**include(sample), "schema": form}))
        if ("projectedSchema" in receipt) != (form == "inline"):
            raise CheckFailed(f"with 'schema': {form!r} the receipt does not tell the schema in this form")


async def _projected(
    context: Context,
) -> AsyncGenerator[tuple[Sample, dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Each sample with a request, its receipt and its result."""
    for sample in context.samples:
        for request in (include(sample), exclude(sample)) if sample.tool.is_projectable else ():
            answer = await context.call(sample, request)
            receipt = receipt_of(answer)
            if receipt.get("applied") is True:
                yield sample, request, receipt, result_of(answer, request["mode"])


def _is_schema(schema: object) -> bool:
    return isinstance(schema, bool) or is_object(schema)


def _resolves(schema: Json, reference: str) -> bool:
    """Whether a JSON Pointer leads to a place in this document."""
    if not reference.startswith("#"):
        return False
    found = schema
    for token in reference[1:].split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if is_array(found) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif is_object(found) and name in found:
            found = found[name]
        else:
            return False
    return True
