"""Projection hints of tools, and their views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object, members
from louver.core.paths.path import FieldPath
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.errors import LouverError
from louver.wire.names import HINT, HINT_LITERAL, PROJECTION
from louver_conformance.assertions import include, kept_of, receipt_of, result_of, same
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered
from louver_conformance.sample import texts_of

if TYPE_CHECKING:
    from louver_conformance.context import Context


@check("hint-given")
async def hint_given(context: Context) -> None:
    with_schema = [
        sample for sample in context.samples if sample.tool.output_schema or "outputSchema" in sample.tool.described
    ]
    if not with_schema:
        raise NotOffered("no tool that was called has an output schema")
    for sample in with_schema:
        answer = await context.call(sample, include(sample))
        if receipt_of(answer).get("applied") is True and sample.tool.hint.get("supported") is not True:
            raise CheckFailed(f"{sample.tool.name!r} can be projected and has no '{HINT_LITERAL}' that says so")


@check("hint-form")
async def hint_form(context: Context) -> None:
    hints = {tool.name: members(tool.listed.get("annotations")).get(HINT_LITERAL) for tool in context.tools}
    given = {name: hint for name, hint in hints.items() if hint is not None}
    if not given:
        raise NotOffered(f"no tool has a '{HINT_LITERAL}'")
    for name, hint in given.items():
        where = f"the '{HINT_LITERAL}' of {name!r}"
        if not is_object(hint) or not isinstance(hint.get("supported"), bool):
            raise CheckFailed(f"{where} does not say 'supported', true or false")
        views = hint.get("recommendedViews", {})
        if not is_object(views):
            raise CheckFailed(f"'recommendedViews' in {where} is no object")
        for view, paths in views.items():
            if not is_array(paths) or not paths or not all(_is_path(path) for path in paths):
                raise CheckFailed(f"the view {view!r} in {where} is no list of field paths")


@check("hint-is-true")
async def hint_is_true(context: Context) -> None:
    for sample in context.samples:
        if sample.tool.is_projectable:
            answer = await context.call(sample, include(sample))
            description = f"include of {str(sample.fields[0])!r} of {sample.tool.name!r}"
            result = result_of(answer, description)
            if receipt_of(answer).get("applied") is not True and same(kept_of(result), sample.value):
                raise CheckFailed(f"{description} is not projected, and its hint says that it can be")
    for sample in context.slight:
        if sample.tool.is_projectable and sample.value not in ({}, []):
            answer = await context.call(sample, {"mode": "include", "fields": ["no_such_member"]})
            is_whole = same(texts_of(sample.result), texts_of(members(answer.result)))
            if receipt_of(answer).get("applied") is not True or is_whole:
                raise CheckFailed(
                    f"an answer of {sample.tool.name!r} is not projected, and its hint says that it can be"
                )


@check("views-fit")
async def views_fit(context: Context) -> None:
    tried = False
    for tool in context.tools:
        schema = members(tool.described.get("outputSchema")) or tool.output_schema
        for name, paths in tool.views.items() if schema else ():
            tried = True
            unmatched = _unmatched(paths, schema)
            if unmatched:
                raise CheckFailed(
                    f"the view {name!r} of {tool.name!r} names {unmatched[0]!r}, which its schema does not know"
                )
    if not tried:
        raise NotOffered("no tool with an output schema has a view")


@check("hint-extension")
async def hint_extension(context: Context) -> None:
    hinted = [tool for tool in context.tools if tool.hint and tool.extension_hint]
    if PROJECTION not in context.extensions or not [tool for tool in context.tools if tool.hint]:
        raise NotOffered(f"no tool has a hint, or '{PROJECTION}' is not declared")
    if missing := [tool for tool in context.tools if tool.hint and not tool.extension_hint]:
        raise CheckFailed(f"{missing[0].name!r} has no hint in '_meta[\"{HINT}\"]', which typed clients keep")
    for tool in hinted:
        for member in ("supported", "recommendedViews"):
            if tool.hint.get(member) != tool.extension_hint.get(member):
                raise CheckFailed(f"{member!r} is not the same in both hints of {tool.name!r}")


def _is_path(path: object) -> bool:
    try:
        FieldPath.parse(path if isinstance(path, str) else "")
    except LouverError:
        return False
    return True


def _unmatched(paths: list[str], schema: dict[str, object] | None) -> tuple[str, ...]:
    try:
        return compile_projection(Projection(include=[*paths]), schema).unmatched
    except LouverError:
        return ()
