"""The schema that comes with a projected answer, and the one that is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import digest, is_array, is_object, levels, members
from louver.errors import Broken, NotOffered
from louver.protocol.names import PROJECTION, PROJECTION_LITERAL
from louver_conformance.assertions import (
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
from louver_conformance.context import text_of_read

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from louver.core.json import Json
    from louver_conformance.context import Talk
    from louver_conformance.sample import Sample

_FORMS = {"inline": {"projectedSchema", "schemaDigest"}, "digest": {"schemaDigest"}, "none": set[str]()}
"""Form of the schema -> members of the receipt."""


@check("schema-given")
async def schema_given(talk: Talk) -> None:
    async for sample, request, receipt, _ in _projected(talk):
        if not _is_schema(receipt.get("projectedSchema")):
            raise Broken(f"the receipt of mode {request['mode']!r} of {sample.tool.name!r} has no 'projectedSchema'")


@check("schema-accepts-what-is-left")
async def schema_accepts_what_is_left(talk: Talk) -> None:
    async for sample, request, receipt, result in _projected(talk):
        (fits,) = await talk.judge.accepts(receipt["projectedSchema"], kept_of(result))
        if not fits:
            raise Broken(
                f"what is left in mode {request['mode']!r} of {sample.tool.name!r} does not satisfy its schema"
            )


@check("schema-refuses-what-is-more")
async def schema_refuses_what_is_more(talk: Talk) -> None:
    async for sample, request, receipt, _ in _projected(talk):
        if "structuredContent" in sample.result:
            (fits,) = await talk.judge.accepts(receipt["projectedSchema"], sample.result["structuredContent"])
            if fits:
                raise Broken(
                    f"the schema of mode {request['mode']!r} of {sample.tool.name!r} accepts the whole output too"
                )


@check("schema-fits-other-answers")
async def schema_fits_other_answers(talk: Talk) -> None:
    sample = first(talk, lambda sample: sample.others, lacks="has a second one beside it: name two sets of arguments")
    receipt = receipt_of(await talk.call(sample, include(sample)))
    if receipt.get("schemaSource") == "inferred":
        raise NotOffered("the schema is that of one answer alone, and says so")
    for arguments, _ in sample.others:
        answer = await talk.call_with(sample, {PROJECTION_LITERAL: include(sample)}, arguments)
        result = result_of(answer, "include with other arguments")
        (fits,) = await talk.judge.accepts(receipt["projectedSchema"], kept_of(result))
        if not fits:
            raise Broken(f"the schema of one answer of {sample.tool.name!r} refuses what is left of another one")


@check("schema-stands-alone")
async def schema_stands_alone(talk: Talk) -> None:
    async for sample, _, receipt, _ in _projected(talk):
        schema = receipt["projectedSchema"]
        for part in (part for level in levels(schema) for part in level if is_object(part)):
            reference = part.get("$ref", part.get("$dynamicRef"))
            if isinstance(reference, str) and not _resolves(schema, reference):
                raise Broken(f"the schema of an answer of {sample.tool.name!r} refers to what is not in it")


@check("listed-schema-accepts-what-is-left")
async def listed_schema_accepts_what_is_left(talk: Talk) -> None:
    """As a client meets it that knows nothing of projections but what its user asks for."""
    peer = await talk.another(declares=False)
    read = {tool.name: tool for tool in (await talk.described(peer) if talk.descriptions else talk.tools)}
    listed = {str(tool.get("name")): tool for tool in await peer.pages("tools/list", "tools")}
    tried = False
    for sample in talk.samples:
        schema = members(listed.get(sample.tool.name)).get("outputSchema")
        if not is_object(schema):
            continue
        for request in (include(sample), exclude(sample)):
            meta = {**read[sample.tool.name].grant, PROJECTION_LITERAL: request}
            answer = await talk.call_with(sample, meta, peer=peer)
            result = members(answer.result)
            if "structuredContent" in result and not answer.is_error_result:
                tried = True
                (fits,) = await talk.judge.accepts(schema, result["structuredContent"])
                if not fits:
                    raise Broken(f"what is left of {sample.tool.name!r} does not satisfy the schema that is listed")
    if not tried:
        raise NotOffered("no tool that was called lists an output schema")


@check("schema-forms")
async def schema_forms(talk: Talk) -> None:
    must_have_extension(talk)
    sample = first(talk)
    for form, told in _FORMS.items():
        receipt = receipt_of(await talk.call(sample, {**include(sample), "schema": form}))
        if receipt.keys() & {"projectedSchema", "schemaDigest"} != told:
            raise Broken(f"with 'schema': {form!r} the receipt does not tell the schema in this form")


@check("schema-digest")
async def schema_digest(talk: Talk) -> None:
    must_have_extension(talk)
    async for _, _, receipt, _ in _projected(talk):
        if receipt.get("schemaDigest") != digest(receipt["projectedSchema"]):
            raise Broken("'schemaDigest' is not the digest of 'projectedSchema'")


@check("schema-by-digest")
async def schema_by_digest(talk: Talk) -> None:
    must_have_extension(talk)
    template = members(talk.extensions.get(PROJECTION)).get("schemaResource")
    if not isinstance(template, str) or "{digest}" not in template:
        raise NotOffered("no 'schemaResource' is declared")
    sample = first(talk)
    name = receipt_of(await talk.call(sample, {**include(sample), "schema": "digest"})).get("schemaDigest")
    answer = await talk.peer.ask("resources/read", {"uri": template.replace("{digest}", str(name))})
    schema = receipt_of(await talk.call(sample, include(sample)))["projectedSchema"]
    if answer.result is None or not same(text_of_read(answer), schema):
        raise Broken("the resource that a digest names does not hold the schema")


async def _projected(
    talk: Talk,
) -> AsyncGenerator[tuple[Sample, dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Each sample with a request, its receipt and its result."""
    for sample in talk.samples:
        for request in (include(sample), exclude(sample)) if sample.tool.is_projectable else ():
            answer = await talk.call(sample, request)
            receipt = receipt_of(answer)
            if receipt.get("applied") is True:
                yield sample, request, receipt, result_of(answer, request["mode"])


def _is_schema(schema: object) -> bool:
    return isinstance(schema, bool) or is_object(schema)


def _resolves(schema: Json, reference: str) -> bool:
    """Whether a reference leads to a place in this document, by a JSON Pointer."""
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
