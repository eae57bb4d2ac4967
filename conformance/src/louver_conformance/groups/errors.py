"""Requests that must be refused, the form of the refusal, and that the tool has not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import members
from louver.wire.names import PROJECTION, PROJECTION_LITERAL
from louver_conformance.assertions import (
    INVALID_PARAMS,
    first,
    include,
    must_have_extension,
    must_refuse,
    receipt_of,
    refusal_of,
)
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered
from louver_conformance.sample import output_of

if TYPE_CHECKING:
    from louver_conformance.context import Context

_UNKNOWN = "no_such_member"


@check("unknown-mode-is-refused")
async def unknown_mode_is_refused(context: Context) -> None:
    must_refuse(
        await context.call(first(context), {"mode": "only", "fields": ["id"]}), "mode 'only', which there is not,"
    )


@check("unknown-view-is-refused")
async def unknown_view_is_refused(context: Context) -> None:
    if "view" not in (context.capability.get("modes") or ()):
        raise NotOffered("'modes' has no 'view'")
    must_refuse(
        await context.call(first(context), {"mode": "view", "view": "no such view"}), "a view that there is not"
    )


@check("no-fields-are-refused")
async def no_fields_are_refused(context: Context) -> None:
    for mode in ("include", "exclude"):
        must_refuse(await context.call(first(context), {"mode": mode, "fields": []}), f"mode {mode!r} without a field")


@check("bad-path-is-refused")
async def bad_path_is_refused(context: Context) -> None:
    for path in ("", "a..b", "a.", "[", "a[0]", "a[?(@.b==1)]"):
        request = {"mode": "include", "fields": [path]}
        must_refuse(await context.call(first(context), request), f"the path {path!r}")


@check("unknown-member-is-refused")
async def unknown_member_is_refused(context: Context) -> None:
    must_have_extension(context)
    request = {**include(first(context)), "limit": 3}
    must_refuse(await context.call(first(context), request), "the member 'limit' of a request, which there is not,")


@check("view-beside-fields-is-refused")
async def view_beside_fields_is_refused(context: Context) -> None:
    must_have_extension(context)
    must_refuse(
        await context.call(first(context), {**include(first(context)), "view": "minimal"}), "'view' beside 'fields'"
    )


@check("two-requests-are-refused")
async def two_requests_are_refused(context: Context) -> None:
    must_have_extension(context)
    sample = first(context)
    meta = {PROJECTION_LITERAL: include(sample), PROJECTION: {"mode": "include", "fields": ["*"]}}
    must_refuse(await context.call_with(sample, meta), "a call with two different requests")


@check("strict-refuses-unknown-fields")
async def strict_refuses_unknown_fields(context: Context) -> None:
    must_have_extension(context)
    sample = first(context, lambda sample: sample.tool.output_schema or sample.tool.described, lacks="has a schema")
    lenient = await context.call(sample, {"mode": "include", "fields": [_UNKNOWN]})
    if receipt_of(lenient).get("unmatched") != [_UNKNOWN]:
        raise NotOffered("no field is unknown: the schema of the tool leaves room for any")
    answer = await context.call(sample, {"mode": "include", "fields": [_UNKNOWN], "strict": True})
    must_refuse(answer, "a strict request for a field that the schema does not know")


@check("required-or-refused")
async def required_or_refused(context: Context) -> None:
    must_have_extension(context)
    for tool in (tool for tool in context.tools if not tool.is_projectable):
        sets = context.fixture.arguments_of(tool.name, tool.input_schema, is_read_only=tool.is_read_only)
        if not sets:
            continue
        request: dict[str, Any] = {"mode": "include", "fields": ["*"]}
        meta = {**tool.grant, PROJECTION_LITERAL: request}
        if (
            receipt_of(await context.session.call(tool.name, sets[0], meta, tool.input_schema)).get("applied")
            is not False
        ):
            continue
        meta = {**tool.grant, PROJECTION_LITERAL: {**request, "required": True}}
        answer = await context.session.call(tool.name, sets[0], meta, tool.input_schema)
        must_refuse(answer, f"a required projection of {tool.name!r}, which is not possible,")
        return
    raise NotOffered("every tool that can be called can be projected")


@check("refusal-has-a-code")
async def refusal_has_a_code(context: Context) -> None:
    must_have_extension(context)
    answer = await context.call(first(context), {"mode": "include", "fields": ["a..b"]})
    if answer.error.get("code") != INVALID_PARAMS:
        raise CheckFailed(f"a request in '_meta' that is refused is no error {INVALID_PARAMS}")
    refusal = refusal_of(answer)
    if refusal.get("code") != "INVALID_PROJECTION" or not (
        isinstance(message := refusal.get("message"), str) and message
    ):
        raise CheckFailed("'data.error' of a refusal lacks 'code', which is INVALID_PROJECTION, or 'message'")
    if refusal.get("path") != "a..b" or refusal.get("offset") != 2:
        raise CheckFailed("'data.error' of a path that cannot be read does not say 'path' and 'offset'")


@check("nothing-has-run")
async def nothing_has_run(context: Context) -> None:
    witness = context.fixture.witness
    if witness is None:
        raise NotOffered("the fixture names no '$witness' that tells what has run")
    tool = next((tool for tool in context.tools if tool.name == witness.tool), None)
    if tool is None:
        raise CheckFailed(f"the witness {witness.tool!r} is not listed")
    sample = first(context, lambda sample: sample.tool.name != tool.name)

    async def witness_output() -> object:
        answer = await context.session.call(tool.name, witness.arguments, {**tool.grant}, tool.input_schema)
        return output_of(members(answer.result))

    before = await witness_output()
    for request in (
        {"mode": "include", "fields": ["a..b"]},
        {"mode": "only"},
        {"mode": "view", "view": "no such view"},
    ):
        await context.call(sample, request, again=True)
    if before != await witness_output():
        raise CheckFailed(f"{sample.tool.name!r} has run, and its call was refused")
    await context.call(sample, again=True)
    if before == await witness_output():
        raise CheckFailed(f"the witness {tool.name!r} does not tell that {sample.tool.name!r} has run")
